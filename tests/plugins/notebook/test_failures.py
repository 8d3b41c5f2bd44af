"""The lines that a notebook shows for a failed cell."""

from __future__ import annotations

from interpstack import GuestError
from interpstack.guests import place_at
from interpstack_notebook.failures import CellFailed, GuestCodeError


def test_an_error_has_its_stack_and_a_caret() -> None:
    source = "let a = = 1"
    error = GuestError("SyntaxError", "unexpected", "    at cell:1:9\n", place=place_at(source, 8))
    shown = GuestCodeError(error)
    assert str(shown) == "SyntaxError: unexpected"
    assert shown._render_traceback_() == [
        "SyntaxError: unexpected",
        "    at cell:1:9",
        "1 | let a = = 1\n  |         ^",
    ]


def test_texts_of_a_guest_reach_no_terminal() -> None:
    error = GuestError("E\x1b[31m", "bad\r\x1b]8;;http://x\x07", "\x9b2J")
    lines = GuestCodeError(error)._render_traceback_()
    assert lines == ["E\\x1b[31m: bad\\r\\x1b]8;;http://x\\x07", "\\x9b2J"]
    assert str(GuestCodeError(GuestError("", ""))) == "Error"


def test_a_cell_that_was_not_run_is_reported_in_one_line() -> None:
    assert CellFailed("no engine")._render_traceback_() == ["Error: no engine"]
