"""The sessions of one notebook: one for each engine, from its first cell to the kernel's end."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import attrs

from interpstack import (
    Cell,
    ConfigurationError,
    HostOffer,
    InterpreterStack,
    Limits,
    Outcome,
    PluginManager,
    Session,
    UnsupportedValue,
    encode,
    find_engine,
    installed,
    run_sync,
    simplified,
)
from interpstack_notebook.handover import Handover, tool_bridge

__all__ = ["GuestSession", "NotebookSessions"]

_MIB: Final = 2**20
#: A person looks at the output, and interrupts what takes too long.
_LIMITS: Final = Limits(
    cpu_seconds=None,
    wall_seconds=None,
    memory_bytes=512 * _MIB,
    requests=None,
    result_chars=100_000,
    console_chars=1_000_000,
)
#: The variable that holds the value of the last cell.
_LAST: Final = "notebook_value"


@attrs.define(eq=False)
class GuestSession:
    """One engine's session.

    Attributes:
        stack: The stack of the session alone.
        session: The session.
        handover: Passes values to the notebook.
    """

    stack: InterpreterStack
    session: Session
    handover: Handover = attrs.field(factory=Handover)

    @classmethod
    def open(cls, engine: str) -> GuestSession:
        """A new session.

        Raises:
            ConfigurationError: The engine is unknown, or is not installed.
        """
        plugins = ["console", "display", "notebook"]
        stack = InterpreterStack(_stoppable(engine), plugins, limits=_LIMITS)
        opened = cls(stack, stack.session("notebook"))
        opened.offer({})
        return opened

    def offer(self, functions: Mapping[str, Any]) -> None:
        """Let code call functions of the notebook, from the next cell on.

        Raises:
            BridgeError: One of them cannot be called by code.
        """
        language = self.stack.language
        tools = {name: tool_bridge(name, one, language) for name, one in functions.items()}
        handover = attrs.evolve(self.handover, tools={**self.handover.tools, **tools})
        self.session.bind(HostOffer(parts=[handover]))
        self.handover = handover

    def language_named(self, alias: str) -> str:
        """The name of the language, or of its dialect, that people call so.

        Raises:
            ConfigurationError: The engine runs no such language.
        """
        own = self.stack.language
        for language in (own, *own.dialects):
            if alias in language.aliases:
                return language.name
        raise ConfigurationError(
            f"the engine {self.stack.engine.name!r} runs {own.title}, not the language of "
            f"%%{alias}; use %%guest engine={self.stack.engine.name}"
        )

    def load(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Define variables of code from values of the notebook.

        Returns:
            Notices of what code does not get.

        Raises:
            ConfigurationError: Code would not see a variable of that name.
            UnsupportedValue: A value has no form in code.
        """
        language = self.stack.language
        bridges = self.stack.bridge_set(self.session.offer)
        taken = {one.name.partition(".")[0] for one in bridges} | language.constants
        for name in values:
            if name in taken:
                raise ConfigurationError(
                    f"code cannot get a variable {name}: the name stands for something else there; "
                    "give the variable another name"
                )
        most = self.stack.limits.value_bytes
        forms, notices = {}, []
        for name, value in values.items():
            form = _VariableForm(name, language.time_unit)
            forms[name] = form.of(value, most)
            if form.is_rounded:
                notices.append(
                    f"{name}: points in time are rounded, as {language.title} has none as fine."
                )
        run_sync(self.session.load(forms))
        return tuple(notices)

    def run(self, cell: Cell, on_console: Callable[[str], None]) -> Outcome:
        """Run a cell; an interrupt of the kernel cancels it, and leaves the session as it was."""
        cell = attrs.evolve(cell, value_name=_LAST)
        return run_sync(self.session.eval(cell, on_console=on_console))

    def last(self) -> Any:
        """The value of the last cell; `None` where the engine does not keep it."""
        outcome = self._hand_over(_LAST)
        return self.handover.taken(_LAST) if outcome.ok else None

    def take(self, name: str) -> tuple[Any, Outcome]:
        """The value of a variable, and how code came to hand it over."""
        outcome = self._hand_over(name)
        return (self.handover.taken(name) if outcome.ok else None), outcome

    def _hand_over(self, name: str) -> Outcome:
        source = Handover.source(name, self.stack.language)
        return run_sync(self.session.eval(Cell(source=source, name="--out")))


class NotebookSessions:
    """All sessions of a notebook, by engine."""

    def __init__(self) -> None:
        self._open: dict[str, GuestSession] = {}

    def of(self, engine: str) -> GuestSession:
        """The session of an engine, made on first use."""
        if engine not in self._open:
            self._open[engine] = GuestSession.open(engine)
        return self._open[engine]

    def reset(self, engine: str | None = None) -> None:
        """Close the session of an engine, or all: the next cell starts anew.

        Raises:
            ConfigurationError: The engine is unknown, so that nothing would be forgotten.
        """
        if engine is not None and engine not in self._open:
            find_engine(engine, PluginManager())
        for name in [name for name in self._open if engine in (None, name)]:
            self._open.pop(name).stack.close()


def _stoppable(name: str) -> str:
    """The variant of an engine that an interrupt can end at any time."""
    workers = os.name == "posix" and "process" in installed()
    cls = find_engine(name, PluginManager())
    return f"process:{name}" if cls.worker_options and workers else name


@attrs.define(eq=False)
class _VariableForm:
    """The wire tree of a variable; a point in time is the guest's own, as it is Python's here.

    Attributes:
        name: The name of the variable.
        unit: The smallest part of a second that points in time have in code.
        is_rounded: Whether it has a point in time with parts of that unit.
    """

    name: str
    unit: timedelta
    is_rounded: bool = attrs.field(default=False, init=False)

    def of(self, value: Any, most: int) -> Any:
        """The tree.

        Raises:
            UnsupportedValue: It has none.
        """
        try:
            return encode(value, most, self._simplified)
        except UnsupportedValue as error:
            raise UnsupportedValue(
                f"the variable {self.name}: {error.reason}", error.path
            ) from error

    def _simplified(self, value: Any) -> Any:
        made = simplified(value, times_as_text=False)
        if isinstance(made, datetime) and timedelta(microseconds=made.microsecond) % self.unit:
            self.is_rounded = True
        return made
