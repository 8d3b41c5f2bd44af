"""Wrappers of requests and evals by plugins, and their hooks for cells and closing sessions."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

import attrs

from interpstack.checks import expect
from interpstack.contracts.errors import ConfigurationError
from interpstack.contracts.extensions import Wrapper
from interpstack.contracts.outcome import Outcome
from interpstack.contracts.protocol import Cell, GuestError, Request, Settlement
from interpstack.contracts.raised import GuestException, describe_error
from interpstack.values.decoding import decode
from interpstack.values.encoding import TooLarge

__all__ = [
    "Each",
    "closing",
    "notify_hibernation",
    "transformed",
    "wrapped_eval",
    "wrapped_request",
]

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
#: Attributes of an outcome that stay when a wrapper around it has failed.
_KEPT = ("stopped", "state", "loss", "notices", "attachments", "usage")
#: Names of plugins that implement one hook, and callers of the hook, in order.
Each: TypeAlias = Sequence[tuple[str, Callable[..., list[Any]]]]
#: Finds the wrappers of one call, the first outermost.
_Find = Callable[[], Iterable[Wrapper[_T]]]


async def wrapped_eval(find: _Find[Outcome], run: Callable[[], Awaitable[Outcome]]) -> Outcome:
    """Run a cell inside wrappers; their exceptions are errors of the outcome.

    The text of the outcome is then dropped: a wrapper that failed may have been about to change it.

    Raises:
        ConfigurationError: A wrapper raised it before the cell ran: it is for whoever set the host
            up, and the writer of the cell can do nothing about it.
    """
    call = _WrappedCall(run, asyncio.current_task())
    outcome = await call.inside(find, lambda: False)
    if isinstance(outcome, Outcome):
        return outcome
    if isinstance(outcome, ConfigurationError) and not call.begun:
        raise outcome
    error = _error(outcome, "the cell", "run", call.begun, Outcome)
    made = call.value or Outcome()
    return Outcome(error=error, **{name: getattr(made, name) for name in _KEPT})


async def wrapped_request(
    find: Callable[..., Iterable[Wrapper[Settlement]]],
    most: int,
    request: Request,
    make: Callable[[], Awaitable[Settlement]],
    records: Callable[[], bool],
) -> Settlement:
    """Make a request inside wrappers; their exceptions are errors that the code catches.

    Args:
        find: The hook that finds the wrappers of a `request`.
        most: Bytes that an answer may have.
        request: The request.
        make: Answers it.
        records: Whether the request's end counts although it is cancelled.
    """
    call = _WrappedCall(make, asyncio.current_task())
    answer = await call.inside(partial(find, request=request), records)
    if call.value is not None and answer is call.value:
        return call.value
    refused = not call.begun or (call.value is not None and call.value.refused)
    try:
        if isinstance(answer, Settlement):
            _check(answer, most)
            return attrs.evolve(answer, id=request.id, refused=refused)
    except Exception as error:  # noqa: BLE001 - whatever a plugin made of it
        answer = error
    guest_error = _error(answer, request.bridge, "called", call.begun, Settlement)
    guest_error = attrs.evolve(guest_error, data={"tool": request.bridge, **guest_error.data})
    return Settlement(request.id, error=guest_error, refused=refused)


def _check(answer: Settlement, most: int) -> None:
    """Refuse an answer that would break the guest."""
    if len(answer.text) > most:
        raise TooLarge(most)
    decode(json.loads(answer.text))
    if answer.error is not None:
        json.dumps(attrs.asdict(answer.error), allow_nan=False)


def _error(answer: Any, what: str, done: str, begun: bool, kind: type) -> GuestError:
    """The error for an exception of wrappers, or for their wrong return value."""
    if not isinstance(answer, BaseException):
        answer = TypeError(f"a wrapper returned {type(answer).__name__}, not {kind.__name__}")
    if isinstance(answer, GuestException):
        return describe_error(answer, "")
    _log.warning("a plugin around %.100r failed", what, exc_info=answer)
    error = describe_error(answer, "the plugin")
    happened = f"was {done}, but" if begun else f"was not {done}:"
    message = f"{what} {happened} a plugin around it failed: {error.message}"
    return GuestError("PluginError", message)


def transformed(each: Each, session: Any, cell: Cell, check: Callable[[Cell], Cell]) -> Cell:
    """The cell to run, as plugins make it of another one.

    Raises:
        GuestException: A plugin refused the cell, or failed.
    """
    for plugin, transform in each:
        try:
            for changed in transform(session=session, cell=cell):
                expect(changed, Cell, "interpstack_transform_cell returns a Cell or None")
                cell = check(changed)
        except GuestException:
            raise
        except Exception as error:
            _log.warning("plugin %r could not transform a cell", plugin, exc_info=True)
            why = f"plugin {plugin!r} could not transform the cell: {error}"
            raise GuestException(why, name="CellRefused") from error
    return cell


async def closing(each: Each, session: Any) -> None:
    """Let plugins release a session's resources."""
    for plugin, release in each:
        try:
            for releasing in release(session=session):
                await releasing
        except Exception:  # noqa: BLE001 - the session closes all the same
            _log.exception("plugin %r failed while session %r was closed", plugin, session.key)


def notify_hibernation(session: Any, wakes: bool, began: float, image_bytes: int) -> None:
    """Notify plugins that a session hibernated or woke, which began at this `perf_counter`."""
    seconds = time.perf_counter() - began
    for plugin, tell in session.stack.each("interpstack_session_hibernation"):
        try:
            tell(session=session, wakes=wakes, seconds=seconds, image_bytes=image_bytes)
        except Exception:  # noqa: BLE001 - the session goes on all the same
            _log.exception(
                "plugin %r failed after session %r hibernated or woke", plugin, session.key
            )


@attrs.define(eq=False, repr=False)
class _WrappedCall(Generic[_T]):
    """The call inside all wrappers, which is made once at most.

    Attributes:
        make: Makes the call.
        task: The task that wrappers run in.
        begun: Whether it was begun.
        value: Its value.
        error: What it raised.
        ended: Whether it ended before it was cancelled.
    """

    make: Callable[[], Awaitable[_T]]
    task: Any
    begun: bool = False
    value: _T | None = None
    error: BaseException | None = None
    ended: bool = False

    async def __call__(self) -> _T:
        if self.begun:
            raise RuntimeError("a wrapper awaits its call once: effects cannot be undone")
        if asyncio.current_task() != self.task:
            raise RuntimeError(
                "a wrapper awaits its call in its own task; for a time limit use asyncio.timeout"
            )
        self.begun = True
        try:
            self.value = await self.make()
        except BaseException as error:
            self.error = error
            raise
        self.ended = not self.task.cancelling()
        return self.value

    async def inside(self, find: _Find[_T], records: Callable[[], bool]) -> _T | BaseException:
        """Make the call inside wrappers; returns their value or raises their exception.

        Raises:
            BaseException: The call's exception, and cancellations.
        """
        around: Callable[[], Awaitable[_T]] = self
        before = self.task.cancelling()
        answer: _T | BaseException
        try:
            for wrapper in reversed(list(find())):
                around = partial(wrapper, around)
            answer = await around()
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - of any plugin
            answer = error
        cancelled = self.task.cancelling() > before
        if self.error and (cancelled or not isinstance(self.error, asyncio.CancelledError)):
            raise self.error  # else a time limit of a wrapper cancelled the call alone
        if cancelled and self.ended and records():
            self.task.uncancel()  # the call was made; without a record it would be made again
        elif cancelled or isinstance(answer, asyncio.CancelledError):
            raise asyncio.CancelledError
        return answer
