"""Prepares a cell's source: what must change so that a script behaves like a REPL's.

QuickJS keeps top-level `let`, `const` and `class` across scripts but refuses to declare them
again. So the keywords at the top level become `var` in place: same lines, same columns but for
classes. Imports become calls of the kernel, which asks the host for the module first. A
maintained parser finds them; what it cannot parse is left for QuickJS to report.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import cache, partial
from typing import Final, TypeAlias

import tree_sitter
import tree_sitter_javascript

from interpstack_quickjs.typescript import strip_types

__all__ = ["escape", "prepare"]

#: Nothing to do for cells without one of these words; behind a bracket no declaration begins.
_WORDS: Final = re.compile(r"(?<!\()\b(?:let|const|class)\b|\bimport\b")
_ESCAPED: Final = re.compile("[\0\ud800-\udfff]")

#: Start and end of what is replaced, in bytes, and what replaces it.
_Edit: TypeAlias = tuple[int, int, bytes]

_parsers = threading.local()


@cache
def _language() -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_javascript.language())


def prepare(source: str, language: str | None = None) -> str:
    """A cell's source as QuickJS is to run it.

    Raises:
        TypeScriptError: It is no TypeScript, although `language` says so.
    """
    source = escape(source)
    if language == "typescript":
        # Imports first: TypeScript drops those that nothing in the same cell uses.
        source = strip_types(_rewrite(source, partial(_imports, checked=False)))
    return _rewrite(source, _edits)


def escape(source: str) -> str:
    """Source without what QuickJS cannot read; in a string literal the escapes mean the same.

    UTF-8 has no lone surrogates, and a NUL would end the source.
    """
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", source)


def _rewrite(source: str, find: Callable[[tree_sitter.Node], list[_Edit]]) -> str:
    if not _WORDS.search(source):
        return source
    data = source.encode()
    for start, end, text in sorted(find(_parse(data).root_node), reverse=True):
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
