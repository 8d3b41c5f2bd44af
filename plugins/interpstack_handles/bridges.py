"""The functions of code: `keep`, and those of the namespace `handles`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import attrs

from interpstack import (
    UNDEFINED,
    Bridge,
    CellContext,
    GuestException,
    UnsupportedValue,
    call_blocking,
)
from interpstack.checks import shown
from interpstack_handles.contents import HandleRecord, fits, item_at
from interpstack_handles.exchange import OWNER, HandleExchange, error_about

__all__ = ["RESULT", "KeptResult", "handle_bridges"]

#: The bridge that takes a result which is too long to be shown.
RESULT: Final = "handles.__result"
_NAME_CHARS: Final = 100
#: Names of what code does not name, and of results of cells.
_UNNAMED: Final = "value"
_RESULT: Final = "result"
#: Results of cells that are kept; older ones are dropped.
_MOST_RESULTS: Final = 5


@attrs.frozen
class KeptResult:
    """An attachment that says what became of a result which is too long to be shown.

    Attributes:
        record: The handle; `None` if it could not be kept.
        why: Why it could not be kept.
    """

    record: HandleRecord | None
    why: str = ""

    @property
    def notice(self) -> str:
        """The notice for the reader of the outcome."""
        if self.record is None:
            return f"The whole result was not kept as a handle: {self.why}"
        size = f"{self.record.type}, {self.record.size} bytes"
        return (
            f"The whole result is kept as a handle ({size}): handles.get({self.record.id!r}) in "
            "the next cell returns it."
        )


_Call = Callable[[HandleExchange, Mapping[str, Any], CellContext], Awaitable[Any]]


@attrs.frozen(kw_only=True)
class _HandleFunction:
    """A function of code.

    Attributes:
        name: Its name, with the namespace.
        run: Does what it says.
        takes: Its arguments, in order.
        needed: The number of arguments that have to be there.
    """

    name: str
    run: _Call
    takes: Sequence[str]
    needed: int = 1


def handle_bridges(exchange: HandleExchange) -> Iterator[Bridge]:
    """Return the bridges of the plugin, without the one for results."""
    for function in _FUNCTIONS:
        yield Bridge(
            name=function.name,
            handler=_handler(function, exchange),
            owner=OWNER,
            raw=True,
            positional=True,
            yields=True,
        )


def result_bridge(exchange: HandleExchange) -> Bridge:
    """Return the bridge to which a guest source passes a result that is too long."""

    async def result(value: Any, context: CellContext) -> None:
        given = value if isinstance(value, dict) else {}
        if "error" in given:
            context.attach(KeptResult(None, str(given["error"])[:200]))
            return
        try:
            record = await exchange.add_result(given.get("value"), _RESULT, _MOST_RESULTS, context)
        except GuestException as error:
            context.attach(KeptResult(None, str(error)))
        else:
            context.attach(KeptResult(record))

    return Bridge(name=RESULT, handler=result, owner=OWNER, raw=True, awaited=False, hidden=True)


def _handler(
    function: _HandleFunction, exchange: HandleExchange
) -> Callable[[Any, CellContext], Awaitable[Any]]:
    async def call(value: Any, context: CellContext) -> Any:
        given = _bound(function, value)
        try:
            return await function.run(exchange, given, context)
        except (LookupError, TypeError, ValueError, UnsupportedValue) as error:
            raise error_about(f"{function.name}: {error}") from error

    return call


def _bound(function: _HandleFunction, value: Any) -> Mapping[str, Any]:
    """The arguments of a call by name.

    Raises:
        TypeError: An argument is missing, or one too many.
    """
    given = list(value) if isinstance(value, list) else [value]
    named: dict[str, Any] = {}
    last = given[-1] if len(given) > function.needed else None
    if isinstance(last, dict) and last and all(key in function.takes for key in last):
        named = given.pop()
    while given and given[-1] is UNDEFINED:
        given.pop()
    usage = f"{function.name}({', '.join(function.takes)})"
    if len(given) > len(function.takes):
        raise TypeError(f"{usage} takes {len(function.takes)} arguments; got {len(given)}")
    made = {**dict(zip(function.takes, given, strict=False)), **named}
    made = {key: item for key, item in made.items() if item is not UNDEFINED}
    for name in function.takes[: function.needed]:
        if name not in made:
            raise TypeError(f"{usage} needs {name}")
    return made


# -- what they do --------------------------------------------------------------------------


async def _keep(exchange: HandleExchange, given: Mapping[str, Any], context: CellContext) -> Any:
    name = given.get("name", _UNNAMED)
    if not isinstance(name, str) or not 0 < len(name) <= _NAME_CHARS:
        raise TypeError(f"a name is a text of 1 to {_NAME_CHARS} characters; got {shown(name)}")
    if name == _RESULT:
        raise ValueError(f"{_RESULT!r} names the results of cells, which are dropped in their turn")
    value = await exchange.with_values(given["value"], context)
    return (await exchange.add(value, name, context)).stand_in()


async def _get(exchange: HandleExchange, given: Mapping[str, Any], context: CellContext) -> Any:
    return (await exchange.record(given["handle"], context)).stand_in()


async def _list(exchange: HandleExchange, given: Mapping[str, Any], context: CellContext) -> Any:
    return [one.stand_in() for one in await exchange.storage_of(context).records()]


async def _drop(exchange: HandleExchange, given: Mapping[str, Any], context: CellContext) -> Any:
    record = await exchange.record(given["handle"], context)
    await exchange.storage_of(context).drop(record)
    return UNDEFINED


async def _rows(exchange: HandleExchange, given: Mapping[str, Any], context: CellContext) -> Any:
    record = await exchange.record(given["handle"], context)
    value = await exchange.value(record, context)
    if not isinstance(value, list):
        raise TypeError(f"{_named(record)} is no list or table, but {record.type}")
    return await _part(exchange, value, given, "rows")


async def _text(exchange: HandleExchange, given: Mapping[str, Any], context: CellContext) -> Any:
    record = await exchange.record(given["handle"], context)
    value = await exchange.value(record, context)
    if isinstance(value, bytes):
        raise TypeError(f"{_named(record)} holds bytes; read them with handles.bytes")
    if not isinstance(value, str):
        value = await call_blocking(partial(_json_text, record, value))
    return await _part(exchange, value, given, "characters")


async def _bytes(exchange: HandleExchange, given: Mapping[str, Any], context: CellContext) -> Any:
    record = await exchange.record(given["handle"], context)
    value = await exchange.value(record, context)
    if not isinstance(value, bytes):
        raise TypeError(f"{_named(record)} holds no bytes, but {record.type}")
    return await _part(exchange, value, given, "bytes")


async def _json(exchange: HandleExchange, given: Mapping[str, Any], context: CellContext) -> Any:
    record = await exchange.record(given["handle"], context)
    path = given.get("path", "")
    if not isinstance(path, str):
        raise TypeError(f"a path is text such as 'orders[0].lines'; got {shown(path)}")
    value = await exchange.value(record, context)
    if isinstance(value, bytes):
        raise TypeError(f"{_named(record)} holds bytes; read them with handles.bytes")
    if isinstance(value, str):
        value = await call_blocking(partial(_parsed, record, value))
    found = item_at(value, path)
    return await _bounded(exchange, found, path or "the whole value", "a part further down")


async def _part(exchange: HandleExchange, value: Any, given: Mapping[str, Any], what: str) -> Any:
    start, end = _index(given.get("from", 0)), given.get("to")
    end = len(value) if end is None else _index(end)
    part = value[start:end]
    return await _bounded(exchange, part, f"{what} {start} to {end} of {len(value)}", "fewer")


async def _bounded(exchange: HandleExchange, part: Any, what: str, advice: str) -> Any:
    most = exchange.limits.part_bytes
    if not await call_blocking(partial(fits, part, most)):
        raise error_about(
            f"{what}: more than the {most} bytes that one call may read "
            f"(HandleLimits.part_bytes); read {advice}",
            "HandleLimitExceeded",
        )
    return part


def _index(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 2**53:
        raise TypeError(f"a position is a whole number from 0; got {shown(value)}")
    return int(value)


def _named(record: HandleRecord) -> str:
    return f"handle {record.name!r}"


def _parsed(record: HandleRecord, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the text of {_named(record)} is not JSON: {error}") from None


def _json_text(record: HandleRecord, value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except TypeError:  # such as a date
        raise TypeError(
            f"{_named(record)} holds values that JSON has not; read them with handles.json"
        ) from None


_PARTS: Final = ("handle", "from", "to")
_FUNCTIONS: Final = (
    _HandleFunction(name="keep", run=_keep, takes=("value", "name")),
    _HandleFunction(name="handles.get", run=_get, takes=("handle",)),
    _HandleFunction(name="handles.list", run=_list, takes=(), needed=0),
    _HandleFunction(name="handles.drop", run=_drop, takes=("handle",)),
    _HandleFunction(name="handles.rows", run=_rows, takes=_PARTS),
    _HandleFunction(name="handles.text", run=_text, takes=_PARTS),
    _HandleFunction(name="handles.bytes", run=_bytes, takes=_PARTS),
    _HandleFunction(name="handles.json", run=_json, takes=("handle", "path")),
)
