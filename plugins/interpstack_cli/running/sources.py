"""Reads code from files and standard input."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from interpstack import Cell, ConfigurationError, InterpreterStack, Limits
from interpstack_cli.languages import language_of_file

__all__ = ["opened_stdin", "read_file", "read_stdin"]


def read_file(
    name: str,
    stack: InterpreterStack,
    language: str | None = None,
    *,
    otherwise: str = "To run code from the command line, use -e CODE.",
) -> Cell:
    """A cell with the content of a file; the extension selects the language, unless one is passed.

    Args:
        name: The file's.
        stack: The stack, whose engine's languages are tried first.
        language: The name of the language, or `None`.
        otherwise: Advice for the message, if the file does not exist.

    Raises:
        ConfigurationError: It cannot be read, is not UTF-8 text, empty, too large, or in a
            language that its name does not tell.
    """
    path = Path(name)
    try:
        with path.open("rb") as file:
            data = _bounded(file, name)
    except IsADirectoryError:
        raise ConfigurationError(f"{name} is a directory; name a file in it") from None
    except FileNotFoundError:
        raise ConfigurationError(f"File {name!r} not found. {otherwise}") from None
    except ConfigurationError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        advice = f". {otherwise}" if getattr(error, "errno", 0) == errno.ENAMETOOLONG else ""
        raise ConfigurationError(f"{name:.200} cannot be read: {reason}{advice}") from error
    chosen = language or language_of_file(path, stack)
    if not isinstance(chosen, str):
        raise ConfigurationError(
            f"{name}: the extension names no known language; use one of "
            f"{', '.join(chosen)}, or pass --language"
        )
    return Cell(source=_text(data, name), name=path.name, language=chosen)


def read_stdin(language: str | None = None) -> Cell:
    """Standard input, to its end, as a cell.

    Raises:
        ConfigurationError: It is closed, cannot be read, is not UTF-8 text, empty, or too large.
    """
    with opened_stdin() as stream:
        data = _bounded(stream, "standard input")
    return Cell(source=_text(data, "standard input"), name="stdin", language=language)


@contextmanager
def opened_stdin() -> Iterator[BinaryIO]:
    """Standard input, to be read in the block.

    Raises:
        ConfigurationError: It is closed, or cannot be read.
    """
    if sys.stdin is None:  # closed by whoever started this process
        raise ConfigurationError("standard input is closed; give code through a pipe or a file")
    try:
        yield sys.stdin.buffer
    except OSError as error:
        raise ConfigurationError(
            f"standard input cannot be read: {error.strerror or error}"
        ) from error


def _bounded(file: BinaryIO, name: str) -> bytes:
    limit = Limits().source_bytes
    data = file.read(limit + 1)
    if len(data) > limit:
        raise ConfigurationError(
            f"{name} is larger than the {limit} bytes that code may have; let the code get its "
            "data through a tool (--tools)"
        )
    return data


def _text(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{name} is not UTF-8 text (byte {error.start + 1}); save it as UTF-8"
        ) from None
    if not text.strip():
        raise ConfigurationError(f"{name} is empty; it takes at least one expression or statement")
    return text
