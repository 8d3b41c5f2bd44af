"""Passes console output on while its cell runs, each part once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context, copy_context

import attrs

from interpstack.checks import is_plain_function, shown
from interpstack.contracts.errors import ConfigurationError
from interpstack.contracts.raised import ends_program

__all__ = ["ConsoleRelay"]
_HALVES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # of pairs, as some engines hear them


@attrs.define(eq=False, repr=False)
class ConsoleRelay:
    """Console output of one cell, on its way to who listens.

    Engines may pass on parts of the output early (`Execution.listen`); the delivery at the end, the
    call of the bridge `console`, then contains only the rest.

    Args:
        tell: Takes each part of the text, in order; called from any thread, one at a time. Once it
            has raised something, it is not called any more.
        room: Characters that are passed on at most.
    """

    _tell: Callable[[str], None]
    _room: int
    _ahead: str = attrs.field(default="", init=False)  # heard of the next delivery
    _inside: bool = attrs.field(default=False, init=False)  # a part of it was passed on
    _separate: bool = attrs.field(default=False, init=False)  # a line is to be ended first
    _failure: BaseException | None = attrs.field(default=None, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    #: Of the cell, so that who asks for something of the session in an engine's thread is refused.
    _context: Context = attrs.field(factory=copy_context, init=False)

    @classmethod
    def of(cls, tell: Callable[[str], None] | None, room: int) -> ConsoleRelay | None:
        """The listener of `Session.eval(on_console=tell)`.

        Raises:
            ConfigurationError: It is not a function, or an async function.
        """
        if tell is None:
            return None
        if not is_plain_function(tell):
            raise ConfigurationError(
                f"on_console takes a function that is not async; got {shown(tell)}"
            )
        return cls(tell, room)

    def begin(self) -> None:
        """Note that the cell begins, in its task: `tell` is called in a copy of its context."""
        self._context = copy_context()

    def hear(self, part: str) -> None:
        """Take a part of the next delivery, ahead of it."""
        with self._lock:
            if part := part[: max(0, self._room)]:
                self._ahead += part
                self._pass(part)

    def delivered(self, text: str) -> BaseException | None:
        """Take a whole delivery; its parts that were heard are not passed on again.

        Returns:
            What `tell` has raised since the last delivery, unless it ends the program.
        """
        with self._lock:
            ahead, self._ahead = self._ahead, ""
            whole = text if text.startswith(ahead) else text.translate(_HALVES)
            if whole.startswith(ahead):
                self._pass(text[len(ahead) :])
            elif not ahead.startswith(whole):  # it only lacks a line break at its end
                self._inside, self._separate = False, True
                self._pass(text)
            self._inside, self._separate = False, not ahead[len(text) :].endswith("\n")
            failure, self._failure = self._failure, None
        if failure is not None and ends_program(failure):
            raise failure
        return failure

    def _pass(self, part: str) -> None:
        if self._separate and not self._inside:
            part = "\n" + part
        self._inside = True
        if part := part[: max(0, self._room)]:
            self._room -= len(part)
            try:
                self._context.copy().run(self._tell, part)
            except BaseException as error:  # noqa: BLE001 - an engine may be around the call
                self._room, self._failure = 0, error
