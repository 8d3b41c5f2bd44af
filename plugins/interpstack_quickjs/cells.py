"""Prepares a cell's source: what must change so that a script behaves like a REPL's.

QuickJS keeps top-level `let`, `const` and `class` across scripts but refuses to declare them
again. So the keywords at the top level become `var` in place: same lines, same columns but for
classes. Imports become calls of the kernel, which asks the host for the module first. A
maintained parser finds them; what it cannot parse is left for QuickJS to report.
"""

from __future__ import annotations

import re
import threading
from functools import cache
from typing import Final

import tree_sitter
import tree_sitter_javascript

__all__ = ["prepare"]

#: Nothing to do for cells without one of these words.
_WORDS: Final = re.compile(r"\b(?:let|const|class|import)\b")
_ESCAPED: Final = re.compile("[\0\ud800-\udfff]")

_parsers = threading.local()


@cache
def _language() -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_javascript.language())


def prepare(source: str) -> str:
    """A cell's source as QuickJS is to run it."""
    # UTF-8 has no lone surrogates, and a NUL would end the source for QuickJS; in a string
    # literal the escape means the same.
    source = _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", source)
    if not _WORDS.search(source):
        return source
    data = source.encode()
    edits = _edits(_parse(data).root_node)
    for start, end, text in sorted(edits, reverse=True):
        data = data[:start] + text + data[end:]
    return data.decode()


def _parse(data: bytes) -> tree_sitter.Tree:
    parser: tree_sitter.Parser | None = getattr(_parsers, "parser", None)
    if parser is None:
        parser = _parsers.parser = tree_sitter.Parser(_language())
    return parser.parse(data)


def _edits(root: tree_sitter.Node) -> list[tuple[int, int, bytes]]:
    """Replacements as start, end and text, in bytes."""
    edits = _dynamic_imports(root)
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
        elif node.type == "import_statement":
            edits += _static_import(node)
    return edits


def _dynamic_imports(root: tree_sitter.Node) -> list[tuple[int, int, bytes]]:
    """Every `import(` as a call of the kernel's function of the same width."""
    query = _import_query()
    found = tree_sitter.QueryCursor(query).captures(root).get("keyword", [])
    return [(node.start_byte, node.end_byte, b"$mport") for node in found]


@cache
def _import_query() -> tree_sitter.Query:
    return tree_sitter.Query(_language(), "(call_expression function: (import) @keyword)")


def _static_import(node: tree_sitter.Node) -> list[tuple[int, int, bytes]]:
    """`import a, {b as c} from "x"` as an awaited import, on the same lines."""
    source = node.child_by_field_name("source")
    if source is None or not source.text or node.has_error:
        return []
    clause = next((child for child in node.children if child.type == "import_clause"), None)
    call = b"await $mport(" + source.text + b");"
    names = [] if clause is None else [name for part in clause.children for name in _names(part)]
    text = b" ".join(name.replace(b"=", b"= (" + call[:-1] + b")") for name in names) or call
    # Keep the line breaks inside, so that later lines keep their numbers.
    return [(node.start_byte, node.end_byte, text + b"\n" * (node.text or b"").count(b"\n"))]


def _names(part: tree_sitter.Node) -> list[bytes]:
    """Declarations for one part of an import clause; `=` stands for the module."""
    if part.type == "identifier":
        return [b"var {default: " + (part.text or b"") + b"} =;"]
    if part.type == "namespace_import":
        return [b"var " + (part.children[-1].text or b"") + b" =;"]
    if part.type != "named_imports":
        return []
    members = [
        b": ".join(child.text or b"" for child in specifier.children if child.type != "as")
        for specifier in part.children
        if specifier.type == "import_specifier"
    ]
    return [b"var {" + b", ".join(members) + b"} =;"]
