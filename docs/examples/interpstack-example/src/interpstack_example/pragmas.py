"""A pragma: a cell whose first line is `// @ts` is TypeScript."""

from __future__ import annotations

import attrs

from interpstack import Cell

__all__ = ["transformed"]

_PRAGMA = "// @ts"


def transformed(cell: Cell) -> Cell | None:
    """The cell in the language that its pragma names; `None` without a pragma.

    The line stays where it is, so that errors name the lines that the user wrote.
    """
    if cell.source.split("\n", 1)[0].strip() != _PRAGMA:
        return None
    return attrs.evolve(cell, language="typescript")
