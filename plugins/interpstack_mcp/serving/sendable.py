"""Texts of code, as messages of the protocol can carry them."""

from __future__ import annotations

__all__ = ["sendable"]


def sendable(text: str) -> str:
    r"""A text without halves of surrogate pairs: UTF-8 has none, so a server could not send them.

    Texts of JavaScript may have them. Each is written as an escape, such as `\ud800`.
    """
    return text.encode("utf-8", "backslashreplace").decode()
