"""The normalised result of a cell, and the bridges' additions to it during the run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

import attrs

from interpstack.checks import Value, expect
from interpstack.contracts.call_threads import CallThreads
from interpstack.contracts.protocol import Cell, GuestError, StateAfter
from interpstack.contracts.steps import RunRecord

__all__ = ["CellContext", "Listener", "Outcome", "Usage"]


class Listener(Protocol):
    """A listener to the console output of a cell while it runs."""

    def hear(self, part: str) -> None:
        """Take a part of the next delivery, ahead of it; called from any thread."""

    def delivered(self, text: str) -> BaseException | None:
        """Take a whole delivery; returns an exception that listening to it has raised."""


@attrs.frozen(eq=False, kw_only=True, repr=False)
class Usage(Value):
    """The resources that a cell used.

    Attributes:
        cpu_seconds: Guest time.
        wall_seconds: From the start of the cell to its answer.
        requests: Awaited bridge calls, refused ones included, timers not.
        crossings: Polls of the engine.
    """

    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    requests: int = 0
    crossings: int = 0


@attrs.frozen(eq=False, kw_only=True, repr=False)
class Outcome(Value):
    """The result of a cell. Output before an error is always included.

    Attributes:
        text: The value of the last expression, rendered; empty when there is an error.
        error: Why the cell failed, or `None`. Its `data` name the `tool` of a failed request that
            code did not catch, and the `kind` of exception, if the tool raised one.
        console: Console output, lines joined by newlines.
        console_omitted_chars: Characters of console output that were dropped, behind `console`.
        console_end: The last lines of too much output, behind what was dropped.
        refused: The cell was checked and refused: nothing of it ran.
        stopped: The host or the engine ended the cell, not its code.
        state: The state of variables: `kept` as the cell left them, `undone` to their values before
            the cell, or `lost` together with the variables of earlier cells.
        loss: The words for a lost state at the end of the error's message.
        handle: The value has no data form (a function, a symbol).
        undefined: The cell ended with no value; `text` is the guest's word for that, or shows what
            the declaration at its end made.
        omitted_chars: Characters of `text` that the guest omitted.
        omitted_exact: Whether `omitted_chars` is exact or only a lower bound.
        shortened: `text` lacks parts of the value, and says where.
        unhandled: The number of calls that failed and of promises that were rejected without that
            the code awaited or handled it.
        notices: Notices about the session for the reader, such as lost state.
        attachments: Objects that bridges attached, in order.
        usage: The resources that the cell used.
    """

    text: str = ""
    error: GuestError | None = None
    refused: bool = False
    stopped: bool = False
    state: StateAfter = "kept"
    loss: str = ""
    console: str = ""
    console_omitted_chars: int = 0
    console_end: str = ""
    handle: bool = False
    undefined: bool = False
    omitted_chars: int = 0
    omitted_exact: bool = True
    shortened: bool = False
    unhandled: int = 0
    notices: tuple[str, ...] = ()
    attachments: tuple[Any, ...] = ()
    usage: Usage = attrs.field(factory=Usage)

    @property
    def ok(self) -> bool:
        """Whether the cell ended without an error."""
        return self.error is None

    @property
    def clean(self) -> bool:
        """Whether nothing failed: neither the cell, nor anything that its code did not handle."""
        return self.error is None and not self.unhandled

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, for logs and `--json`; attachments by their type only."""
        left = ("attachments", "error", "loss")
        data = attrs.asdict(self, filter=lambda a, _: a.name not in left)
        data["ok"] = self.ok
        data["error"] = None if self.error is None else attrs.asdict(self.error)
        data["attachments"] = [type(item).__name__ for item in self.attachments]
        return data


