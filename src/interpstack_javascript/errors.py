"""Errors of preparing a source."""

from __future__ import annotations

__all__ = ["TypeScriptError"]


class TypeScriptError(Exception):
    """The source is not TypeScript; the message says why."""
