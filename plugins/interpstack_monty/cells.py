"""Prepares a cell's source: its last expression is handed to the kernel, to be shown."""

from __future__ import annotations

import threading
from functools import cache
from typing import Final

import tree_sitter
import tree_sitter_python

__all__ = ["RefusedSource", "prepare"]

#: Statements that the grammar counts among the expressions.
_NO_VALUES: Final = ("assignment", "augmented_assignment", "yield")
#: What statements of the top level can stand in, without being in a function or a class.
_BLOCKS: Final = frozenset(
    {
        "block",
        "case_clause",
        "elif_clause",
        "else_clause",
        "except_clause",
        "except_group_clause",
        "finally_clause",
        "for_statement",
        "if_statement",
        "match_statement",
        "module",
        "try_statement",
        "while_statement",
        "with_statement",
    }
)

_parsers = threading.local()


class RefusedSource(Exception):
    """Source that Monty takes and Python does not.

    Attributes:
        line: Where, from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def prepare(source: str, chars: int) -> str:
    """Source that ends with a call of the kernel's `show`, if it ends with an expression.

    Otherwise it ends with `None`, so that no cell gives a raw value: not even one with an
    expression that only Monty can parse. Lines stay where they are.

    Args:
        source: Without characters that UTF-8 lacks.
        chars: Characters of the result that `show` gives at most.

    Raises:
        RefusedSource: It has a NUL, or a `return` outside a function, which would be the value.
    """
    data = source.encode()
    if b"\0" in data:
        raise RefusedSource("source code cannot contain null bytes", _line(data, data.index(0)))
    root = _parse(data).root_node
    if b"return" in data:
        _refuse_returns(root)
    statements = [node for node in root.children if node.type not in ("comment", ";")]
    last = statements[-1] if statements else None
    if root.has_error or last is None or not _has_value(last):
        return f"{source}\nNone"
    start, end = last.start_byte, last.end_byte
    shown = b"await __interpstack_show__((%s), %d)" % (data[start:end], chars)
    return (data[:start] + shown + data[end:]).decode()


def _has_value(statement: tree_sitter.Node) -> bool:
    if statement.type != "expression_statement":
        return False
    parts = statement.named_children
    return len(parts) != 1 or parts[0].type not in _NO_VALUES


def _refuse_returns(root: tree_sitter.Node) -> None:
    if root.has_error:
        return  # what stands in what is a guess
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type == "return_statement":
            raise RefusedSource(
                "'return' outside function; end the cell with the expression itself",
                node.start_point[0] + 1,
            )
        if node.type in _BLOCKS:
            pending.extend(reversed(node.children))


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1


@cache
def _language() -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_python.language())


def _parse(data: bytes) -> tree_sitter.Tree:
    parser: tree_sitter.Parser | None = getattr(_parsers, "parser", None)
    if parser is None:
        parser = _parsers.parser = tree_sitter.Parser(_language())
    return parser.parse(data)
