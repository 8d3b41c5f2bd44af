"""The first answer to a question counts; another one is refused, whenever it comes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from workflow_runs import MemoryRuns, Prompts, runner, script

from interpstack_workflows.errors import WorkflowError
from interpstack_workflows.stores.records import Message

_REFUSED = "this question was already answered, and the first answer is final"
_BODY = "const a = await ask('A?', {choices: ['yes', 'no']}); return [a, await ask('B?')]"


class _SlowStore(MemoryRuns):
    """A store whose messages take a while, so that answers are sent together."""

    async def send(self, run_id: str, message: Message) -> None:
        await asyncio.sleep(0.01)
        await super().send(run_id, message)


@pytest.mark.parametrize("together", [False, True])
async def test_a_second_answer_that_contradicts_is_refused(together: bool) -> None:
    store = _SlowStore()
    async with runner(Prompts(), store) as one:
        waiting = await one.run(script(_BODY), run_id="run_a")
    ask = waiting.waiting_for[0]["id"]
    async with runner(Prompts(), store) as one, runner(Prompts(), store) as two:
        answers = [one.answer("run_a", ask, "yes"), two.answer("run_a", ask, "no")]
        ends: list[Any] = []
        if together:
            ends = await asyncio.gather(*answers, return_exceptions=True)
        else:
            for each in answers:
                ends += await asyncio.gather(each, return_exceptions=True)
        assert ends[0] is None
        assert isinstance(ends[1], WorkflowError)
        assert _REFUSED in str(ends[1])
        await two.answer("run_a", ask, "yes")  # the same once more
    async with runner(Prompts(), store) as one:
        found = await (await one.resume("run_a")).rest()
        with pytest.raises(WorkflowError, match=_REFUSED):  # also when the run has continued
            await one.answer("run_a", ask, "no")
        await one.answer("run_a", found.waiting_for[0]["id"], "b")
        assert (await (await one.resume("run_a")).rest()).result == ["yes", "b"]


async def test_answers_are_compared_as_json() -> None:
    store = _SlowStore()
    async with runner(Prompts(), store) as one:
        waiting = await one.run(script("return ask('A?', {choices: [1]})"), run_id="run_a")
        ask = waiting.waiting_for[0]["id"]
        with pytest.raises(WorkflowError, match="not one of the choices"):
            await one.answer("run_a", ask, True)
    async with runner(Prompts(), store) as one, runner(Prompts(), store) as two:
        await one.answer("run_a", ask, 1)
        await two.answer("run_a", ask, 1.0)  # the same number once more
        with pytest.raises(WorkflowError, match=_REFUSED):
            await two.answer("run_a", ask, True)


async def test_a_refused_answer_is_never_taken() -> None:
    store = MemoryRuns()
    async with runner(Prompts(), store) as one:
        waiting = await one.run(script("return ask('A?')"), run_id="run_a")
        ask = waiting.waiting_for[0]["id"]
        for value in ("first", "second"):
            await store.send("run_a", Message(kind="answer", id=ask, value=value))
        assert (await (await one.resume("run_a")).rest()).result == "first"
