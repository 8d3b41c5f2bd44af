"""The timeline of a journal: calls, pauses and decisions, as a person reads them."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.types import Interrupt

from interpstack import Cell, GuestError, Request, Settlement, Step
from interpstack_durable.api import UnreadableJournal
from interpstack_durable.entries import header, step_entry, undelivered_entry
from interpstack_inspect.api import Computing, PauseEvent
from interpstack_langchain.replay.timeline import (
    RecordedCall,
    Timeline,
    offered_in,
    read_timeline,
)

BEGAN = 1000.0
FIRST = header(Cell(source="1"), BEGAN)


def asked(number: int, to: str = "Ann", bridge: str = "tools.pay") -> Request:
    return Request(id=number, bridge=bridge, wire=[{"to": to}])


def step(after: float, requests: Any = (), answers: Any = ()) -> dict[str, Any]:
    """A step so many seconds after the begin."""
    return step_entry(list(requests), Step(BEGAN + after, tuple(answers)))


def calls(timeline: Timeline) -> list[RecordedCall]:
    return [event for event in timeline.events if isinstance(event, RecordedCall)]


def pause(number: int, **about: Any) -> dict[str, Any]:
    noted = {"questions": {}, "others": [], **about}
    return {"notes": {"pauses": number, f"pause {number}": noted}}


def approval(to: str) -> dict[str, Any]:
    action = {"name": "pay", "args": {"to": to}}
    return {"payload": {"action_requests": [action]}}


def test_without_a_record_there_is_nothing_to_read() -> None:
    assert read_timeline([]) == Timeline(began=None, steps=0, events=())


def test_calls_have_the_times_and_steps_of_their_requests_and_answers() -> None:
    found = read_timeline([
        FIRST,
        step(1.5, [asked(1), asked(2, "Bo")], [Settlement(2, '"late"')]),
        step(4.0, [], [Settlement(1, '"done"')]),
    ])  # fmt: skip
    first, second = calls(found)
    assert (found.began, found.steps, found.paused, found.kept) == (BEGAN, 2, None, [])
    assert (first.asked, first.step, first.answered, first.answer) == (0.0, 2, 4.0, '"done"')
    assert (second.asked, second.step, second.answered) == (0.0, 1, 1.5)
    assert (second.bridge, second.input) == ("tools.pay", '[{"to":"Bo"}]')


def test_values_that_json_lacks_are_shown_as_a_person_reads_them() -> None:
    large = {"$": "bigint", "v": "3e8"}
    answer = '{"at":{"$":"date","v":0},"owes":{"$":"bigint","v":"3e8"}}'
    found = read_timeline([FIRST, step(1.0, [asked(1, large)], [Settlement(1, answer)])])
    (call,) = calls(found)
    assert call.input == '[{"to": 1000}]'
    assert call.answer == '{"at": {"$date": "1970-01-01T00:00:00+00:00"}, "owes": 1000}'


def test_a_call_is_asked_for_after_the_step_before_it() -> None:
    found = read_timeline([FIRST, step(2.0), step(3.0, [asked(1)], [Settlement(1, "1")])])
    assert calls(found)[0].asked == 2.0


def test_computing_is_apart_from_the_calls_that_it_made() -> None:
    times = [(BEGAN + 0.25, BEGAN + 1.0), (BEGAN + 7.0, BEGAN + 8.0)]
    later = step_entry([asked(2)], Step(BEGAN + 9.0, (Settlement(2, "2"),)), times[1])
    kept = undelivered_entry([asked(1)], Step(BEGAN, (Settlement(1, "1"),)), times[0])
    repeated = step_entry([asked(1)], Step(BEGAN + 2.0, (Settlement(1, "1"),)), times[0])
    found = read_timeline([FIRST, kept, repeated, later])
    assert found.computing == [
        Computing(began=0.25, ended=1.0),
        Computing(began=7.0, ended=8.0),
    ]
    assert [(call.asked, call.answered) for call in calls(found)] == [(1.0, 2.0), (8.0, 9.0)]
    early = step_entry([asked(1)], Step(BEGAN), (BEGAN - 5.0, BEGAN - 4.0))
    assert read_timeline([FIRST, early]).computing == [Computing(began=0.0, ended=0.0)]


def test_a_failed_call_shows_its_error() -> None:
    error = GuestError("ToolError", "no money")
    found = read_timeline([FIRST, step(1.0, [asked(1)], [Settlement(1, "", error)])])
    (call,) = calls(found)
    assert (call.failed, call.answer) == (True, "ToolError: no money")


def test_a_call_without_an_answer_is_open() -> None:
    (call,) = calls(read_timeline([FIRST, step(1.0, [asked(1)])]))
    assert (call.step, call.answered, call.answer, call.kept) == (None, None, "", False)


def test_an_answer_that_the_guest_has_not_received_is_kept() -> None:
    ended = Step(BEGAN, (Settlement(1, '"done"'),))
    entries = [FIRST, undelivered_entry([asked(1)], ended)]
    found = read_timeline(entries)
    (call,) = found.kept
    assert (call.answer, call.kept, call.answered) == ('"done"', True, None)
    delivered = read_timeline([*entries, step(2.0, [asked(1)], ended.settlements)])
    assert len(calls(delivered)) == 1, "the step repeats the request"
    assert (delivered.kept, calls(delivered)[0].answered) == ([], 2.0)


def test_a_pause_says_what_it_waits_for_until_it_is_answered() -> None:
    others = [Interrupt({"when": "?"}, id="i")]
    open_ = [FIRST, step(1.0), pause(1, questions={"1": approval("Ann")}, others=others)]
    waits = ['approval of pay({"to": "Ann"})', 'an answer to {"when": "?"}']
    paused = PauseEvent(number=1, at=1.0, waits_for=waits, resumed=False)
    assert read_timeline(open_).paused == paused
    resumed = read_timeline([*open_, {"notes": {"resumed 1": True, "given": {"i": 1}}}])
    assert resumed.paused is None
    assert resumed.events[-1] == PauseEvent(number=1, at=1.0, waits_for=waits, resumed=True)


def test_an_answer_that_came_early_is_not_waited_for() -> None:
    others = [Interrupt("when?", id="i"), Interrupt("where?", id="j")]
    found = read_timeline([FIRST, pause(1, others=others), {"notes": {"given": {"i": "now"}}}])
    assert found.paused is not None
    assert found.paused.waits_for == ['an answer to "where?"']


def test_only_the_last_pause_can_be_open() -> None:
    first = [FIRST, pause(1), {"notes": {"resumed 1": True}}]
    found = read_timeline([*first, pause(2)])
    pauses = [event for event in found.events if isinstance(event, PauseEvent)]
    assert [pause.resumed for pause in pauses] == [True, False]
    assert found.paused is not None
    assert found.paused.number == 2


DECISIONS = [
    ({"type": "approve", "message": None}, "approve"),
    ({"type": "reject", "message": "too much"}, "reject: too much"),
    ({"type": "respond", "message": "paid"}, "respond: paid"),
    ({"type": "edit", "name": "pay", "args": {"to": "Bö"}}, 'edit: pay({"to": "Bö"})'),
]


@pytest.mark.parametrize(("decision", "shown"), DECISIONS)
def test_a_call_shows_the_decision_on_it(decision: Any, shown: str) -> None:
    notes = {"notes": {"decision 1": decision}}
    (call,) = calls(read_timeline([FIRST, step(1.0, [asked(1)]), notes]))
    assert call.decisions == [shown]


def test_answers_of_people_to_a_call_are_shown_in_order() -> None:
    notes = {"notes": {"answers 1": ["Monday", {"at": {1}}]}}
    (call,) = calls(read_timeline([FIRST, step(1.0, [asked(1)]), notes]))
    assert call.decisions == ['answered: "Monday"', 'answered: {"at": "{1}"}']


def test_the_offer_says_which_names_were_listed() -> None:
    about = {"offered": ["tools.pay", "old"], "unlisted": ["old"], "positional": ["old"]}
    found = read_timeline([{**FIRST, **about, "language": "python"}])
    assert found.language == "python"
    assert found.offered == {
        "tools.pay": {"listed": True, "positional": False, "yields": False},
        "old": {"listed": False, "positional": True, "yields": False},
    }
    assert offered_in({}) == {}


@pytest.mark.parametrize(
    "damage",
    [
        {"notes": {"decision 1": 7}},
        {"notes": {"pauses": "x", "pause x": {}}},
        {"notes": [1]},
        {"settled": [[1]]},
        {"computed": ["early", "late"]},
    ],
)
def test_damage_is_reported(damage: dict[str, Any]) -> None:
    with pytest.raises(UnreadableJournal, match="is damaged"):
        read_timeline([FIRST, {**step(1.5, [asked(1)]), **damage}])
