"""Causes of failures, which the SDK hands on in groups."""

from __future__ import annotations

__all__ = ["cause_of", "in_words", "printable"]


def cause_of(error: BaseException) -> BaseException:
    """The exception itself; of a group, the first one."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def in_words(error: BaseException) -> str:
    """The class and the message of an exception, in one line of printable characters."""
    words = printable(" ".join(str(error).split()))
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def printable(text: str) -> str:
    """A text of a server without characters that could change how the text around it looks."""
    return "".join(sign for sign in text if sign.isprintable())
