"""`interpstack run`: one cell, from a file, standard input or the command line."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click

from interpstack import Cell, ConfigurationError, HostOffer, InterpreterStack, Outcome
from interpstack_cli.languages import language_named
from interpstack_cli.printing import show_outcome, write
from interpstack_cli.running.attachments import Gallery
from interpstack_cli.running.live import eval_live, interruptible
from interpstack_cli.running.options import (
    StackOptions,
    check_language,
    language_option,
    opened_session,
    save_option,
    session_option,
    stack_options,
)
from interpstack_cli.running.sources import read_file, read_stdin

__all__ = ["command"]


@click.command("run")
@click.argument("file", required=False, metavar="[FILE|-]")
@click.option("-e", "--eval", "code", metavar="CODE", multiple=True, help="Code to run.")
@language_option
@stack_options
@session_option
@save_option
@click.option("--json", "as_json", is_flag=True, help="Print the whole outcome as JSON.")
def command(
    *,
    file: str | None,
    code: tuple[str, ...],
    language: str | None,
    wanted: StackOptions,
    key: str | None,
    save: Path | None,
    as_json: bool,
) -> None:
    """Run a file, standard input or code.

    Console output, as the code prints it, and the value of the last expression go to standard
    output, errors to standard error. Exit status 1 means that the code failed.
    """
    _check_source(file, code)
    gallery = Gallery(save)
    gallery.check()
    stack, offer = wanted.open(None if file in (None, "-") else Path(file))
    with stack:
        cell = _cell(file, code, language, stack)
        check_language(stack, cell)
        outcome = asyncio.run(_run(stack, offer, cell, key, live=not as_json))
    if as_json:
        data = {**outcome.to_dict(), "attachments": gallery.saved(outcome)}
        write(json.dumps(data, indent=2))
    else:
        show_outcome(outcome)
        gallery.show(outcome)
    if not outcome.ok:
        raise click.exceptions.Exit(1)


async def _run(
    stack: InterpreterStack, offer: HostOffer, cell: Cell, key: str | None, *, live: bool
) -> Outcome:
    async with opened_session(stack, key) as session:
        session.bind(offer)
        if live:
            return await eval_live(session, cell)
        return await interruptible(session.eval(cell))


def _check_source(file: str | None, code: tuple[str, ...]) -> None:
    if len(code) + (file is not None) != 1:
        got = "both" if file is not None and code else "none" if not code else "several"
        raise click.UsageError(
            f"give one source: a FILE, - for standard input, or -e CODE; got {got}"
        )
    if code and not code[0].strip():
        raise ConfigurationError("-e got empty code; it takes an expression or a statement")
    if code and any("\udc80" <= character <= "\udcff" for character in code[0]):
        # Python decodes bytes of an argument that are not text to these characters.
        raise ConfigurationError("-e got code that is not UTF-8 text; write it as UTF-8")


def _cell(
    file: str | None, code: tuple[str, ...], language: str | None, stack: InterpreterStack
) -> Cell:
    named = None if language is None else language_named(language, stack)
    if file is None:
        return Cell(source=code[0], language=named)
    return read_stdin(named) if file == "-" else read_file(file, stack, named)
