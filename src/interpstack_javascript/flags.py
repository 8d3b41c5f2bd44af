"""Flags of regular expressions that QuickJS accepts without doing what they say."""

from __future__ import annotations

from typing import Final

from interpstack_javascript.parser.parsing import Node

__all__ = ["NO_SETS", "has_sets"]

NO_SETS: Final = (
    "QuickJS does not have the flag v of regular expressions. Use the flag u; write sets and emoji"
    " out, or use an engine that has the flag (v8, node)"
)


def has_sets(literal: Node) -> bool:
    """Whether a literal is a regular expression with the flag `v`.

    QuickJS reads its pattern as if it had neither `v` nor `u`: `/\\p{L}/v` would match `p{L}`.
    """
    regex = literal.get("regex")
    return regex is not None and "v" in regex["flags"]
