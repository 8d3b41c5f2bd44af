"""What is counted during the demo."""

from __future__ import annotations

from interpstack_demo.tally import LeftOut, Tally


def test_what_happened_is_counted() -> None:
    tally = Tally()
    assert [tally.add_call(), tally.add_call()] == [1, 2]
    tally.add_read("four")
    tally.add_turn("first")
    tally.add_turn("")
    tally.add_result("abc")
    tally.add_eval()
    assert (tally.inner_calls, tally.chars_read, tally.chars_seen) == (2, 4, 3)
    assert (tally.model_turns, tally.evals, tally.answer) == (2, 1, "first")


def test_what_is_left_out_is_named_by_examples() -> None:
    assert str(LeftOut("large", 1, ["a"])) == "large: 1 (a)"
    assert str(LeftOut("large", 3, ["a", "b"])) == "large: 3 (a, b, …)"
