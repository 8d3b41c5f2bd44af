"""The session behind the REPL, which runs cells and dot commands, and collects successful ones."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import attrs

from interpstack import (
    Bridge,
    Cell,
    ConfigurationError,
    HostTool,
    InterpreterStack,
    InterpstackError,
    Outcome,
    Session,
    run_sync,
)
from interpstack_cli.printing import show_outcome, show_remarks, write
from interpstack_cli.running.attachments import Gallery
from interpstack_cli.running.live import eval_live
from interpstack_cli.running.options import check_language
from interpstack_cli.running.sources import read_file

__all__ = ["COMMAND", "Shell"]

#: What a dot command looks like; `.5` and `.then(…)` are code.
COMMAND: Final = re.compile(r"\s*\.([a-z]+)(?:[ \t]+(.*?))?\s*")

#: What people type in other shells, and the dot command that they mean.
_WORDS: Final = {"exit": "exit", "quit": "exit", "help": "help"}
_WORD: Final = re.compile(r"\s*([a-z]+)\s*(?:\(\s*\))?\s*;?\s*")
#: The variable that has the last value.
_LAST: Final = "_"
_MEMBER: Final = re.compile(r"[^\W\d][\w$]{0,99}|\$[\w$]{0,99}")


class Shell:
    """The shell of one person: runs the typed cells and commands in one session.

    Attributes:
        done: Set by `.exit`.
        language: The language of the engine.
        plain: Show values without colours.
    """

    def __init__(
        self,
        stack: InterpreterStack,
        session: Session,
        runner: asyncio.Runner,
        gallery: Gallery | None = None,
        *,
        language: str | None = None,
    ) -> None:
        self.done = False
        self.plain = True
        self.language = stack.language
        self._stack = stack
        self._session = session
        self._runner = runner
        self._typed = language  # `None` for the engine's own
        self._gallery = Gallery() if gallery is None else gallery
        self._succeeded: list[Cell] = []
        self._commands: dict[str, tuple[str, Callable[[str], None]]] = {
            "help": ("show this list", self._help),
            "tools": ("list what the code may call", self._tools),
            "reset": ("delete all variables", self._reset),
            "save": ("FILE: write the code that succeeded so far", self._save),
            "load": ("FILE: run a file", self._load),
            "exit": ("end the session; so does Ctrl-D", self._exit),
        }

    def commands(self) -> tuple[str, ...]:
        """The dot commands."""
        return tuple(f".{name}" for name in self._commands)

    def names(self) -> tuple[str, ...]:
        """Globals and dotted bridge names, for completion."""
        bridges = tuple(bridge.name for bridge in self._stack.bridge_set(self._session.offer))
        try:
            return (*self._runner.run(self._session.names()), *bridges)
        except (InterpstackError, NotImplementedError):  # the engine cannot tell, or broke
            return bridges

    def members(self, path: Sequence[str]) -> tuple[str, ...]:
        """Names that may follow a dotted path, as the guest reports them; the report is checked."""
        try:
            found = run_sync(self._session.members(path))
        except (InterpstackError, NotImplementedError):  # it took too long, or cannot answer
            return ()
        return tuple(name for name in found if _MEMBER.fullmatch(name) and name.isprintable())

    def feed(self, text: str) -> bool:
        """Run a cell or a dot command, and return whether it succeeded; blank text always does."""
        if not text.strip():
            return True
        try:
            found = COMMAND.fullmatch(text)
            if found is not None:
                return self._command(found[1], found[2] or "")
            word = self._meant(text)
            if word:
                return self._command(word, "")
            return self._run(Cell(source=text, language=self._typed))
        except InterpstackError as error:
            write(f"Error: {error}", err=True, colour="red")
            return False

    def _meant(self, text: str) -> str:
        """The dot command that a bare word stands for; empty for code, and for names of code."""
        found = _WORD.fullmatch(text)
        word = "" if found is None else found[1]
        return _WORDS[word] if word in _WORDS and word not in self.names() else ""

    def _run(self, cell: Cell) -> bool:
        cell = attrs.evolve(cell, value_name=_LAST)
        outcome = self._runner.run(eval_live(self._session, cell))
        self._show(outcome)
        self._gallery.show(outcome)
        if outcome.ok:
            self._succeeded.append(cell)
        return outcome.ok

    def _show(self, outcome: Outcome) -> None:
        if self.plain:
            show_outcome(outcome)
            return
        from interpstack_cli.repl.colours import coloured

        if outcome.ok and not (outcome.undefined and self.language.editor.quiet):
            coloured(outcome.text, self.language.name)
        show_remarks(outcome)

    # -- dot commands ----------------------------------------------------------------------

    def _command(self, name: str, argument: str) -> bool:
        if name not in self._commands:
            listed = ", ".join(self.commands())
            raise ConfigurationError(f".{name} is not a command; the commands are {listed}")
        takes_file = name in ("save", "load")
        if takes_file != bool(argument):
            example = f".{name} session{''.join(self.language.endings[:1])}"
            wanted = f"a FILE, as in {example}" if takes_file else "nothing"
            raise ConfigurationError(f".{name} takes {wanted}")
        before = len(self._succeeded)
        self._commands[name][1](argument)
        return name != "load" or len(self._succeeded) > before

    def _help(self, _: str) -> None:
        for name, (text, _action) in self._commands.items():
            write(f".{name:<6} {text}")
        write(f"Enter runs the code {self.language.editor.whole}; Alt+Enter begins a new line.")
        write(f"{_LAST} is the last value, unless the code has a variable of that name.")
        write("Tab completes; Ctrl-C cancels the running code and keeps the variables.")

    def _tools(self, _: str) -> None:
        offer = self._session.offer
        tools = {f"tools.{self.language.identifier(tool.name)}": tool for tool in offer.tools}
        bridges = [bridge for bridge in self._stack.bridge_set(offer) if bridge.awaited]
        for bridge in bridges:
            tool = tools.get(bridge.name)
            about = tool.description if tool else _summary(bridge)
            write(f"{self._usage(bridge, tool)}  {' '.join(about.split())}".rstrip())
        if not bridges:
            write("There are none; start with --tools MODULE:ATTR.")

    def _reset(self, _: str) -> None:
        self._runner.run(self._session.reset())
        self._succeeded.clear()
        write("All variables were deleted.")

    def _save(self, file: str) -> None:
        if not self._succeeded:
            raise ConfigurationError("there is nothing to save: no code has succeeded yet")
        used = {cell.language for cell in self._succeeded}
        dialects = [dialect for dialect in self.language.dialects if dialect.name in used]
        ending = "".join([*dialects, self.language][0].endings[:1])
        if not file.endswith(ending):
            raise ConfigurationError(f".save takes a name that ends in {ending}; got {file}")
        try:
            with Path(file).open("x", encoding="utf-8", errors="backslashreplace") as opened:
                opened.write(self._joined())
        except FileExistsError:
            raise ConfigurationError(f"{file} already exists; choose another name") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigurationError(f"{file} cannot be written: {reason}") from error
        write(f"{len(self._succeeded)} cell(s) saved to {file}")

    def _load(self, file: str) -> None:
        cell = read_file(file, self._stack, otherwise="To run code, type it.")
        check_language(self._stack, cell)
        self._run(cell)

    def _exit(self, _: str) -> None:
        self.done = True

    def _joined(self) -> str:
        """The source of all successful cells, as one text."""
        join = self.language.editor.joined or "\n".join
        return join([cell.source.strip() for cell in self._succeeded]) + "\n"

    def _usage(self, bridge: Bridge, tool: HostTool | None) -> str:
        """A call of a bridge with its fields; fields with a default are marked."""
        if tool is not None:
            required = tool.input_schema.get("required", ())
            fields = {name: name in required for name in tool.input_schema.get("properties", ())}
        elif bridge.signature is not None:
            fields = {name: needed for name, (_, needed) in bridge.signature.parameters.items()}
        else:
            return f"{bridge.name}(…)"
        return self.language.usage(bridge.name, fields)


def _summary(bridge: Bridge) -> str:
    """The first paragraph of the docstring of a bridge's handler."""
    return inspect.cleandoc(bridge.handler.__doc__ or "").partition("\n\n")[0]
