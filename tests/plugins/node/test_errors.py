"""Errors of a cell, as a kernel that is not trusted tells them."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import Cell
from interpstack_node.errors import told_error

_STACK = (
    "    at f (cell:1:2)\n    at <cell> (cell:2:1)\n"
    "    at sigintHandlersWrap (node:vm:280:12)\n    at node:internal/main:1:1"
)
_SOURCE = "let a\nlet = ;"


def _told(place: Any) -> Any:
    told = {"name": "SyntaxError", "message": "Unexpected token", "stack": _STACK}
    return told_error(told, place, Cell(source=_SOURCE), _SOURCE)


def test_an_error_with_a_place_shows_its_line() -> None:
    error = _told([2, 5])
    assert error.place is not None
    assert (error.place.line, error.stack) == (2, "    at cell:2:5")


@pytest.mark.parametrize("place", [None, [1, 0], [0, 0], [-1, 5], [9, 1], [1, 99], [2**31, 2**31]])
def test_an_error_without_a_place_in_the_source_has_its_stack(place: Any) -> None:
    error = _told(place)
    assert error.place is None
    assert error.stack == "    at f (cell:1:2)\n    at <cell> (cell:2:1)"
