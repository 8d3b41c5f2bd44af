"""Errors of preparing a source."""

from __future__ import annotations

from interpstack.contracts.protocol import Place

__all__ = ["SourceError", "TypeScriptError"]


class SourceError(Exception):
    """A source does not parse, or has syntax that cells do not have.

    Args:
        message: The reason, in a sentence without a place.
        offset: Index of the character that it is about.
    """

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset


class TypeScriptError(SourceError):
    """A source is not TypeScript, or has syntax of TypeScript that is not supported.

    Args:
        message: The reason, in a sentence without a place.
        offset: Index of the character that it is about.
        place: Its place in a file, which the text of the error names.
    """

    def __init__(self, message: str, offset: int = 0, place: Place | None = None) -> None:
        at = f" (line {place.line}, column {place.column})" if place else ""
        super().__init__(message + at, offset)
        self.reason = message
        self.place = place
