"""Rehearsals: what a script would do, without doing it."""

from __future__ import annotations

from typing import Any

import pytest
from workflow_runs import MemoryRuns, Prompts, runner, script

from interpstack_workflows.api import ArgumentsError, Rehearsal
from interpstack_workflows.runs.reading import rehearsal

_KIDS = {
    "kid": script("return agent('inside', {agentType: args})", "kid"),
    "broken": script("return args.no.such", "broken"),
    "again": script("return workflow('again')", "again"),
}


async def rehearsed(body: str, **options: Any) -> Rehearsal:
    agent, store, ran = Prompts(), MemoryRuns(), list[str]()

    async def sandbox(spec: Any) -> Any:
        ran.append(spec.command)
        return {"exitCode": 0, "stdout": "", "stderr": ""}

    sandboxes = {"local/x": sandbox}
    async with runner(agent, store, workflows=_KIDS, sandboxes=sandboxes) as one:
        found = await one.rehearse(script(body), **options)
        assert (agent.called, ran, await one.runs()) == ([], [], []), "nothing is done"
        return found


def whats(found: Rehearsal) -> list[str]:
    return [f"{step.kind} {step.agent or ''} {step.what}" for step in found.steps]


async def test_a_rehearsal_lists_every_step_and_phase() -> None:
    found = await rehearsed(
        "phase('One'); const a = await agent('a'); await sleep(1000);"
        "const s = await ctx.extra.ask('q?', {choices: ['no', 'yes']});"
        "phase('Two'); const w = await ctx.extra.wait('go', {default: 3, timeoutMs: 5});"
        "await exec('local/x', {command: 'make'}); const c = await ctx.extra.checkpoint('c', 5);"
        "const k = await workflow('kid', 'default'); return [a, s, w, c, k].map((x) => typeof x)"
    )
    assert found.ends, found
    assert (found.error, found.faults, found.stopped) == (None, (), "")
    assert found.phases == ("One", "Two")
    assert whats(found) == [
        "agent default a",
        "sleep  1000",
        "ask  q?",
        "wait  go",
        "exec  local/x",
        "checkpoint  c",
        "workflow  kid",
        "agent default inside",
    ]
    assert [step.phase for step in found.steps if step.agent] == ["One", None]
    assert found.steps[-1].workflow == "kid"


async def test_answers_stand_in_for_their_schema() -> None:
    schema = "{type: 'object', properties: {files: {type: 'array', items: {type: 'string'}}}}"
    found = await rehearsed(
        f"const r = await agent('list', {{schema: {schema}}});"
        "return pipeline(r.files, (f) => agent(`read ${f}`))"
    )
    assert whats(found) == ["agent default list", "agent default read stand-in for an answer"]


async def test_every_wrong_name_is_reported_with_its_place() -> None:
    found = await rehearsed(
        "await parallel([() => agent('a', {agentType: 'defalt'}), () => agent('b', {labl: 'x'}),"
        "\n  () => workflow('kit'), () => exec('local/y', {command: 'x'}),"
        " () => agent('c', {schema: {type: 3}})])"
    )
    places = [(fault.line, fault.column, fault.message[:45]) for fault in found.faults]
    assert places == [
        (4, 84, "Unknown agent: defalt; did you mean 'default'"),
        (4, 114, "agent has no option 'labl'; it has agentType,"),
        (5, 18, "Unknown workflow: kit; did you mean 'kid'? Kn"),
        (0, 0, "Unknown sandbox profile 'local/y'; known: loc"),
        (0, 0, "agent option schema is not a JSON Schema: 3 i"),
    ]


async def test_an_error_of_the_script_has_its_place() -> None:
    found = await rehearsed("const r = await agent('a');\n  throw new TypeError(r)")
    assert found.error is not None
    assert found.error.message.startswith("TypeError: ")
    assert (found.error.line, found.error.column) == (5, 13)
    assert not found.ends
    kid = await rehearsed("return parallel([() => workflow('broken', 1)])")
    assert "the workflow broken failed: TypeError" in kid.faults[0].message
    cycle = await rehearsed("return workflow('again')")
    assert "may not form a cycle" in cycle.faults[0].message


@pytest.mark.parametrize(
    ("body", "stopped"),
    [
        ("for (;;) await agent('x')", "after 500 steps"),
        ("for (let i = 0; ; i++) phase('p' + i), await sleep(1)", "after 500 steps"),
        ("await parallel(Array.from({length: 60}, () => () => workflow('kid', 'x')))", "50 work"),
    ],
)
async def test_loops_are_stopped(body: str, stopped: str) -> None:
    found = await rehearsed(body)
    assert stopped in found.stopped
    assert len(found.steps) <= 500
    assert not found.ends


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("for (;;);", "Timeout"),
        ("await new Promise(() => {})", "Stalled"),
        ("const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)", ""),
        ("throw new Error('\\u0007\\n' + 'x'.repeat(1e5))", "Error"),
    ],
)
async def test_hostile_scripts_end_in_an_error(
    body: str, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # on a busy machine the time of the rehearsal could be over before that of its script
    monkeypatch.setattr(rehearsal, "_SECONDS", 200.0)
    found = await rehearsed(body)
    assert found.error is not None
    assert error in found.error.message
    assert len(found.error.message) <= 500


async def test_loops_over_a_budget_end() -> None:
    body = "let n = 0; while (budget.remaining() > 0) { await agent('x'); n++ } return n"
    assert len((await rehearsed(body, budget=5000)).steps) == 5


async def test_arguments_are_checked_or_stood_in_for() -> None:
    takes = (
        "export const meta = { name: 'w', description: 'd', argsSchema: { type: 'array' } };\n"
        "export default (files) => parallel(files.map((f) => () => agent('x')));"
    )
    async with runner(Prompts()) as one:
        assert len((await one.rehearse(takes)).steps) == 1
        assert len((await one.rehearse(takes, [1, 2])).steps) == 2
        with pytest.raises(ArgumentsError, match="do not match"):
            await one.rehearse(takes, 3)