@attrs.define(eq=False, repr=False)
class CellContext:
    """Passed to bridge handlers that have a parameter named `context`.

    Attributes:
        session_key: The key that was passed to `stack.session`.
        cell: The running cell.
        request_id: The request being answered; 0 for calls.
        call_key: The same for this call however often the cell is replayed; different for
            every other call of the session. Tools can use it as an idempotency key.
        plain_input: Whether the input is plain JSON, without `UNDEFINED`.
        shown_input: The input as people see it who decide about the call, with a `StandIn` for each
            value that a `ValueExchange` has put in; `None` where nothing was put in.
        put_in: These values, by the ids of their stand-ins.
        record: The record of the run, for plugins that keep more in it; `None` without one.
        listener: Receives console output while the cell runs; `None` for no listener.
        host: The object that the caller of `Session.eval` passed as `host`.
        threads: Threads in which calls of the cell run.
    """

    session_key: str
    cell: Cell
    request_id: int = 0
    call_key: str = ""
    plain_input: bool = False
    record: RunRecord | None = None
    listener: Listener | None = None
    host: Any = None
    threads: CallThreads = attrs.field(factory=CallThreads)
    shown_input: Any = attrs.field(default=None, init=False)
    put_in: Mapping[str, Any] = attrs.field(factory=dict, init=False)
    #: Console output and attachments, each part with the id of the request that added it.
    _console: list[tuple[int, str, int]] = attrs.field(factory=list)
    _endings: list[str] = attrs.field(factory=list)
    _attached: list[tuple[int, Any]] = attrs.field(factory=list)

    def for_request(self, request_id: int, call_key: str, plain_input: bool = False) -> CellContext:
        """The same context, seen from one request."""
        return CellContext(  # written out: this is done for every call
            self.session_key,
            self.cell,
            request_id,
            call_key,
            plain_input,
            self.record,
            self.listener,
            self.host,
            self.threads,
            self._console,
            self._endings,
            self._attached,
        )

    def show_input(self, shown: Any, put_in: Mapping[str, Any]) -> None:
        """Note that an exchange has put values into the input of the call.

        Args:
            shown: The input with a `StandIn` for each of these values; a person reads its `about`.
            put_in: The values, by the ids of their stand-ins.
        """
        self.shown_input, self.put_in = shown, {**self.put_in, **put_in}
        self.plain_input = False

    def write_console(self, text: str, omitted_chars: int = 0, end: str = "") -> None:
        """Add lines to the cell's console output, or note that some were dropped.

        Args:
            text: The lines.
            omitted_chars: The number of characters that were dropped behind them.
            end: The last lines of all output, behind what was dropped.

        Raises:
            ConfigurationError: A text is not a string.
        """
        expect(text, str, "write_console takes a string")
        expect(end, str, "write_console takes a string as end")
        self._console.append((self.request_id, text, omitted_chars))
        if end:
            self._endings.append(end)
        if self.listener is not None and (text or not omitted_chars):
            failure = self.listener.delivered(text)
            if failure is not None:
                self.attach(failure)

    @property
    def console(self) -> tuple[tuple[str, int], ...]:
        """The console output so far: its parts, each with its number of omitted characters."""
        return self.added()[0]

    @property
    def attachments(self) -> tuple[Any, ...]:
        """The objects that were attached so far, in order."""
        return self.added()[1]

    def added(
        self, without: Collection[int] = ()
    ) -> tuple[tuple[tuple[str, int], ...], tuple[Any, ...]]:
        """The console output and the attachments so far.

        Args:
            without: Ids of requests whose additions are left out.
        """
        console = tuple((text, count) for by, text, count in self._console if by not in without)
        return console, tuple(item for by, item in self._attached if by not in without)

    def attach(self, item: Any) -> None:
        """Add an object to the outcome, for its reader; the guest does not receive it."""
        self._attached.append((self.request_id, item))

    def outcome(self, limit_chars: int, **fields: Any) -> Outcome:
        """The outcome with the collected additions."""
        console = "\n".join(text for _, text, count in self._console if text or not count)
        omitted = sum(count for _, _, count in self._console)
        omitted += max(0, len(console) - limit_chars)
        ends = "\n".join(self._endings)
        end = ends[max(0, len(ends) - limit_chars) :]
        return Outcome(
            console=console[:limit_chars],
            console_omitted_chars=omitted + len(ends) - len(end),
            console_end=end,
            attachments=self.attachments,
            **fields,
        )
