"""The line editor of the REPL: history, highlighting, completion, several lines."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import is_searching
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer

from interpstack import EditorRules, GuestLanguage
from interpstack_cli.printing import write
from interpstack_cli.repl.chunks import LINES, is_whole
from interpstack_cli.repl.shell import COMMAND

__all__ = ["Dropped", "Editor", "history_file", "open_history"]

_DOTTED: Final = re.compile(r"[\w$][\w$.]*\Z")


class Dropped(Exception):
    """Raised when Ctrl-C is typed at the prompt, to drop the typed text."""


class Editor:
    """Reads one cell or dot command after the other.

    Args:
        language: The language of the typed code.

    Attributes:
        completer: Completes the names that were passed to `offer`.
    """

    def __init__(self, language: GuestLanguage) -> None:
        history, note = open_history()
        if note:
            write(f"Note: {note}", err=True, colour="yellow")
        self.completer = _Names()
        rules = language.editor
        self._words = rules.words
        self._prompt: PromptSession[str] = PromptSession(
            "> ",
            multiline=True,
            prompt_continuation="… ",
            history=history,
            lexer=PygmentsLexer.from_filename("".join(("cell", *language.endings[:1]))),
            completer=self.completer,
            complete_while_typing=False,
            complete_in_thread=True,  # the guest is asked
            key_bindings=_keys(rules),
        )

    def offer(
        self,
        names: Sequence[str],
        commands: Sequence[str],
        members: Callable[[Sequence[str]], Sequence[str]] = lambda path: (),
    ) -> None:
        """Set the names for completion; `members` finds the names that may follow a dotted path."""
        self.completer.know(sorted({*names, *self._words}), commands, members)

    def read(self) -> str:
        """The typed text.

        Raises:
            Dropped: Ctrl-C at the prompt.
            EOFError: Ctrl-D on an empty line.
            KeyboardInterrupt: A signal arrived, such as that of Ctrl-C just after the text was
                entered. The editor's own handler would treat that signal as a key, but no longer
                reads keys by then.
        """
        return self._prompt.prompt(handle_sigint=False)


class _Names(Completer):
    """Completes dotted names one part at a time, and dot commands."""

    def __init__(self) -> None:
        self.names: Sequence[str] = ()
        self.commands: Sequence[str] = ()
        self.members: Callable[[Sequence[str]], Sequence[str]] = lambda path: ()

    def know(
        self,
        names: Sequence[str],
        commands: Sequence[str],
        members: Callable[[Sequence[str]], Sequence[str]],
    ) -> None:
        """Complete other names and commands from now on."""
        self.names, self.commands, self.members = names, commands, members

    def get_completions(
        self,
        document: Document,
        complete_event: CompleteEvent,
    ) -> Iterable[Completion]:
        before = document.text_before_cursor
        found = _DOTTED.search(before)
        typed = before if before.startswith(".") else found.group() if found else ""
        if not typed:
            return
        known = self.commands if typed.startswith(".") else self.names
        offered = {_next_part(name, typed) for name in known if name.startswith(typed)}
        path, dot, part = typed.rpartition(".")
        if dot and path and not offered:
            names = self.members(path.split("."))
            offered = {f"{path}.{name}" for name in names if _is_offered(name, part)}
        for name in sorted(offered - {typed}):
            yield Completion(name, start_position=-len(typed), display=name.rpartition(".")[2])


def _next_part(name: str, typed: str) -> str:
    """The name up to the end of the part that is being typed."""
    end = name.find(".", max(1, len(typed)))
    return name if end < 0 else name[:end]


def _is_offered(name: str, part: str) -> bool:
    """Whether a member begins with the typed text; internal members need their underscore typed."""
    return name.startswith(part) and (not name.startswith("_") or part.startswith("_"))


def _new_line(buffer: Buffer, rules: EditorRules) -> None:
    """Begin a line that is indented as the one before it asks for."""
    before = buffer.document.current_line_before_cursor.rstrip()
    buffer.newline(copy_margin=True)
    margin = buffer.document.current_line_before_cursor
    if before.endswith(rules.openers):
        buffer.insert_text(rules.indent)
    elif before.split()[:1] and before.split()[0] in rules.leavers:
        buffer.delete_before_cursor(min(len(margin), len(rules.indent)))


def _outdent(buffer: Buffer, rules: EditorRules) -> bool:
    """Take one step of indentation away, if there is nothing else before the cursor."""
    margin = buffer.document.current_line_before_cursor
    if not margin or margin.strip(" ") or len(margin) % len(rules.indent):
        return False
    buffer.delete_before_cursor(len(rules.indent))
    return True


def _keys(rules: EditorRules) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("backspace", filter=~is_searching)
    def _backspace(event: KeyPressEvent) -> None:
        if not _outdent(event.current_buffer, rules):
            event.current_buffer.delete_before_cursor(1)

    @keys.add(")", filter=~is_searching)
    @keys.add("]", filter=~is_searching)
    @keys.add("}", filter=~is_searching)
    def _close(event: KeyPressEvent) -> None:
        _outdent(event.current_buffer, rules)
        event.current_buffer.insert_text(event.data)

    @keys.add("enter", filter=~is_searching)
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if COMMAND.fullmatch(buffer.text) or is_whole(buffer.text, rules.follower or LINES):
            buffer.validate_and_handle()
        else:
            _new_line(buffer, rules)

    @keys.add("c-c", filter=~is_searching)
    def _drop(event: KeyPressEvent) -> None:
        event.app.exit(exception=Dropped, style="class:aborting")

    @keys.add("escape", "enter")
    def _alt_enter(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=True)

    return keys


def history_file() -> Path:
    """The path of the history file, in the user's state directory.

    Raises:
        RuntimeError: The user has no home directory.
    """
    given = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_STATE_HOME")
    base = Path(given) if given else Path.home() / ".local" / "state"
    return base / "interpstack" / "history"


def open_history() -> tuple[History, str | None]:
    """The history, readable by its user only; in memory, with a note why, if it must be."""
    try:
        path = history_file()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # What was typed may hold secrets, so the file is private from its first byte on.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        path.chmod(0o600)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        return InMemoryHistory(), f"this session's history is not kept: {reason}"
    return FileHistory(str(path)), None
