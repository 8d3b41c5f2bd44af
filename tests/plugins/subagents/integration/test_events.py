"""What is told on the graph's custom stream."""

from __future__ import annotations

from typing import Any

import pytest

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])


@pytest.mark.engines("javascript")
@both
async def test_start_and_complete(crews: Any, use_async: bool) -> None:
    crew = crews()
    description = "find  the\nanswer " + "x" * 300
    await crew.run(
        f'await task({{description: {description!r}, subagentType: "kid", label: " the  label "}})',
        use_async,
    )
    start, complete = crew.events
    assert start == {
        "type": "subagent",
        "phase": "start",
        "id": start["id"],
        "eval_id": "eval-1",
        "subagent_type": "kid",
        "label": "the label",
        "description": description[:200],
    }
    assert isinstance(complete.pop("duration_ms"), int)
    assert complete == {
        "type": "subagent",
        "phase": "complete",
        "id": start["id"],
        "eval_id": "eval-1",
    }


@pytest.mark.engines("javascript")
async def test_an_error_is_reported_in_short(crews: Any) -> None:
    def reply(messages: list[Any], names: list[str]) -> str:
        raise RuntimeError("stumbled" + "!" * 5000)

    crew = crews(crews.kid(reply))
    await crew.run('await task({description: "x", subagentType: "kid"})')
    start, error = crew.events
    assert error.pop("duration_ms") >= 0
    assert error.pop("error").startswith("stumbled!")
    assert error == {"type": "subagent", "phase": "error", "id": start["id"], "eval_id": "eval-1"}


async def test_a_missing_label_is_made_of_the_description(crews: Any) -> None:
    crew = crews()
    await crew.run(f'await task({{description: "a\\n b {"c" * 90}", subagentType: "kid"}})')
    assert crew.events[0]["label"] == "a b " + "c" * 56


async def test_each_dispatch_has_an_id_of_its_own(crews: Any) -> None:
    crew = crews()
    ask = 'task({description: "same", subagentType: "kid"})'
    await crew.run(f"await Promise.all([{ask}, {ask}]); await {ask}")
    ids = [event["id"] for event in crew.events]
    assert len(ids) == 6
    assert len(set(ids)) == 3
    assert all(ids.count(one) == 2 for one in ids)


async def test_refused_input_starts_nothing(crews: Any) -> None:
    crew = crews()
    answer = await crew.run('await task({description: "x"})')
    assert answer.startswith('<error type="TypeError">task()')
    assert crew.events == []
