from __future__ import annotations

import json

import pytest

from interpstack import Cell, CellContext, ConfigurationError, GuestError, Outcome, Usage


def _context() -> CellContext:
    return CellContext("key", Cell(source="1"))


def test_a_request_sees_its_ids_and_writes_to_the_same_cell() -> None:
    context = _context()
    one, two = context.for_request(1, "k:1"), context.for_request(2, "k:2")
    one.write_console("first")
    two.write_console("second", omitted_chars=3)
    two.attach("file")
    assert (one.request_id, one.call_key, two.call_key) == (1, "k:1", "k:2")
    outcome = context.outcome(100, text="1")
    assert (outcome.console, outcome.console_omitted_chars) == ("first\nsecond", 3)
    assert (outcome.attachments, outcome.text) == (("file",), "1")


def test_console_is_cut_and_what_was_cut_is_counted() -> None:
    context = _context()
    context.write_console("0123456789", omitted_chars=5)
    context.write_console("", omitted_chars=2)
    outcome = context.outcome(4)
    assert (outcome.console, outcome.console_omitted_chars) == ("0123", 13)


def test_to_dict_is_plain_json() -> None:
    outcome = Outcome(
        error=GuestError("E", "m", data={"tool": "a"}),
        console="c",
        attachments=(object(), b"x"),
        usage=Usage(requests=2),
        notices=("n",),
    )
    data = json.loads(json.dumps(outcome.to_dict()))
    assert data["ok"] is False
    assert data["error"] == {
        "name": "E",
        "message": "m",
        "stack": "",
        "data": {"tool": "a"},
        "place": None,
    }
    assert data["attachments"] == ["object", "bytes"]
    assert (data["usage"]["requests"], data["notices"], data["console"]) == (2, ["n"], "c")
    assert Outcome(text="1").to_dict()["ok"] is True


def test_the_console_takes_text_only() -> None:
    context = CellContext("s", Cell(source="1"))
    with pytest.raises(ConfigurationError, match="takes a string; got 5"):
        context.write_console(5)  # type: ignore[arg-type]
    assert context.console == ()
