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


async def test_an_answer_does_not_count_for_another_question_of_the_same_key() -> None:
    store = MemoryRuns()
    async with runner(Prompts(), store) as one:
        waiting = await one.run(
            script("return ask('Ship it?', {key: 'k', choices: ['yes', 'no']})"), run_id="run_a"
        )
    (first,) = waiting.waiting_for
    async with runner(Prompts(), store) as one:
        await one.answer("run_a", first["id"], "yes")
    changed = script("return ask('Delete what?', {key: 'k', choices: ['a', 'b']})")
    async with runner(Prompts(), store) as one:
        handle = await one.resume("run_a", source=changed)
        (second,) = (await handle.rest()).waiting_for
        assert (second["question"], second["options"]["choices"]) == ("Delete what?", ["a", "b"])
        assert second["id"] != first["id"]
        async with runner(Prompts(), store) as two:
            assert [one["id"] for one in await two.questions("run_a")] == [second["id"]]
            with pytest.raises(WorkflowError, match="not one of the choices"):
                await two.answer("run_a", second["id"], "yes")
            await two.answer("run_a", second["id"], "b")
    async with runner(Prompts(), store) as one:
        assert (await (await one.resume("run_a")).rest()).result == "b"


async def test_an_answer_counts_for_a_question_of_which_only_the_time_has_changed() -> None:
    store = MemoryRuns()
    async with runner(Prompts(), store) as one:
        waiting = await one.run(script("return ask('A?', {key: 'k'})"), run_id="run_a")
        await one.answer("run_a", waiting.waiting_for[0]["id"], "yes")
    async with runner(Prompts(), store) as one:
        changed = script("return ask('A?', {key: 'k', timeoutMs: 100000})")
        assert (await (await one.resume("run_a", source=changed)).rest()).result == "yes"


@pytest.mark.parametrize("verb", ["ask", "wait"])
async def test_a_wait_that_timed_out_gets_its_whole_time_again(verb: str) -> None:
    store = MemoryRuns()
    async with runner(Prompts(), store) as one:
        body = f"return {verb}('A?', {{timeoutMs: 3000}})"
        failed = await (await one.start(script(body), run_id="run_a")).result()
        assert failed.error is not None
        assert failed.error["name"] == "WaitTimeout"
        handle = await one.resume("run_a", retry_failed=True)
        (wait,) = (await handle.rest()).waiting_for
        if verb == "ask":
            await one.answer("run_a", wait["id"], "yes")
        else:
            await one.signal("run_a", "A?", "yes")
        assert (await handle.result()).result == "yes"
