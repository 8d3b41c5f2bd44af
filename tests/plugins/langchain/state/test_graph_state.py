"""How updates of the private channels are folded."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import ToolMessage

from interpstack_langchain.state.graph_state import (
    drawn_of,
    mark_of,
    more,
    more_calls,
    new_turn,
    newer,
    saved_in,
    turn_of,
    with_writes,
)


def _record(sequence: int) -> dict[str, Any]:
    return {"sequence": sequence, "previous": b"", "id": f"r{sequence}"}


def test_the_mark_with_the_higher_number_holds() -> None:
    assert newer("a:2", "b:1") == "a:2"
    assert newer("a:2", "b:2") == "b:2"
    assert newer("", "b:0") == "b:0"
    assert newer("odd", "b:0") == "b:0"


def test_what_is_drawn_only_grows_within_a_turn() -> None:
    first = {"turn": "a", "drawn": {"requests": 2, "tokens": 5}}
    second = {"turn": "a", "drawn": {"requests": 3}}
    assert more(first, second)["drawn"] == {"requests": 3, "tokens": 5}
    other = {"turn": "b", "drawn": {}}
    assert more(first, other) == other
    assert more({}, first) == first


def test_a_turn_has_a_mark_of_its_own_and_the_number_before() -> None:
    first = new_turn({})
    assert set(first) == {"interpreter_turn"}
    again = new_turn({"interpreter_turn": "old:7", "interpreter_record": [_record(7)]})
    assert again["interpreter_turn"].endswith(":7")
    assert again["interpreter_record"] == []
    assert turn_of(again) != turn_of(first)
    assert mark_of("turn", _record(8)) == "turn:8"


def test_amounts_of_an_earlier_turn_do_not_count() -> None:
    state = {"interpreter_turn": "a:1", "interpreter_drawn": {"turn": "a", "drawn": {"tokens": 5}}}
    assert drawn_of(state) == {"tokens": 5}
    assert drawn_of({**state, "interpreter_turn": "b:1"}) == {}


def test_writes_of_the_same_step_are_seen_before_the_graph_shows_them() -> None:
    writes = [
        ("interpreter_record", [_record(1)]),
        ("interpreter_turn", "a:1"),
        ("messages", [ToolMessage("x", tool_call_id="c", id="m")]),
        ("messages", ToolMessage("x", tool_call_id="c", id="m")),
    ]
    state, answered = with_writes({"interpreter_turn": "a:0"}, writes)
    saved = saved_in(state, foreign=False)
    assert (saved.newest, saved.turn, list(saved.records)) == (1, "a", [_record(1)])
    assert answered == ["c"], "the same message, written twice"


def test_calls_that_wait_to_be_counted_only_grow_until_they_are_counted() -> None:
    first = more_calls({}, {"a": {"look": 2}})
    both = more_calls(first, {"a": {"look": 1}, "b": {"look": 3}})
    assert both == {"a": {"look": 2}, "b": {"look": 3}}
    assert first == {"a": {"look": 2}}
    assert more_calls(both, None) == {}
    state, _ = with_writes({"interpreter_calls": first}, [("interpreter_calls", {"b": {"x": 1}})])
    assert state["interpreter_calls"] == {"a": {"look": 2}, "b": {"x": 1}}
