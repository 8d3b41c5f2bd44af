"""Rewriting of JavaScript source at the positions that a scan found."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from interpstack_javascript.rewriting.edits import Edit, Edited, edited
from interpstack_javascript.rewriting.scan import Found, scan

__all__ = ["rewrite"]

#: What any import statement begins with.
_IMPORT: Final = re.compile(r"import(?![\w$\\(.])")


def rewrite(source: str, pause: Callable[[], None], *, types: bool = False) -> Edited:
    """Source with its imports as calls and, unless it still has types, its declarations as `var`.

    Args:
        source: A cell.
        pause: Called at intervals; an exception from it ends the work.
        types: Whether the source is TypeScript: then only import statements are rewritten, without
            checks. A call of `import` may be a type, and is left until types are removed.
    """
    if types and _IMPORT.search(source) is None:
        return Edited(source)
    found = scan(source, pause, checked=not types)
    if found is None:
        return Edited(source)
    edits = _import_edits(source, found)
    if not types:
        edits += _call_edits(found) + _declaration_edits(found)
    return edited(source, edits)


def _call_edits(found: Found) -> list[Edit]:
    return [(start, start + len("import"), "$mport") for start in found.calls]


def _declaration_edits(found: Found) -> list[Edit]:
    edits = [(start, end, "var".ljust(end - start)) for start, end in found.keywords]
    for start, end, name in found.classes:
        edits += [(start, start, f"var {name} = "), (end, end, ";")]
    return edits


def _import_edits(source: str, found: Found) -> list[Edit]:
    # Keep the line breaks inside, so that later lines keep their numbers.
    return [
        (start, end, call + "\n" * source.count("\n", start, end))
        for start, end, call in found.imports
    ]
