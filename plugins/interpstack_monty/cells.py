"""Prepares a cell's source: its last expression is handed to the kernel, to be shown."""

from __future__ import annotations

import threading
from functools import cache

import tree_sitter
import tree_sitter_python

__all__ = ["prepare"]

_parsers = threading.local()


@cache
def _language() -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_python.language())


def prepare(source: str, chars: int) -> str:
    """Source that ends with a call of the kernel's `show`, if it ends with an expression.

    Lines stay where they are. What does not parse stays as it is, for Monty to say why.

    Args:
        source: Without characters that UTF-8 lacks.
        chars: Characters of the result that `show` gives at most.
    """
    data = source.encode()
    root = _parse(data).root_node
    statements = [node for node in root.children if node.type not in ("comment", ";")]
    last = statements[-1] if statements else None
    if last is None or last.type != "expression_statement" or root.has_error:
        return source
    if len(last.named_children) == 1 and last.named_children[0].type in _NO_VALUES:
        return source
    start, end = last.start_byte, last.end_byte
    shown = b"await __interpstack_show__((%s), %d)" % (data[start:end], chars)
    return (data[:start] + shown + data[end:]).decode()


#: Statements that the grammar counts among the expressions.
_NO_VALUES = ("assignment", "augmented_assignment", "yield")


def _parse(data: bytes) -> tree_sitter.Tree:
    parser: tree_sitter.Parser | None = getattr(_parsers, "parser", None)
    if parser is None:
        parser = _parsers.parser = tree_sitter.Parser(_language())
    return parser.parse(data)
