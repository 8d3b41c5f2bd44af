"""`interpstack repl`: reads cells, from a terminal or a pipe, and runs them in one session."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from interpstack import Cell, ConfigurationError
from interpstack_cli.languages import language_named
from interpstack_cli.printing import is_terminal, write
from interpstack_cli.repl.chunks import LINES, chunks
from interpstack_cli.repl.shell import Shell
from interpstack_cli.running.attachments import Gallery
from interpstack_cli.running.options import (
    StackOptions,
    check_language,
    language_option,
    opened_session,
    save_option,
    session_option,
    stack_options,
)
from interpstack_cli.running.sources import opened_stdin

if TYPE_CHECKING:
    from interpstack_cli.repl.editor import Editor

__all__ = ["command", "converse", "read_pipe"]


@click.command("repl")
@language_option
@stack_options
@session_option
@save_option
def command(
    *,
    language: str | None,
    wanted: StackOptions,
    key: str | None,
    save: Path | None,
) -> None:
    """Evaluate code interactively.

    Type .help for a list of its commands.

    When standard input is not a terminal, its code runs chunk by chunk, each as soon as its
    brackets are closed and its block has ended; the exit status is 1 if one of them failed.
    """
    gallery = Gallery(save)
    gallery.check()
    stack, offer = wanted.open()
    with stack, asyncio.Runner() as runner, opened_session(stack, key) as session:
        session.bind(offer)
        named = None if language is None else language_named(language, stack)
        check_language(stack, Cell(source="", name="typed code", language=named))
        shell = Shell(stack, session, runner, gallery, language=named)
        if not is_terminal(sys.stdin):
            if not read_pipe(shell, _lines()):
                raise click.exceptions.Exit(1)
            return
        from interpstack_cli.repl.editor import Editor

        shell.plain = False
        write(f"interpstack: {stack.engine.name}, {named or stack.engine.language}; .help for help")
        converse(shell, Editor(shell.language))


def converse(shell: Shell, editor: Editor) -> None:
    """Run all chunks that the editor reads."""
    while not shell.done:
        try:
            editor.offer(shell.names(), shell.commands(), shell.members)
            text = _typed(editor)
            if text is None:
                return
            shell.feed(text)
        except KeyboardInterrupt:
            write("Cancelled; the session continues.", err=True, colour="yellow")


def _typed(editor: Editor) -> str | None:
    """The typed text; empty if it was dropped, `None` after Ctrl-D."""
    from interpstack_cli.repl.editor import Dropped

    try:
        return editor.read()
    except Dropped:
        return ""
    except EOFError:
        return None


def read_pipe(shell: Shell, lines: Iterator[str]) -> bool:
    """Run each chunk as soon as it is a whole; whether all of them succeeded."""
    succeeded = True
    for chunk in chunks(lines, shell.language.editor.follower or LINES):
        succeeded = shell.feed(chunk) and succeeded
        if shell.done:
            break
    return succeeded


def _lines() -> Iterator[str]:
    with opened_stdin() as stream:
        for number, line in enumerate(stream, start=1):
            yield _text(line, number)


def _text(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise ConfigurationError(
            f"line {number} of standard input is not UTF-8 text; send it as UTF-8"
        ) from None
