"""Values of the engine protocol, which cross between the host and the engine of a guest."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal

import attrs

from interpstack.checks import Value, takes
from interpstack.contracts.errors import ConfigurationError

__all__ = [
    "MAX_REJECTED",
    "MODULE",
    "TIMER",
    "Cell",
    "Completion",
    "GuestError",
    "Image",
    "Notification",
    "Place",
    "Progress",
    "Request",
    "SessionState",
    "Settlement",
]

#: Built-in requests, which need no bridge: wait for some milliseconds, and import a module.
TIMER = "timer"
MODULE = "module"
#: Reasons of rejected promises that one `Progress` reports.
MAX_REJECTED: Final = 100
#: What became of a guest's variables; see `Outcome.state`.
StateAfter = Literal["kept", "undone", "lost"]
_NONE = type(None)
#: Metadata of a field that its class got when values of it were stored already.
LATER: Final[Mapping[str, bool]] = {"later": True}
_is = partial(takes, of=lambda cell: "cell", error=ConfigurationError)


@attrs.frozen(eq=False, kw_only=True, repr=False)
class Cell(Value):
    """One piece of source code to run.

    Attributes:
        source: The text.
        name: Shown in stack traces instead of a file name.
        language: The guest language, or `None` for the engine's own.
        seed: Seed of the guest's random numbers; `None` lets the host draw one.
        value_name: A variable that gets the value of the last expression, unless there is none or
            the guest gave the variable another; empty for none. Engines may not know it.
    """

    source: str = attrs.field(validator=_is("a string", str))
    name: str = attrs.field(default="cell", validator=_is("a string", str))
    language: str | None = attrs.field(default=None, validator=_is("a string or None", str, _NONE))
    seed: int | None = attrs.field(default=None, validator=_is("an integer or None", int, _NONE))
    value_name: str = attrs.field(default="", validator=_is("a string", str))

    @value_name.validator
    def _check_value_name(self, attribute: attrs.Attribute[str], value: str) -> None:
        if value and not (value.isascii() and value.isidentifier()):
            raise ConfigurationError(f"cell: value_name takes an identifier; got {value!r:.80}")


@attrs.frozen(eq=False, repr=False)
class Place(Value):
    """A character of a cell's source, with an excerpt of its line.

    Attributes:
        line: Number of the line, from 1.
        column: Number of the character in its line, from 1.
        before: The line up to that character, as it is shown: control characters and others that
            cannot be seen are escapes, tabs are spaces, and a long line is cut.
        after: The rest of the line, likewise.
    """

    line: int
    column: int
    before: str
    after: str

    def excerpt(self, escape: Callable[[str], str] = str) -> str:
        """The line with its number, and below it a caret.

        Args:
            escape: Escapes text before it is shown.
        """
        before, number = escape(self.before), str(self.line)
        caret = " " * (len(number) + 1) + "| " + " " * sum(map(_columns, before)) + "^"
        return f"{number} | {before}{escape(self.after)}\n{caret}"


def _columns(char: str) -> int:
    """Columns that a character takes on a terminal."""
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


@attrs.frozen(eq=False, repr=False)
class GuestError(Value):
    """An error as it crosses: raised by the guest, or thrown into it by a settlement.

    Attributes:
        name: As in `TypeError`.
        message: One or more lines, without the name.
        stack: The guest's stack trace, without host paths; may be empty.
        data: Extra properties for the guest's error object; plain JSON values.
        place: The position of the fault in the cell's source, if the source is at fault and
            the engine knows where.
    """

    name: str
    message: str
    stack: str = ""
    data: Mapping[str, Any] = attrs.field(factory=dict)
    place: Place | None = attrs.field(default=None, metadata=LATER)


@attrs.frozen(eq=False, repr=False)
class Notification(Value):
    """A message that guest code emitted without waiting: a wire tree for the bridge `bridge`."""

    bridge: str
    wire: Any


@attrs.frozen(eq=False, repr=False)
class Request(Value):
    """A message that guest code emitted and whose answer it awaits.

    Attributes:
        id: A number, counted from 1 in each execution, in the order of the requests. Gaps are
            allowed, for example for timers that were cleared at once.
        bridge: The bridge's dotted name, as the guest gave it.
        wire: The input as a wire tree.
        plain: Whether the tree has no tags and so equals its decoded form; set by the driver.
    """

    id: int
    bridge: str
    wire: Any
    plain: bool = False


@attrs.frozen(eq=False, repr=False)
class Settlement(Value):
    """The answer to one request: a wire tree as JSON text, or an error.

    Attributes:
        id: The request's.
        text: The answer; for the request `module`, the name of the module to import.
        error: The error that the guest catches instead of an answer.
        modules: Sources by name, which the guest may import from now on.
        refused: No handler was called; the error says why.
        specifier: What code imports, if the answer has `modules`: two specifiers cannot have
            different modules of one name. Empty for modules that are not compared.
    """

    id: int
    text: str = "null"
    error: GuestError | None = None
    modules: Mapping[str, str] = attrs.field(factory=dict)
    refused: bool = attrs.field(default=False, metadata=LATER)
    specifier: str = attrs.field(default="", metadata=LATER)


@attrs.frozen(eq=False, kw_only=True, repr=False)
class Completion(Value):
    """The end of a cell, as the guest reports it.

    Attributes:
        text: The value of the last expression, rendered in the guest.
        omitted_chars: Characters of `text` that were cut in the guest.
        omitted_exact: Whether that count is exact or only a lower bound.
        shortened: Whether `text` lacks parts of the value, and says where.
        handle: Whether the value has no data form (a function, a symbol).
        undefined: Whether there is no value; `text` may still be the guest's word for that, or show
            what the declaration at the end of the cell made.
        error: Set when the cell threw; the other fields then hold their defaults. An error of a
            settlement that code did not catch has the name and message of that settlement: by
            these the host knows which request failed.
    """

    text: str = ""
    omitted_chars: int = 0
    omitted_exact: bool = True
    shortened: bool = False
    handle: bool = False
    undefined: bool = False
    error: GuestError | None = None


@attrs.frozen(eq=False, kw_only=True, repr=False)
class Progress(Value):
    """Everything a guest queued since the last poll, in order.

    Attributes:
        notifications: Messages that the guest emitted without waiting, in order.
        requests: Requests that want a settlement.
        cancelled: Ids of requests the guest no longer waits for (cleared timers).
        completion: Set once, when the cell has ended.
        cpu_seconds: Guest time that this poll used.
        exhausted: The guest was stopped because its CPU time was used up.
        failure: Set when the engine had to abandon this cell: the reason, and the state of the
            guest's variables. The realm is usable again.
        state: The state of the guest's variables after the engine had to stop the guest.
        loss: The words for a lost state, with which the message of `failure` ends.
        notices: Notices for the reader of the outcome, such as the loss of earlier cells' state
            before this one began.
        rejected: Once the cell has ended, the reason of each promise that was rejected so far and
            that no code handles, without failed calls that were answered after the end; at most
            `MAX_REJECTED` of them.
        unheard: The number of failed calls that were answered after the end since the last poll,
            and that no code handles; `None` if the engine cannot tell.
    """

    notifications: Sequence[Notification] = ()
    requests: Sequence[Request] = ()
    cancelled: Sequence[int] = ()
    completion: Completion | None = None
    cpu_seconds: float = 0.0
    exhausted: bool = False
    failure: GuestError | None = None
    state: StateAfter = "kept"
    loss: str = ""
    notices: Sequence[str] = ()
    rejected: Sequence[str] = ()
    unheard: int | None = None


@attrs.frozen(eq=False, repr=False)
class Image(Value):
    """A realm's whole state in a form only its engine understands.

    Attributes:
        engine: Name of the engine.
        base: Identifies the engine build the image belongs to.
        data: The bytes.
    """

    engine: str
    base: str
    data: bytes = attrs.field(repr=lambda data: f"<{len(data)} bytes>")


@attrs.frozen(eq=False, kw_only=True, repr=False)
class SessionState(Value):
    """The state of a session between two cells.

    Attributes:
        image: The engine's own form, exact; `None` if the engine has no images.
        values: Portable values of the globals; `None` if the engine cannot export them.
    """

    image: Image | None = None
    values: Mapping[str, Any] | None = None
