"""Output to terminals of any encoding, and the display of outcomes for people."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TextIO

import click

from interpstack import GuestError, Outcome

__all__ = [
    "Problem",
    "encodable",
    "flush_output",
    "is_terminal",
    "output",
    "printable",
    "show_outcome",
    "show_remarks",
    "standard_output",
    "without_controls",
    "write",
]


class Problem(click.ClickException):
    """Print an error message on one red line."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        write("Error: " + without_controls(" ".join(self.message.split())), err=True, colour="red")


#: Characters that make a terminal do something, or change the direction of its text.
_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


def without_controls(text: str) -> str:
    """The text with escapes for control characters, but for tabs and ends of lines."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def encodable(text: str, stream: TextIO) -> str:
    """The text with escapes for characters that the stream cannot show.

    These are characters that its encoding lacks (lone surrogates) and, on a terminal, control
    characters: guest code could use them to change the title, the clipboard or earlier lines.
    """
    return _encoded(without_controls(text) if is_terminal(stream) else text, stream)


def printable(text: str) -> str:
    """The text with escapes for control characters, and for those that standard output lacks."""
    return _encoded(without_controls(text), sys.stdout)


def _encoded(text: str, stream: TextIO | None) -> str:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def write(
    text: str, *, err: bool = False, colour: str | None = None, drawing: bool = False
) -> None:
    """Write a line; coloured only on a terminal, and never when `NO_COLOR` is set.

    Args:
        text: The line.
        err: Whether it goes to standard error.
        colour: Its colour.
        drawing: Whether it is a sequence of this package's own that draws in a terminal.

    Raises:
        Problem: Standard output cannot be written to. A failure of standard error is ignored,
            because no stream remains for a message.
    """
    with _errors() if err else output() as stream:
        shown = text if drawing else encodable(text, stream)
        if colour and is_terminal(stream) and not os.environ.get("NO_COLOR"):
            shown = click.style(shown, fg=colour)
        stream.write(shown + "\n")
        stream.flush()


def standard_output() -> TextIO:
    """Standard output, as a command needs it before it begins what could not be shown.

    Raises:
        Problem: It is closed.
    """
    if sys.stdout is None:  # closed by whoever started this process
        raise Problem("standard output is closed; send it to a terminal, a pipe or a file")
    return sys.stdout


@contextmanager
def output() -> Iterator[TextIO]:
    """Standard output, to be written to in the block.

    Raises:
        Problem: It is closed, or takes no more.
    """
    stream = standard_output()
    try:
        yield stream
    except BrokenPipeError:  # whoever read it has enough; click ends the command quietly
        raise
    except OSError as error:
        _discard(stream)
        raise Problem(f"standard output cannot be written: {error.strerror or error}") from error


def flush_output(text: str = "") -> None:
    """Flush standard output, if it is open.

    Args:
        text: To be written after it.

    Raises:
        Problem: It cannot be written.
    """
    if sys.stdout is not None:
        with output() as stream:
            stream.write(text)
            stream.flush()


@contextmanager
def _errors() -> Iterator[TextIO]:
    """Standard error, or nothing, to be written to in the block."""
    try:
        yield sys.stderr or io.StringIO()
    except OSError:
        _discard(sys.stderr)


def _discard(stream: TextIO) -> None:
    """Redirect a stream to the null device, so that Python's final flush does not fail."""
    with suppress(OSError, ValueError):
        number = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person reads a stream, which is `None` if it is closed."""
    return stream is not None and stream.isatty()


def _error_text(error: GuestError) -> str:
    """Name, message, stack, and the line of the source that is at fault."""
    text = f"{error.name or 'Error'}: {error.message}" if error.message else error.name or "Error"
    if error.stack.strip():
        text += f"\n{error.stack.rstrip()}"
    return text if error.place is None else f"{text}\n{error.place.excerpt()}"


def show_outcome(outcome: Outcome) -> None:
    """The value to standard output; notices and the error to standard error.

    Console output was written while the cell ran. A mere statement has the value `undefined`,
    which is not shown.
    """
    if outcome.ok and not outcome.undefined:
        write(outcome.text)
    show_remarks(outcome)


def show_remarks(outcome: Outcome) -> None:
    """Print notices, the number of omitted characters, and the error."""
    for text in outcome.notices:
        write(f"Note: {text}", err=True, colour="yellow")
    if outcome.console_omitted_chars:
        _omitted(f"{outcome.console_omitted_chars} characters of console output")
    if outcome.console_end:  # was not written while the cell ran
        write(outcome.console_end)
    if outcome.omitted_chars:
        least = "" if outcome.omitted_exact else "more than "
        _omitted(f"{least}{outcome.omitted_chars} characters of the result")
    if outcome.error is not None:
        write(_error_text(outcome.error), err=True, colour="red")


def _omitted(what: str) -> None:
    write(f"Note: {what} were left out; print less at a time", err=True, colour="yellow")
