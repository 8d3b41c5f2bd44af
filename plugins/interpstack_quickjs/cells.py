"""Prepares a cell's source: what must change so that a script behaves like a REPL's.

QuickJS keeps top-level `let`, `const` and `class` across scripts but refuses to declare them
again. So the keywords at the top level become `var` in place: same lines, same columns but for
classes. A maintained parser finds them; what it cannot parse is left for QuickJS to report.
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
_WORDS: Final = re.compile(r"\b(?:let|const|class)\b")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")

_parsers = threading.local()


@cache
def _language() -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_javascript.language())


def prepare(source: str) -> str:
    """A cell's source as QuickJS is to run it."""
    # UTF-8 has no lone surrogates; in a string literal the escape means the same.
    source = _SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", source)
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
    edits: list[tuple[int, int, bytes]] = []
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
