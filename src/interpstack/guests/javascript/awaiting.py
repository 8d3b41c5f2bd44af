"""Top-level `await` for engines whose scripts have none, by a source transform.

The statements of a cell move into an async function, on the same lines. What they declare with
`var` is declared outside and assigned inside, so that it stays a global; functions are copied
to globals before the first statement runs. The value of the last expression statement that ran
is kept, as a script would keep it. `cells.prepare` goes first: it leaves no `let`, `const` or
`class` at the top level.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final, TypeAlias

import attrs
import tree_sitter
import tree_sitter_javascript

__all__ = ["wrap_awaiting"]

#: Nodes with a scope of their own for `await`, `var` and `return`.
_INNER: Final = frozenset(
    {
        "arrow_function",
        "class_body",
        "function",
        "function_declaration",
        "function_expression",
        "generator_function",
        "generator_function_declaration",
        "method_definition",
    }
)
_FUNCTIONS: Final = ("function_declaration", "generator_function_declaration")
#: Variable of the wrapper that keeps the value of the cell.
_VALUE: Final = b"$cellValue"


#: Start and end of what is replaced, in bytes, and what replaces it.
Edit: TypeAlias = tuple[int, int, bytes]

_parsers = threading.local()


@attrs.define
class _Found:
    """What the statements of a cell have in them."""

    awaits: bool = False
    returns: bool = False
    names: dict[bytes, None] = attrs.Factory(dict)
    functions: dict[bytes, None] = attrs.Factory(dict)
    edits: list[Edit] = attrs.Factory(list)


def wrap_awaiting(source: str) -> str | None:
    """A script whose value is a promise of `{value}`; `None` if the source awaits nothing."""
    data = source.encode()
    root = parse(data).root_node
    found = _Found()
    for node in _nodes(root):
        _look_at(node, found)
    if not found.awaits:
        return None
    if found.returns:
        return 'throw new SyntaxError("Illegal return statement")'
    if root.has_error:  # the engine is to report it, not what the edits make of it
        return (b"(async () => {" + data + b"\n})()").decode()
    before = b"var " + b", ".join(found.names) + b"; " if found.names else b""
    before += b"(async () => { " + _directive(root) + b"let " + _VALUE + b"; "
    before += b"".join(b"this." + name + b" = " + name + b"; " for name in found.functions)
    after = b"\nreturn {__proto__: null, value: " + _VALUE + b"}; })()"
    return (before + apply(data, found.edits) + after).decode()


def _nodes(root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """All nodes outside inner functions and classes, and the inner ones themselves."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if node.type not in _INNER:
            waiting.extend(node.children)


def _look_at(node: tree_sitter.Node, found: _Found) -> None:
    kind = node.type
    if kind == "await_expression" or (kind == "identifier" and node.text == b"await"):
        found.awaits = True
    elif kind == "return_statement":
        found.returns = True
    elif kind == "for_in_statement":
        _look_at_loop(node, found)
    elif kind == "variable_declaration":
        _assign(node, found)
    elif kind in _FUNCTIONS:
        name = node.child_by_field_name("name")
        if name is not None and node.parent is not None and node.parent.type == "program":
            found.functions[text_of(name)] = None
    elif kind == "expression_statement" and not _in_head(node):
        _keep_value(node, found)


def _look_at_loop(node: tree_sitter.Node, found: _Found) -> None:
    """`for (var x of xs)` assigns to `x`; `for await` awaits."""
    found.awaits = found.awaits or any(child.type == "await" for child in node.children)
    kind, left = node.child_by_field_name("kind"), node.child_by_field_name("left")
    if kind is not None and kind.type == "var" and left is not None:
        found.edits.append((kind.start_byte, kind.end_byte, b""))
        found.names.update(dict.fromkeys(_bound(left)))


def _assign(node: tree_sitter.Node, found: _Found) -> None:
    """`var a = 1, {b} = c, d;` becomes `void (a = 1, {b} = c, 0);`."""
    keyword = node.children[0]
    found.edits.append((keyword.start_byte, keyword.end_byte, b"void ("))
    for declarator in node.named_children:
        name = declarator.child_by_field_name("name")
        if declarator.type != "variable_declarator" or name is None:
            continue  # a comment
        found.names.update(dict.fromkeys(_bound(name)))
        if declarator.child_by_field_name("value") is None:
            found.edits.append((name.start_byte, name.end_byte, b"0"))
    found.edits.append(_closing(node))


def _keep_value(node: tree_sitter.Node, found: _Found) -> None:
    found.edits.append((node.start_byte, node.start_byte, _VALUE + b" = ("))
    found.edits.append(_closing(node))


def _closing(node: tree_sitter.Node) -> Edit:
    """A bracket and a semicolon at the end of a statement that may have none."""
    last = next(child for child in reversed(node.children) if child.type != "comment")
    start = last.start_byte if last.type == ";" else last.end_byte
    return (start, last.end_byte, b");")


def _in_head(node: tree_sitter.Node) -> bool:
    """Whether an expression stands in the head of a `for`."""
    parent = node.parent
    return (
        parent is not None
        and parent.type == "for_statement"
        and parent.child_by_field_name("body") != node
    )


def _bound(pattern: tree_sitter.Node) -> Iterator[bytes]:
    """Names that a pattern declares."""
    if pattern.type in ("identifier", "shorthand_property_identifier_pattern"):
        yield text_of(pattern)
    elif pattern.type in ("assignment_pattern", "object_assignment_pattern"):
        left = pattern.child_by_field_name("left")
        if left is not None:
            yield from _bound(left)
    elif pattern.type == "pair_pattern":
        value = pattern.child_by_field_name("value")
        if value is not None:
            yield from _bound(value)
    else:
        for child in pattern.named_children:
            yield from _bound(child)


def _directive(root: tree_sitter.Node) -> bytes:
    """`"use strict"` counts at the very beginning of a function only."""
    first = next((node for node in root.named_children if node.type != "comment"), None)
    strict = first is not None and text_of(first).rstrip(b";") in (b'"use strict"', b"'use strict'")
    return b'"use strict"; ' if strict else b""


@cache
def _language() -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_javascript.language())


def apply(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Source with edits, which do not overlap, made in it."""
    parts, at = [], 0
    for start, end, text in sorted(edits):
        parts += [data[at:start], text]
        at = end
    return b"".join([*parts, data[at:]])


def parse(data: bytes) -> tree_sitter.Tree:
    """The syntax tree of JavaScript source as UTF-8."""
    parser: tree_sitter.Parser | None = getattr(_parsers, "parser", None)
    if parser is None:
        parser = _parsers.parser = tree_sitter.Parser(_language())
    return parser.parse(data)


def text_of(node: tree_sitter.Node | None) -> bytes:
    """The source of a node."""
    return b"" if node is None else node.text or b""
