"""Rewrites what a parser finds in JavaScript source, in place.

Kept apart from `cells.py` because loading the parser takes a while, and not every process runs
a cell that needs it.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import TypeAlias

import tree_sitter
import tree_sitter_javascript

__all__ = ["rewrite"]

#: Start and end of what is replaced, in bytes, and what replaces it.
_Edit: TypeAlias = tuple[int, int, bytes]

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
    root = _parse(data).root_node
    edits = _imports(root, checked=False) if types else _edits(root)
    for start, end, text in sorted(edits, reverse=True):
        data = data[:start] + text + data[end:]
    return data.decode()


def _parse(data: bytes) -> tree_sitter.Tree:
    parser: tree_sitter.Parser | None = getattr(_parsers, "parser", None)
    if parser is None:
        parser = _parsers.parser = tree_sitter.Parser(_language())
    return parser.parse(data)


def _edits(root: tree_sitter.Node) -> list[_Edit]:
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


def _imports(root: tree_sitter.Node, checked: bool = True) -> list[_Edit]:
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


def _dynamic_imports(root: tree_sitter.Node) -> list[_Edit]:
    """Every `import(` as a call of the kernel's function of the same width."""
    query = _import_query()
    found = tree_sitter.QueryCursor(query).captures(root).get("keyword", [])
    return [(node.start_byte, node.end_byte, b"$mport") for node in found]


@cache
def _import_query() -> tree_sitter.Query:
    return tree_sitter.Query(_language(), "(call_expression function: (import) @keyword)")


def _static_import(node: tree_sitter.Node, checked: bool) -> bytes:
    """`import a, {b as c} from "x"` as an awaited import, on the same lines."""
    source = _text(node.child_by_field_name("source"))
    clause = next((child for child in node.children if child.type == "import_clause"), None)
    declared = [] if clause is None else [_declared(part) for part in clause.named_children]
    names = [name for _, wanted in declared for name in wanted] if checked else []
    wanted = b"".join(b", " + name for name in names)
    call = b"await $mport(" + source + (b", [" + wanted[2:] + b"]" if wanted else b"") + b")"
    parts = [b"var " + target + b" = (" + call + b");" for target, _ in declared if target]
    text = b" ".join(parts) or call + b";"
    # Keep the line breaks inside, so that later lines keep their numbers.
    return text + b"\n" * _text(node).count(b"\n")


def _declared(part: tree_sitter.Node) -> tuple[bytes, list[bytes]]:
    """What one part of an import clause declares, and the exports it needs, as literals."""
    if part.type == "identifier":
        return b"{default: " + _text(part) + b"}", [b'"default"']
    if part.type == "namespace_import":
        return _text(part.named_children[-1]), []
    members, names = [], []
    for specifier in part.named_children:
        name = specifier.child_by_field_name("name")
        if name is None:  # a comment
            continue
        alias = specifier.child_by_field_name("alias") or name
        members.append(_text(name) + b": " + _text(alias))
        names.append(_text(name) if name.type == "string" else b'"' + _text(name) + b'"')
    return (b"{" + b", ".join(members) + b"}" if members else b""), names


def _text(node: tree_sitter.Node | None) -> bytes:
    return b"" if node is None else node.text or b""
