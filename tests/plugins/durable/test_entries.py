"""Entries of a journal: what is written is read again, and inputs are not kept whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interpstack import Cell, GuestError, Request, Settlement, Step
from interpstack_durable.api import ReplayDivergence
from interpstack_durable.entries import (
    asked_entry,
    compare,
    digest,
    header,
    read_answers,
    read_computed,
    read_step,
    step_entry,
    undelivered_entry,
)

_ASKED = Request(1, "kit.f", {"secret": "x" * 500})
_ANSWERS = (
    Settlement(1, '"text"'),
    Settlement(2, error=GuestError("ToolError", "no"), refused=True),
)


def test_a_step_is_read_as_it_was_written() -> None:
    step = Step(12.5, _ANSWERS, {"requests": 2})
    entry = json.loads(json.dumps(step_entry([_ASKED], step)))
    assert read_step(entry) == step
    assert "drawn" not in step_entry([], Step(1.0))


def test_answers_that_the_guest_does_not_know_are_kept_apart() -> None:
    entry = json.loads(json.dumps(undelivered_entry(None, Step(0.0, _ANSWERS))))
    assert (entry["kept"]["pausing"], entry["kept"]["asked"]) == (False, [])
    assert read_answers(entry["kept"]) == _ANSWERS
    assert undelivered_entry([], Step(0.0))["kept"]["pausing"] is True


def test_the_times_of_the_computing_are_optional() -> None:
    entry = json.loads(json.dumps(step_entry([_ASKED], Step(12.5), (1.25, 2.5))))
    assert read_computed(entry) == (1.25, 2.5)
    kept = json.loads(json.dumps(undelivered_entry([], Step(0.0), (1.25, 2.5))))["kept"]
    assert read_computed(kept) == (1.25, 2.5)
    for without in (
        step_entry([], Step(1.0)),
        undelivered_entry(None, Step(0.0), (1.0, 2.0))["kept"],
    ):
        assert "computed" not in without
        assert read_computed(without) is None
    assert read_computed({"computed": [9.0, 8.0]}) == (9.0, 9.0), "the clock was set back"


@pytest.mark.parametrize("times", [[1.0], [1.0, 2.0, 3.0], 7, [float("nan"), 1.0], [0, "x"]])
def test_times_of_another_form_are_damage(times: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        read_computed({"computed": times})


def test_a_request_is_recorded_without_its_whole_input() -> None:
    number, bridge, digested, start = asked_entry(_ASKED)
    assert (number, bridge, len(digested), len(start)) == (1, "kit.f", 32, 200)
    other = asked_entry(Request(1, "kit.f", {"secret": "x" * 499 + "y"}))
    assert other[2] != digested
    assert other[3] == start


def test_the_first_entry_tells_form_release_and_code() -> None:
    first = header(Cell(source="1 + 1"), 5.0)
    assert (first["began"], first["cell"]) == (5.0, digest("1 + 1"))
    assert set(first) == {"version", "release", "cell", "began"}


ASKED = [Request(1, "kit.f", {"n": 1}), Request(2, "timer", 10)]
RECORDED = [asked_entry(request) for request in ASKED]


def test_the_same_requests_pass() -> None:
    compare(1, RECORDED, ASKED)
    compare(1, [], [])


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ([], 'nothing more, but the recorded run asked for kit.f({"n":1}); nothing was done'),
        ([Request(1, "kit.f", {"n": 2})], 'kit.f({"n":2}), but the recorded run asked for kit.f('),
        ([*ASKED, Request(3, "kit.g", 1)], "kit.g(1), but the recorded run asked for nothing more"),
        ([Request(1, "kit.f", {"n": "é\ud800"})], 'kit.f({"n": "é\ud800"}), but'),
        (
            [Request(1, "kit.f", {"n": {"$": "bigint", "v": "3e8"}, "of": ["x" * 300]})],
            'kit.f({"n": 1000, "of": ["xxxxx',
        ),
        ([Request(1, "kit.f", {"$": "date", "v": 0})], 'kit.f({"$date": "1970-01-01T00:00:00'),
    ],
    ids=["fewer", "another", "more", "text", "cut", "date"],
)
def test_other_requests_diverge(asked: Any, expected: str) -> None:
    with pytest.raises(ReplayDivergence) as caught:
        compare(7, RECORDED, asked)
    assert str(caught.value).startswith(f"at step 7 the code asks for {expected}")


@pytest.mark.parametrize(
    ("recorded", "asked", "expected"),
    [
        (("x" * 300) + "a", ("x" * 300) + "b", "(the inputs differ after their first 200 char"),
        ({"n": 1}, {"n": 1}, "(as request 1, and now as request 2)"),
    ],
    ids=["input", "number"],
)
def test_requests_that_look_the_same_are_distinguished(
    recorded: Any, asked: Any, expected: str
) -> None:
    number = 1 if isinstance(recorded, str) else 2
    before = [asked_entry(Request(1, "kit.f", recorded))]
    with pytest.raises(ReplayDivergence) as caught:
        compare(7, before, [Request(number, "kit.f", asked)])
    assert expected in str(caught.value)


def test_a_record_whose_digest_does_not_fit_its_input_is_called_damaged() -> None:
    (number, bridge, _, text) = asked_entry(Request(1, "kit.f", 5))
    with pytest.raises(ReplayDivergence, match="its record is damaged"):
        compare(7, [[number, bridge, "0" * 32, text]], [Request(1, "kit.f", 5)])
