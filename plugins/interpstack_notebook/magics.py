"""The magics, and the formatter of outcomes, as IPython has them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Final

import attrs

from interpstack import Cell, ConfigurationError, InterpstackError, Outcome
from interpstack_display.api import attachments_of
from interpstack_notebook.arguments import CellArguments, read_arguments, read_engine
from interpstack_notebook.failures import CellFailed, GuestCodeError, interrupted
from interpstack_notebook.sessions import GuestSession, NotebookSessions
from interpstack_notebook.shown import CellView, outcome_bundle
from interpstack_notebook.texts import ConsoleWriter
from interpstack_notebook.values import as_frame, is_records

__all__ = ["GuestMagics", "install", "remove"]

#: Engines of the magics, which are called as the language of their cells; `%%guest` runs any
#: language, and names an engine itself.
_MAGICS: Final[dict[str, str | None]] = {"js": "quickjs", "ts": "quickjs", "guest": None}
_RESET: Final = "guest_reset"
#: The magics of each shell with the extension.
_loaded: weakref.WeakKeyDictionary[Any, GuestMagics] = weakref.WeakKeyDictionary()


@attrs.define(eq=False)
class GuestMagics:
    """The magics of one notebook.

    Attributes:
        shell: IPython's shell, which has the variables of the notebook.
        sessions: The sessions, by engine.
    """

    shell: Any
    sessions: NotebookSessions = attrs.field(factory=NotebookSessions)
    _replaced: dict[str, Any] = attrs.field(factory=dict, init=False)

    def register(self) -> None:
        """Add the magics to the shell, in place of IPython's own of the same names."""
        # Asked for by name, a magic is loaded, which IPython leaves to its first use.
        found = {name: self.shell.find_cell_magic(name) for name in _MAGICS}
        self._replaced = {name: magic for name, magic in found.items() if magic is not None}
        for name in _MAGICS:
            run: Callable[..., Any] = partial(self.cell, name)
            self.shell.register_magic_function(run, "cell", name)
        self.shell.register_magic_function(self.reset, "line", _RESET)

    def unregister(self) -> None:
        """Remove them from the shell, which gets its own back, and close all sessions."""
        known = self.shell.magics_manager.magics
        for name in _MAGICS:
            known["cell"].pop(name, None)
        known["cell"].update(self._replaced)
        known["line"].pop(_RESET, None)
        self.sessions.reset()

    def cell(self, magic: str, line: str, source: str) -> CellView | None:
        """Run a cell of guest code.

        Args:
            magic: `js`, `ts` or `guest`.
            line: The arguments.
            source: The code.

        Returns:
            The value, to be shown as the output; `None` for a statement without one.

        Raises:
            CellFailed: An argument is wrong, or the code failed.
            KeyboardInterrupt: The kernel was interrupted.
        """
        engine = _MAGICS[magic]
        try:
            arguments = read_arguments(f"%%{magic}", line, engine)
            guest = self.sessions.of(arguments.engine)
            language = None if engine is None else guest.language_named(magic)
            notices = self._hand_in(guest, arguments)
            shown = self._run(guest, Cell(source=source, language=language), notices)
            self._take_out(guest, arguments)
        except InterpstackError as error:
            raise CellFailed(str(error)) from None
        except KeyboardInterrupt as error:
            raise interrupted(error) from None
        return shown

    def reset(self, line: str) -> None:
        """Forget the variables of code: `%guest_reset`, or `%guest_reset engine=NAME`."""
        try:
            self.sessions.reset(read_engine(f"%{_RESET}", line))
        except InterpstackError as error:
            raise CellFailed(str(error)) from None

    def _hand_in(self, guest: GuestSession, arguments: CellArguments) -> tuple[str, ...]:
        if arguments.tools:
            guest.offer({name: self._variable(name) for name in arguments.tools})
        if not arguments.ins:
            return ()
        return guest.load({name: self._variable(name) for name in arguments.ins})

    def _run(self, guest: GuestSession, cell: Cell, notices: tuple[str, ...]) -> CellView | None:
        writer = ConsoleWriter()
        try:
            outcome = guest.run(cell, writer)
        finally:
            writer.finish()
        for item in attachments_of(outcome):
            import_module("IPython.display").display(item)
        if outcome.error is not None:
            raise GuestCodeError(outcome.error)
        outcome = attrs.evolve(outcome, notices=(*notices, *outcome.notices))
        # The text tells whether it is worth a crossing to fetch the value.
        value = guest.last() if outcome.text.startswith("[") else None
        shown = CellView(outcome, value if is_records(value) else None)
        return None if outcome.undefined and not outcome.notices else shown

    def _take_out(self, guest: GuestSession, arguments: CellArguments) -> None:
        taken = {}
        for name in arguments.outs:
            value, outcome = guest.take(name)
            if outcome.error is not None:
                raise GuestCodeError(outcome.error)
            taken[name] = as_frame(name, value) if arguments.frames else value
        self.shell.push(taken)

    def _variable(self, name: str) -> Any:
        try:
            return self.shell.user_ns[name]
        except KeyError:
            raise ConfigurationError(f"the notebook has no variable {name}") from None


def install(shell: Any) -> None:
    """Add the magics and the formatter to a shell; twice is once."""
    if shell in _loaded:
        return
    magics = _loaded[shell] = GuestMagics(shell)
    magics.register()
    shell.display_formatter.mimebundle_formatter.for_type(Outcome, _bundle)


def remove(shell: Any) -> None:
    """Remove the magics and the formatter, and close all sessions."""
    magics = _loaded.pop(shell, None)
    if magics is None:
        return
    magics.unregister()
    shell.display_formatter.mimebundle_formatter.pop(Outcome, None)


def _bundle(outcome: Outcome, include: Any = None, exclude: Any = None) -> dict[str, str]:
    return outcome_bundle(outcome)
