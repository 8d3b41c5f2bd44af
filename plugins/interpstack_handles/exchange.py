"""What happens to handles in calls: answers become handles, and inputs get the values."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import attrs

from interpstack import (
    Bridge,
    CellContext,
    GuestException,
    MapValue,
    SetValue,
    StandIn,
    UnsupportedValue,
    ValueExchange,
    call_blocking,
)
from interpstack_handles.contents import HandleRecord, fits, packed, unpacked
from interpstack_handles.storage import (
    HandleLimitExceeded,
    HandleLimits,
    HandleMissing,
    HandleStorage,
)

__all__ = ["OWNER", "HandleExchange", "error_about"]

OWNER: Final = "interpstack_handles"
#: Bytes of an answer that are compared with the limit on the event loop.
_AT_ONCE: Final = 2**16
#: Bytes of contents that are kept in memory, for the next part that code reads.
_MEMORY: Final = 64 * 2**20
#: Characters of an id that a message repeats.
_SHOWN: Final = 60


def error_about(message: str, name: str = "HandleError") -> GuestException:
    """The error that code gets."""
    return GuestException(message, name=name)


@attrs.define(eq=False)
class HandleExchange(ValueExchange):
    """The handles of calls.

    Attributes:
        storage_of: The storage of the conversation in which a call is made.
        limits: The limits of each conversation.
        handle_bytes: The bytes above which an answer becomes a handle; `None` for no limit.
    """

    storage_of: Callable[[CellContext], HandleStorage]
    limits: HandleLimits
    handle_bytes: int | None
    _values: OrderedDict[str, tuple[int, Any]] = attrs.field(factory=OrderedDict, init=False)

    # -- the exchange ------------------------------------------------------------------------

    async def given(self, bridge: Bridge, value: Any, context: CellContext) -> Any:
        if bridge.owner == OWNER:
            return value
        return await self.with_values(value, context)

    async def answered(self, bridge: Bridge, value: Any, context: CellContext) -> Any:
        most = self.handle_bytes
        # Functions with arguments by position, such as `files.read`, are asked for a value.
        if most is None or not bridge.listed or bridge.hidden or bridge.positional:
            return value
        try:
            if most <= _AT_ONCE or isinstance(value, (str, bytes)):
                small = fits(value, most)
            else:
                small = await call_blocking(partial(fits, value, most))
        except UnsupportedValue:
            return value  # the kernel says why
        if small:
            return value
        name = bridge.tool or bridge.name.rpartition(".")[2]
        try:
            record = await self.add(value, name, context)
        except GuestException as error:
            raise error_about(
                f"{bridge.name} was called, but its answer cannot be kept as a handle: {error}",
                error.error.name,
            ) from error
        return record.stand_in()

    async def with_values(self, value: Any, context: CellContext) -> Any:
        """An input with the values in place of their handles."""
        found = Counter[str]()
        _find(value, found)
        if not found:
            return value
        records = {one.id: one for one in await self.storage_of(context).records()}
        for name in found:
            if name not in records:
                raise _missing(name)
        total, most = sum(records[name].size * n for name, n in found.items()), self.limits
        if total > most.total_bytes:
            raise error_about(
                f"the handles in this call have {total} bytes together; HandleLimits.total_bytes "
                f"allows {most.total_bytes}; pass fewer",
                "HandleLimitExceeded",
            )
        put_in = {name: await self._unshared(records[name], context) for name in found}
        shown = {name: records[name].stand_in(digest=True) for name in found}
        context.show_input(_replaced(value, shown), put_in)
        return _replaced(value, put_in)

    # -- single handles ----------------------------------------------------------------------

    async def add(self, value: Any, name: str, context: CellContext) -> HandleRecord:
        """Make a handle of a value.

        Raises:
            GuestException: The value has no form in code, or there is no room for it.
        """
        try:
            made = partial(packed, value, name, self.limits.total_bytes)
            record, data = await call_blocking(made)
            await self.storage_of(context).add(record, data, self.limits)
        except (HandleLimitExceeded, UnsupportedValue) as error:
            why = error.reason if isinstance(error, UnsupportedValue) else str(error)
            raise error_about(
                f"{why}; delete handles that are not needed any more with handles.drop(handle), or "
                "keep a part",
                "HandleLimitExceeded",
            ) from error
        return record

    async def add_result(
        self, value: Any, name: str, most: int, context: CellContext
    ) -> HandleRecord:
        """Make a handle of a cell's result; the oldest results make room for it.

        Raises:
            GuestException: See `add`.
        """
        storage = self.storage_of(context)
        earlier = [one for one in await storage.records() if one.name == name]
        for record in earlier[: max(0, len(earlier) - most + 1)]:
            await storage.drop(record)
        return await self.add(value, name, context)

    async def record(self, named: Any, context: CellContext) -> HandleRecord:
        """The record of a handle that code names.

        Args:
            named: A stand-in, or the text of an id or a name; of several, the newest counts.
            context: The context of the call.

        Raises:
            GuestException: The conversation has no such handle.
            TypeError: It is neither.
        """
        wanted = named.id if isinstance(named, StandIn) else named
        if not isinstance(wanted, str):
            raise TypeError("pass a handle, its id or its name")
        records = await self.storage_of(context).records()
        for record in reversed(records):
            if record.id == wanted or (record.name == wanted and named is wanted):
                return record
        raise _missing(wanted)

    async def value(self, record: HandleRecord, context: CellContext) -> Any:
        """The value of a handle, which others use, too.

        Raises:
            GuestException: It is not stored any more.
        """
        known = self._values.get(record.digest)
        if known is not None and known[0] == record.size:
            self._values.move_to_end(record.digest)
            return known[1]
        value = await self._loaded(record, context)
        self._values[record.digest] = record.size, value
        while sum(size for size, _ in self._values.values()) > _MEMORY:
            self._values.popitem(last=False)
        return value

    async def _unshared(self, record: HandleRecord, context: CellContext) -> Any:
        """The value for a handler, which may change it."""
        if record.kind != "json":
            return await self.value(record, context)
        return await self._loaded(record, context)

    async def _loaded(self, record: HandleRecord, context: CellContext) -> Any:
        try:
            data = await self.storage_of(context).content(record)
        except HandleMissing:
            raise _missing(record.id) from None
        return await call_blocking(partial(unpacked, record.kind, data))


def _missing(name: str) -> GuestException:
    return error_about(
        f"this conversation has no handle {name[:_SHOWN]!r}: it was dropped, or belongs to another "
        "conversation; handles.list() returns those that there are"
    )


def _find(value: Any, found: Counter[str]) -> None:
    """Count the stand-ins in a value by their ids."""
    if isinstance(value, StandIn):
        found[value.id] += 1
    elif isinstance(value, dict):
        for item in value.values():
            _find(item, found)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _find(item, found)
    elif isinstance(value, MapValue):
        _find(value.entries, found)
    elif isinstance(value, SetValue):
        _find(value.items, found)


def _replaced(value: Any, by: dict[str, Any]) -> Any:
    if isinstance(value, StandIn):
        return by[value.id]
    if isinstance(value, dict):
        return {key: _replaced(item, by) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_replaced(item, by) for item in value)
    if isinstance(value, MapValue):
        return MapValue(_replaced(value.entries, by))
    return SetValue(_replaced(value.items, by)) if isinstance(value, SetValue) else value
