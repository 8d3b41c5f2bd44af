"""Rewrites what a parser finds in JavaScript source, in place.

Kept apart from `cells.py` because loading the parser takes a while, and not every process runs
a cell that needs it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import cache
from typing import TypeAlias

import tree_sitter
import tree_sitter_javascript

__all__ = ["Edit", "apply", "parse", "rewrite", "text_of"]

#: Start and end of what is replaced, in bytes, and what replaces it.
Edit: TypeAlias = tuple[int, int, bytes]

_parsers = threading.local()


@cache
def _language() -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_javascript.language())


def rewrite(source: str, *, types: bool) -> str:
    """Source with its imports as calls and, unless it still has types, its declarations as `var`.

    Args:
        source: Without characters that UTF-8 lacks.
        types: Whether it is TypeScript: only imports are rewritten then, and not checked.
    """
    data = source.encode()
    root = parse(data).root_node
    edits = _imports(root, checked=False) if types else _edits(root)
    return apply(data, edits).decode()


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


def _edits(root: tree_sitter.Node) -> list[Edit]:
    edits = _imports(root)
    for node in root.children:
        if node.type == "lexical_declaration":
            keyword = node.children[0]
            width = keyword.end_byte - keyword.start_byte
            edits.append((keyword.start_byte, keyword.end_byte, b"var".ljust(width)))
        elif node.type == "class_declaration":
            name = node.child_by_field_name("name")
            if name is not None and name.text and not node.has_error:
                edits.append((node.start_byte, node.start_byte, b"var " + name.text + b" = "))
                edits.append((node.end_byte, node.end_byte, b";"))
    return edits


def _imports(root: tree_sitter.Node, checked: bool = True) -> list[Edit]:
    """All imports; `checked` ones fail for names that the module does not export."""
    edits = _dynamic_imports(root)
    for node in root.children:
        if node.type == "import_statement" and not _broken(node):
            edits.append((node.start_byte, node.end_byte, _static_import(node, checked)))
    return edits


def _broken(node: tree_sitter.Node) -> bool:
    """Whether a statement does not parse; that its semicolon is missing is no fault."""
    return any(child.has_error and not child.is_missing for child in node.children) or (
        node.child_by_field_name("source") is None
    )


def _dynamic_imports(root: tree_sitter.Node) -> list[Edit]:
    """Every `import(` as a call of the kernel's function of the same width."""
    query = _import_query()
    found = tree_sitter.QueryCursor(query).captures(root).get("keyword", [])
    return [(node.start_byte, node.end_byte, b"$mport") for node in found]


@cache
def _import_query() -> tree_sitter.Query:
    return tree_sitter.Query(_language(), "(call_expression function: (import) @keyword)")


def _static_import(node: tree_sitter.Node, checked: bool) -> bytes:
    """`import a, {b as c} from "x"` as an awaited import, on the same lines."""
    source = text_of(node.child_by_field_name("source"))
    clause = next((child for child in node.children if child.type == "import_clause"), None)
    declared = [] if clause is None else [_declared(part) for part in clause.named_children]
    names = [name for _, wanted in declared for name in wanted] if checked else []
    wanted = b"".join(b", " + name for name in names)
    call = b"await $mport(" + source + (b", [" + wanted[2:] + b"]" if wanted else b"") + b")"
    parts = [b"var " + target + b" = (" + call + b");" for target, _ in declared if target]
    text = b" ".join(parts) or call + b";"
    # Keep the line breaks inside, so that later lines keep their numbers.
    return text + b"\n" * text_of(node).count(b"\n")


def _declared(part: tree_sitter.Node) -> tuple[bytes, list[bytes]]:
    """What one part of an import clause declares, and the exports it needs, as literals."""
    if part.type == "identifier":
        return b"{default: " + text_of(part) + b"}", [b'"default"']
    if part.type == "namespace_import":
        return text_of(part.named_children[-1]), []
    members, names = [], []
    for specifier in part.named_children:
        name = specifier.child_by_field_name("name")
        if name is None:  # a comment
            continue
        alias = specifier.child_by_field_name("alias") or name
        members.append(text_of(name) + b": " + text_of(alias))
        names.append(text_of(name) if name.type == "string" else b'"' + text_of(name) + b'"')
    return (b"{" + b", ".join(members) + b"}" if members else b""), names


def text_of(node: tree_sitter.Node | None) -> bytes:
    """The source of a node."""
    return b"" if node is None else node.text or b""
