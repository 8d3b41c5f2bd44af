"""A changed script is compared before anything is spent."""

from __future__ import annotations

import pytest
from workflow_runs import MemoryRuns, Prompts, runner, script

from interpstack_workflows.errors import ScriptChanged
from interpstack_workflows.runs.dry_run import ScriptDifference, StepPreview

_KID = {"kid": script("return [args, await agent('inside')]", "kid")}
_BODY = "const a = await agent('a'); const k = await workflow('kid', 1); await agent('fail'); "


def _what(steps: object) -> list[str]:
    assert isinstance(steps, tuple)
    return [f"{step.kind} {step.what}" for step in steps if isinstance(step, StepPreview)]


async def _compared(body: str) -> tuple[ScriptDifference, list[str]]:
    agent, store = Prompts(), MemoryRuns()
    one = runner(agent, store, workflows=_KID)
    failed = await one.run(script(_BODY))
    assert failed.status == "failed"
    called = list(agent.called)
    found = await one.diff(failed.run_id, script(body))
    assert agent.called == called, "a comparison calls no agent"
    await one.aclose()
    return found, called


async def test_the_same_script_uses_every_record() -> None:
    found, _ = await _compared(_BODY)
    assert _what(found.answered) == ["agent a", "workflow kid", "agent fail"]
    assert (found.anew, found.unused) == ((), ())
    assert found.error.startswith("ValueError: ")
    assert not found.ends


async def test_an_edit_behind_the_records_runs_anew() -> None:
    found, _ = await _compared(_BODY.replace("await agent('fail')", "return agent('b')"))
    assert _what(found.answered) == ["agent a", "workflow kid"]
    assert _what(found.anew) == ["agent b"]
    assert _what(found.unused) == ["agent fail"]
    assert not found.same


async def test_a_script_may_end_with_what_is_recorded() -> None:
    found, _ = await _compared("await parallel([() => agent('fail'), () => agent('a')]); return 1")
    assert found.ends
    assert _what(found.unused) == ["workflow kid", "agent inside"]


async def test_a_child_that_is_not_recorded_is_compared_inside() -> None:
    found, _ = await _compared("return workflow('kid', 2)")
    assert _what(found.anew) == ["agent inside", "workflow kid"]


async def test_a_script_that_cannot_run_says_why() -> None:
    found, _ = await _compared("return nothing")
    assert found.error.startswith("ReferenceError: ")
    assert not found.same


async def test_steps_behind_a_new_one_may_be_reached_again() -> None:
    agent, store = Prompts(), MemoryRuns()
    async with runner(agent, store) as one:
        run = await one.run(script("return [await agent('a'), await ask('?')]"))
        changed = script("return [await agent('new'), await agent('a'), await ask('?')]")
        words = "leaves 1 recorded steps unused, unless it reaches them after a new one"
        with pytest.raises(ScriptChanged, match=words):
            await one.resume(run.run_id, source=changed)
        agent.called.clear()
        handle = await one.resume(run.run_id, source=changed, accept_changes=True)
        assert (await handle.rest()).status == "waiting"
    assert agent.called == ["new"]


async def test_a_changed_script_is_refused_until_it_is_accepted() -> None:
    agent, store = Prompts(), MemoryRuns()
    one = runner(agent, store, workflows=_KID)
    failed = await one.run(script(_BODY))
    changed = script("const a = await agent('a'); return [a, await agent('new')]")
    words = r"unused, unless it reaches them after a new one \(agent 'new'\): workflow 'kid'"
    with pytest.raises(ScriptChanged, match=words):
        await one.resume(failed.run_id, source=changed)
    agent.called.clear()
    handle = await one.resume(failed.run_id, source=changed, accept_changes=True)
    assert (await handle.result()).result == ["echo: a", "echo: new"]
    assert agent.called == ["new"]
    await one.aclose()


async def test_a_change_that_keeps_every_record_needs_no_consent() -> None:
    agent, store = Prompts(), MemoryRuns()
    one = runner(agent, store)
    asked = await one.run(script("const a = await agent('a'); await ask('go?')"))
    assert asked.status == "waiting"
    changed = script("const a = await agent('a'); return [a, await agent('b')]")
    handle = await one.resume(asked.run_id, source=changed)
    assert (await handle.result()).result == ["echo: a", "echo: b"]
    assert agent.called == ["a", "b"]
    await one.aclose()
