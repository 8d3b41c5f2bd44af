"""Writes to the terminal, whatever its encoding, and shows an outcome to a person."""

from __future__ import annotations

import os
import sys
from typing import TextIO

import click

from interpstack.engine import GuestError
from interpstack.outcome import Outcome

__all__ = ["encodable", "show_outcome", "show_remarks", "write"]


def encodable(text: str, stream: TextIO) -> str:
    """The text with escapes for what the stream cannot encode, such as lone surrogates."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def write(text: str, *, err: bool = False, colour: str | None = None) -> None:
    """Write a line; coloured only on a terminal, and never when `NO_COLOR` is set."""
    stream = sys.stderr if err else sys.stdout
    shown = encodable(text, stream)
    if colour and stream.isatty() and not os.environ.get("NO_COLOR"):
        shown = click.style(shown, fg=colour)
    stream.write(shown + "\n")
    stream.flush()


def _error_text(error: GuestError) -> str:
    """Name, message and stack."""
    first = f"{error.name or 'Error'}: {error.message}" if error.message else error.name or "Error"
    return f"{first}\n{error.stack.rstrip()}" if error.stack.strip() else first


def show_outcome(outcome: Outcome) -> None:
    """Console output and value to standard output; notices and the error to standard error.

    A mere statement has the value `undefined`, which is not shown.
    """
    if outcome.console:
        write(outcome.console)
    if outcome.ok and not outcome.undefined:
        write(outcome.text)
    show_remarks(outcome)


def show_remarks(outcome: Outcome) -> None:
    """Notices, what was left out, and the error."""
    for text in outcome.notices:
        write(f"Note: {text}", err=True, colour="yellow")
    if outcome.console_omitted_chars:
        _omitted(f"{outcome.console_omitted_chars} characters of console output")
    if outcome.omitted_chars:
        least = "" if outcome.omitted_exact else "more than "
        _omitted(f"{least}{outcome.omitted_chars} characters of the result")
    if outcome.error is not None:
        write(_error_text(outcome.error), err=True, colour="red")


def _omitted(what: str) -> None:
    write(f"Note: {what} were left out; print less at a time", err=True, colour="yellow")
