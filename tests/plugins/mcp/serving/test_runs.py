"""Cells that a client has started."""

from __future__ import annotations

import asyncio

import pytest

from interpstack import ConfigurationError, GuestException, Outcome
from interpstack_mcp.serving.runs import ServedCell


async def test_a_question_waits_for_its_answer() -> None:
    run = ServedCell(lambda names: True)
    asking = asyncio.ensure_future(run.approve("pay", "{}"))
    await run.news(10)
    (question,) = run.questions
    question.settle("no")
    question.settle(True)
    assert run.questions == []
    with pytest.raises(GuestException, match="pay was not called: no"):
        await asking


async def test_output_is_passed_on_once_and_bounded() -> None:
    run = ServedCell(lambda names: False)
    for number in range(1001):
        run.hear(f"{number},")
    assert run.printed().startswith("1,2,")
    assert run.printed() == ""
    await run.news(0)


async def test_the_end_of_a_cell() -> None:
    async def cell(error: Exception | None) -> Outcome:
        if error is not None:
            raise error
        return Outcome(text="1")

    run = ServedCell(lambda names: False)
    assert run.outcome() is None
    run.start(cell(None))
    await run.news(10)
    assert run.done
    assert run.outcome() == Outcome(text="1")
    failed = ServedCell(lambda names: False)
    failed.start(cell(ConfigurationError("wrong")))
    await failed.news(10)
    with pytest.raises(ConfigurationError, match="wrong"):
        failed.outcome()
    stopped = ServedCell(lambda names: False)
    stopped.start(cell(None))
    await stopped.stop()
    assert stopped.done


async def test_a_question_can_be_sent_whatever_its_arguments() -> None:
    run = ServedCell(lambda names: True)
    asking = asyncio.ensure_future(run.approve("pay", '{"to": "\ud800"}'))
    await run.news(10)
    (question,) = run.questions
    assert (
        question.text.encode() == rb'Code wants to call pay with {"to": "\ud800"}. Allow this call?'
    )
    question.settle(True)
    await asking
