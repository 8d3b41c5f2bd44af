"""Errors of a cell, as a kernel that is not trusted tells them."""

from __future__ import annotations

from interpstack_node.errors import guest_error

_STACK = (
    "    at f (cell:1:2)\n    at <cell> (cell:2:1)\n"
    "    at sigintHandlersWrap (node:vm:280:12)\n    at node:internal/main:1:1"
)


def test_an_error_has_no_frames_of_node() -> None:
    error = guest_error({"name": "TypeError", "message": "no", "stack": _STACK})
    assert (error.name, error.message, error.place) == ("TypeError", "no", None)
    assert error.stack == "    at f (cell:1:2)\n    at <cell> (cell:2:1)"
