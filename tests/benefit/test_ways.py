"""What the oracle sends: cells that pass fields on, and turns that end where a model must read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest
from benefit_tasks import Call, Task, ToolForm, Turn
from benefit_ways import WAYS, Origin, Step, origins, programs, traced

_TEXT = {"type": "object", "properties": {"city": {"type": "string"}}}
_FORMS = [ToolForm(name, "Does it.", _TEXT) for name in ("zip_code", "note", "send")]


@attrs.define
class _Town:
    """Zip codes by city, a note in prose, and what was sent."""

    sent: list[Mapping[str, Any]] = attrs.field(factory=list)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        if tool == "zip_code":
            return {"found": [{"zip code": f"Z-{arguments['city']}"}]}
        if tool == "note":
            return "Pay 98.70 to Mills."
        self.sent.append(arguments)
        return None

    def state(self) -> Any:
        return self.sent


def _task(question: str, *calls: tuple[str, dict[str, Any]]) -> Task:
    made = [Call(name, arguments) for name, arguments in calls]
    return Task("a task", _FORMS, [Turn(question, made, "Done.")], _Town)


def _steps(way: str, task: Task, **options: Any) -> list[Step]:
    return list(programs(WAYS[way], traced(task)[0], **options))


def _codes(way: str, task: Task, **options: Any) -> list[str]:
    steps = _steps(way, task, **options)
    return [call["args"]["code"] for step in steps for call in step.message.tool_calls]


_ONE = _task("Where is Oslo?", ("zip_code", {"city": "Oslo"}))
_TWO = _task("Oslo and Lima", ("zip_code", {"city": "Oslo"}), ("zip_code", {"city": "Lima"}))
_FIELD = _task("Oslo", ("zip_code", {"city": "Oslo"}), ("send", {"city": "Z-Oslo"}))
_PROSE = _task("Pay it", ("note", {}), ("send", {"city": 98.7}))
_WRITTEN = _task("Sum it up", ("note", {}), ("send", {"city": "Mills gets some money."}))


@pytest.mark.parametrize(
    ("question", "value", "origin"),
    [
        ("Send Oslo there", "Oslo", Origin.KNOWN),
        ("Send it", True, Origin.KNOWN),
        ("Send it", 3, Origin.KNOWN),
        ("Send 1,234.5 of it", 1234.5, Origin.KNOWN),
        ("Send it on May 15th", "2024-05-15", Origin.KNOWN),
        ("Send it on Dec 5, at noon", "2026-12-05 12:00", Origin.KNOWN),
        ("Send it in May", "2024-05-15", Origin.WRITTEN),
        ("Send 15 of 1500", 150, Origin.WRITTEN),
        ("Send it", "Mills", Origin.TEXT),
        ("Send it", 98.7, Origin.TEXT),
        ("Send it", "Pay 98.70 to Mills.", Origin.FIELD),
        ("Send it", "Mills is paid", Origin.WRITTEN),
    ],
)
def test_where_a_value_comes_from(question: str, value: Any, origin: Origin) -> None:
    _, call = traced(_task(question, ("note", {}), ("send", {"city": value})))[0]
    assert origins([call]) == {origin}


def test_the_words_of_earlier_questions_are_known() -> None:
    turns = [
        Turn("Look at Oslo", [Call("note", {})], "Done."),
        Turn("Send the city", [Call("send", {"city": "Oslo"})], "Done."),
    ]
    _, (call,) = traced(Task("a task", _FORMS, turns, _Town))
    assert origins([call]) == {Origin.KNOWN}


@pytest.mark.parametrize(
    ("way", "task", "turns"),
    [
        ("calls", _TWO, 2),
        ("calls_reading", _TWO, 1),
        ("calls_reading", _FIELD, 2),
        ("calls_reading", _PROSE, 2),
        ("calls_reading", _WRITTEN, 2),
        ("calls_together", _WRITTEN, 1),
        ("code_reading", _TWO, 1),
        ("code_reading", _FIELD, 1),
        ("code_reading", _PROSE, 2),
        ("code_reading", _WRITTEN, 2),
        ("code", _WRITTEN, 1),
    ],
)
def test_a_model_turn_ends_where_the_model_must_read(way: str, task: Task, turns: int) -> None:
    assert len(_steps(way, task)) == turns


def test_a_question_without_calls_needs_no_step() -> None:
    assert [_steps(way, _task("Thanks!")) for way in WAYS] == [[] for _ in WAYS]


def test_a_cell_with_one_call_is_that_call() -> None:
    assert _codes("code", _ONE) == ['await tools.zipCode({city: "Oslo"})']


def test_a_cell_returns_the_results_of_all_its_calls() -> None:
    cell = '[\nawait tools.zipCode({city: "Oslo"}),\nawait tools.zipCode({city: "Lima"})\n]'
    assert _codes("code", _TWO) == [cell]


def test_a_cell_passes_fields_on() -> None:
    lines = [
        'const r0 = await tools.zipCode({city: "Oslo"});',
        'const r1 = await tools.send({city: r0.found[0]["zip code"]});',
    ]
    assert _codes("code", _FIELD) == ["\n".join([*lines, "[r0, r1]"])]
    assert _codes("code_less", _FIELD) == ["\n".join([*lines, "[r1]"])]


def test_a_single_call_may_be_made_without_code() -> None:
    (step,) = _steps("code_mixed", _ONE)
    assert [call["name"] for call in step.message.tool_calls] == ["zip_code"]
    (step,) = _steps("code_mixed", _TWO)
    assert [call["name"] for call in step.message.tool_calls] == ["eval"]


def test_unseen_signatures_are_asked_for_first() -> None:
    asked, made = _codes("code_only", _ONE, unseen=["zip_code"])
    assert asked == 'await Promise.all(["zipCode"].map(name => tools.$describe(name)))'
    assert made == _codes("code", _ONE)[0]
