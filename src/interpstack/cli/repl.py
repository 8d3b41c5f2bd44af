"""`interpstack repl`: reads cells, from a terminal or a pipe, and runs them in one session."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from interpstack.cli.nesting import Nesting
from interpstack.cli.options import open_stack, stack_options
from interpstack.cli.printing import write
from interpstack.cli.shell import Shell
from interpstack.errors import ConfigurationError

if TYPE_CHECKING:
    from interpstack.cli.editor import Editor

__all__ = ["command", "converse", "read_pipe"]


@click.command("repl")
@stack_options
def command(
    engine: str,
    tools: tuple[str, ...],
    skills: Path | None,
    timeout: float | None,
    memory: int | None,
) -> None:
    """Type code and see its values.

    The command .help lists the others.

    When standard input is no terminal, its code is run chunk by chunk, each as soon as its
    brackets are closed; the exit status is 1 if one of them failed.
    """
    stack, turn = open_stack(engine, tools, skills, timeout, memory)
    with stack, asyncio.Runner() as runner, stack.session() as session:
        session.bind(turn)
        shell = Shell(stack, session, runner)
        if not sys.stdin.isatty():
            if not read_pipe(shell, _lines()):
                raise click.exceptions.Exit(1)
            return
        from interpstack.cli.editor import Editor

        shell.plain = False
        write(f"interpstack: {stack.engine.name}, {stack.engine.language}; .help for help")
        converse(shell, Editor())


def converse(shell: Shell, editor: Editor) -> None:
    """Run what the editor reads, until it has no more."""
    while not shell.done:
        try:
            editor.offer(shell.names(), shell.commands())
            text = _typed(editor)
            if text is None:
                return
            shell.feed(text)
        except KeyboardInterrupt:
            write("Cancelled; the session goes on.", err=True, colour="yellow")


def _typed(editor: Editor) -> str | None:
    """What was typed; nothing after Ctrl-C, `None` after Ctrl-D."""
    try:
        return editor.read()
    except KeyboardInterrupt:
        return ""
    except EOFError:
        return None


def read_pipe(shell: Shell, lines: Iterator[str]) -> bool:
    """Run each chunk as soon as its brackets are closed; whether all of them succeeded."""
    chunk, nesting, succeeded = "", Nesting(), True
    for line in lines:
        chunk += line
        nesting.feed(line)
        if not nesting.closed:
            continue
        succeeded = shell.feed(chunk) and succeeded
        chunk, nesting = "", Nesting()
        if shell.done:
            break
    return shell.feed(chunk) and succeeded


def _lines() -> Iterator[str]:
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise ConfigurationError(f"line {number} of standard input is not UTF-8 text") from None
