"""Each row of the page that compares both homes of scripts for Claude Code."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from claude_code_scripts import Team, bare
from git_repositories import left_of, repository
from workflow_runs import MemoryRuns, runner

from interpstack_workflows.api import (
    AgentAnswer,
    AgentCall,
    AgentFailed,
    AgentPaused,
    MetadataError,
    Scheduler,
    WorkflowResult,
    WorkflowUsage,
)
from interpstack_workflows.events.events import WorkflowEvent

__all__ = ["repository"]


@pytest.fixture(params=["quickjs", "v8", "node"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def ended(body: str, team: Any = None, args: Any = None, **given: Any) -> WorkflowResult:
    """The end of a run of a script with this body."""
    names = ("budget", "seed")
    options = {name: given.pop(name) for name in names if name in given}
    async with runner(team or Team(), **given) as made:
        return await made.run(bare(body), args, **options)


async def result(body: str, team: Any = None, args: Any = None, **given: Any) -> Any:
    found = await ended(body, team, args, **given)
    assert (found.status, found.error) == ("completed", None)
    return found.result


async def error(body: str, team: Any = None, **given: Any) -> tuple[str, str]:
    found = await ended(body, team, **given)
    assert found.status == "failed", found.result
    assert found.error is not None
    return found.error["name"], found.error["message"]


def logs(events: list[WorkflowEvent]) -> list[str]:
    found = (event.to_json() for event in events)
    return [one["message"] for one in found if one["type"] == "workflow.log"]


def failing(prompts: str = "fail", failure: Exception | None = None) -> Team:
    """A team whose calls with these words fail."""
    raised = failure or OSError("gone")
    return Team(lambda call: raised if prompts in call.prompt else call.prompt.upper())


# -- the script -----------------------------------------------------------------------------------


async def test_the_metadata_are_a_literal_with_a_name_and_a_description() -> None:
    async with runner(Team()) as made:
        for meta in ("{ name: 'n' }", "{ description: 'd' }", "{ name: `n`, description: 'd' }"):
            with pytest.raises(MetadataError, match=r"valid literal metadata"):
                await made.run(f"export const meta = {meta}\nreturn 1")
        whole = (
            "{ name: 'n', description: 'd', whenToUse: 'w', phases: [{ title: 'A', detail: 'b' }] }"
        )
        assert (await made.run(f"export const meta = {whole}\nreturn meta.phases")).result == [
            {"title": "A", "detail": "b"}
        ]


async def test_a_body_awaits_and_returns_at_top_level(engine: str) -> None:
    assert await result("return await agent('a') + meta.name", engine=engine) == "Atested"
    assert await result("await agent('a')", engine=engine) is None


async def test_modules_of_workflows_may_be_imported_and_others_may_not() -> None:
    body = "import { checkpoint } from 'workflow:extra'\nreturn checkpoint('c', 5)"
    assert await result(body) == 5
    name, message = await error("import fs from 'node:fs'\nreturn fs")
    assert name == "ModuleNotFound"
    assert "workflow imports are restricted; only workflow:extra" in message


async def test_scripts_are_strict_and_reach_nothing_outside(engine: str) -> None:
    names = "['require', 'process', 'fetch', 'setTimeout', 'eval', 'Function', 'Buffer', 'Deno']"
    body = f"return {names}.filter((name) => globalThis[name] !== undefined)"
    assert await result(body, engine=engine) == []
    assert (await error("undeclared = 5", engine=engine))[0] == "ReferenceError"


async def test_dates_and_chance_are_repeated_by_a_resume(engine: str) -> None:
    """In their home they throw, since they would change what a resume finds."""
    store, now = MemoryRuns(), [1_000.0]
    body = (
        "const first = [Date.now(), new Date().getTime(), Math.random()]\n"
        "const answer = await agent('fail once')\nreturn { first, answer }"
    )
    async with runner(failing(), store, engine=engine, clock=lambda: now[0]) as made:
        before = await made.run(bare(body), run_id="r", seed=7)
        now[0] += 500
        team = Team()
        async with runner(team, store, engine=engine, clock=lambda: now[0]) as other:
            after = await (await other.resume("r", retry_failed=True)).result()
    assert before.result["first"][0] == 1_000_000
    assert (before.result["answer"], after.result["answer"]) == (None, "FAIL ONCE")
    assert after.result["first"] == before.result["first"]


async def test_arguments_are_the_scripts_own(engine: str) -> None:
    assert await result("return typeof args", engine=engine) == "undefined"
    assert await result("return typeof args", args="[1]", engine=engine) == "string"
    body = (
        "args.files.push('b'); args.files.sort(); const { files } = args; args = 5\n"
        "return [files, args]"
    )
    assert await result(body, args={"files": ["c"]}, engine=engine) == [["b", "c"], 5]


async def test_a_returned_value_is_json() -> None:
    assert await result("return { at: new Date(0), all: new Set([1]), no: undefined }") == {
        "at": "1970-01-01T00:00:00.000Z",
        "all": [1],
    }


# -- agents ---------------------------------------------------------------------------------------


async def test_an_answer_is_text_or_the_value_of_the_schema(engine: str) -> None:
    team = Team(lambda call: '```json\n{"n": 1}\n```' if call.schema else call.prompt)
    body = "return [await agent('a'), await agent('b', { schema: { type: 'object' } })]"
    assert await result(body, team, engine=engine) == ["a", {"n": 1}]


async def test_a_value_that_never_fits_throws() -> None:
    team = Team(lambda call: "no JSON")
    name, message = await error("return agent('a', { schema: { type: 'object' } })", team)
    assert name == "StructuredOutputError"
    assert message.startswith("Structured output did not match JSON Schema: ")
    assert len(team.calls) == 2
    body = "return parallel([() => agent('a', { schema: { type: 'object' } })])"
    assert await result(body, team) == [None]


async def test_a_schema_has_any_root_and_no_pattern(engine: str) -> None:
    team = Team(lambda call: [1])
    body = "return agent('a', { schema: { type: 'array', items: { type: 'integer' } } })"
    assert await result(body, team, engine=engine) == [1]
    body = "return parallel([() => agent('a', { schema: { type: 'string', pattern: '^a' } })])"
    name, message = await error(body, team, engine=engine)
    assert (name, len(team.calls)) == ("TypeError", 1)
    assert message == (
        "agent option schema: pattern is not supported, for regular expressions may take forever; "
        "describe the text in description, and check it in the script"
    )


async def test_labels_and_phases_are_those_of_the_call() -> None:
    team = Team()
    await result(
        "phase('A'); await agent('a', { label: 'l' }); await agent('b', { phase: 'B' })", team
    )
    assert [(call.label, call.phase) for call in team.calls] == [("l", "A"), (None, "B")]


async def test_the_host_names_models() -> None:
    team = Team()
    body = (
        "await agent('a', { model: 'opus' })\nawait agent('b', { model: 'haiku' })\n"
        "await agent('c')"
    )
    await result(body, team, models={"opus": "acme/large"})
    assert [(call.provider, call.model) for call in team.calls] == [
        ("acme", "large"),
        (None, "haiku"),
        (None, None),
    ]


async def test_an_effort_is_a_thinking_effort(engine: str) -> None:
    team = Team()
    efforts = ["low", "medium", "high", "xhigh", "max"]
    body = (
        "for (const effort of args) await agent('a', { effort })\n"
        "await agent('a', { model: 'm?thinking=low', effort: 'low' })"
    )
    await result(body, team, efforts, engine=engine)
    assert [call.model_options for call in team.calls] == [
        {"thinking": effort} for effort in [*efforts, "low"]
    ]
    assert await error("return agent('a', { effort: 'hihg' })", team, engine=engine) == (
        "TypeError",
        "agent option effort takes 'low', 'medium', 'high', 'xhigh', 'max'; got \"hihg\"",
    )
    name, message = await error(
        "return agent('a', { model: 'm?thinking=low', effort: 'max' })", team, engine=engine
    )
    assert (name, "leave one of them out" in message) == ("TypeError", True)


async def test_an_effort_overrides_that_of_the_phase() -> None:
    team = Team()
    source = (
        "export const meta = { name: 'n', description: 'd',\n"
        "  phases: [{ title: 'A', model: 'm?thinking=low' }] }\n"
        "phase('A'); await agent('a'); await agent('b', { effort: 'max' })"
    )
    async with runner(team) as made:
        await made.run(source)
    assert [(call.model, call.model_options["thinking"]) for call in team.calls] == [
        ("m", "low"),
        ("m", "max"),
    ]


async def test_agents_that_take_no_effort_refuse_it() -> None:
    async def plain(prompt: str) -> str:
        return prompt

    name, message = await error("return agent('a', { effort: 'high' })", plain)
    assert (name, "takes no thinking, and the call asks for 'high'" in message) == (
        "AgentFailed",
        True,
    )


async def test_the_host_names_the_types_of_agents() -> None:
    agents = {"default": Team(), "Explore": Team(lambda call: "explored")}
    body = "return [await agent('a'), await agent('b', { agentType: 'Explore' })]"
    assert await result(body, agents=agents) == ["A", "explored"]
    name, message = await error(
        "return parallel([() => agent('a', { agentType: 'Plan' })])", agents=agents
    )
    assert (name, "Known agents: Explore, default" in message) == ("UnknownAgent", True)


async def test_an_isolated_agent_answers_bare_and_leaves_a_patch(repository: Path) -> None:
    def answer(call: AgentCall) -> Any:
        assert call.cwd is not None
        (call.cwd / "new.txt").write_text("new\n")
        return OSError("gone") if "fail" in call.prompt else "written"

    store, events = MemoryRuns(), list[WorkflowEvent]()
    body = (
        "const isolation = 'worktree'\n"
        "return [await agent('write', { isolation }), await agent('fail', { isolation })]"
    )
    async with runner(Team(answer), store, worktrees=repository, events=events.append) as made:
        assert (await made.run(bare(body), run_id="r")).result == ["written", None]
        patches = await made.patches("r")
    assert [(one["title"], one["files"]) for one in patches] == [
        ("write", ["new.txt"]),
        ("fail", ["new.txt"]),
    ]
    assert "+new" in patches[0]["patch"]
    assert logs(events) == [
        f'agent "{name}" changed files in its worktree: new.txt; `interpstack workflow patch RUN`'
        " prints the patch"
        for name in ("write", "fail")
    ]
    assert left_of(repository) == []


async def test_an_agent_that_failed_gives_null(engine: str) -> None:
    found = await ended("return [await agent('fail'), await agent('b')]", failing(), engine=engine)
    assert found.result == [None, "B"]
    assert found.census["dropped"] == 1
    assert found.census["errors"] == [{"name": "OSError", "message": "gone", "count": 1}]
    # An error of the language that an agent raises is its failure, and no fault of the script.
    team = failing(failure=TypeError("of Python"))
    assert await result("return agent('fail')", team, engine=engine) is None


async def test_an_agent_that_cannot_be_called_throws(engine: str) -> None:
    team = failing(failure=AgentFailed("it has no checkpointer", final=True))
    for body in ("return agent('fail')", "return parallel([() => agent('fail')])"):
        assert await error(body, team, engine=engine) == ("AgentFailed", "it has no checkpointer")


async def test_a_person_who_refuses_gives_no_null() -> None:
    """Nobody skips an agent here; a person answers what it asks, and the agent goes on."""

    def answer(call: AgentCall) -> Any:
        if call.decisions is None:
            return AgentPaused([{"id": "pay", "tool": "pay"}])
        return f"paid: {call.decisions['pay']}"

    store = MemoryRuns()
    async with runner(Team(answer), store) as made:
        waiting = await made.run(bare("return [await agent('pay')]"), run_id="r")
        assert waiting.status == "waiting"
        (wait,) = waiting.waiting_for
        await made.answer("r", wait["id"], {"pay": "reject"})
        done = await (await made.resume("r")).result()
    assert done.result == ["paid: reject"]


async def test_other_options_are_refused_by_name(engine: str) -> None:
    name, message = await error("return agent('a', { temperature: 1 })", engine=engine)
    assert name == "TypeError"
    assert message.startswith("agent has no option 'temperature'; it has agentType, effort, ")


# -- many at once ---------------------------------------------------------------------------------


async def test_a_thunk_that_throws_gives_null(engine: str) -> None:
    events = list[WorkflowEvent]()
    body = (
        "const review = await agent('fail')\n"
        "const throws = async () => { throw new Error('x') }\n"
        "return parallel([() => agent('a'), () => review.findings, throws])"
    )
    assert await result(body, failing(), engine=engine, events=events.append) == ["A", None, None]
    (line,) = logs(events)
    assert line.startswith("parallel: item 1 is null: TypeError: ")


async def test_what_ends_a_run_passes_through() -> None:
    body = "return parallel([() => agent('a', { temperature: 1 })])"
    assert (await error(body))[0] == "TypeError"
    assert (await error("return parallel([() => agent('a')])", budget={"agents": 0}))[0] == (
        "BudgetExceeded"
    )
    assert (await error("return parallel([() => workflow('none')])"))[0] == "UnknownWorkflow"
    name, message = await error("return parallel([agent('a')])")
    assert (name, "takes functions, as in parallel([() => agent" in message) == ("TypeError", True)


async def test_stages_get_the_result_the_item_and_its_index(engine: str) -> None:
    body = (
        "return pipeline(['a', 'fail', 'c'], (item) => agent(item), "
        "(before, item, index) => [before.length, item, index])"
    )
    assert await result(body, failing(), engine=engine) == [[1, "a", 0], None, [1, "c", 2]]


async def test_items_pass_through_their_stages_apart() -> None:
    team = Team()
    body = (
        "const slow = (item) => agent('slow').then(() => agent(item))\n"
        "return pipeline(['a', 'b'], (item) => (item === 'a' ? agent(item) : slow(item)), "
        "(before) => agent(`${before}2`))"
    )
    assert await result(body, team) == ["A2", "B2"]
    assert team.prompts.index("A2") < team.prompts.index("b")


@pytest.mark.parametrize("verb", ["parallel", "pipeline"])
async def test_a_list_has_at_most_4096_items(engine: str, verb: str) -> None:
    body = f"return (await {verb}(Array.from({{ length: args }}, () => () => 1))).length"
    assert await result(body, args=4096, engine=engine) == 4096
    found = await ended(body, args=4097, engine=engine)
    assert found.error is not None
    assert (found.error["name"], found.error["message"]) == (
        "RangeError",
        f"{verb} takes at most 4096 items in a script with its body at top level, and got 4097; "
        "divide them, or export the body as a function: `export default async (args) => {…}`",
    )


async def test_sixteen_agents_work_at_once() -> None:
    body = (
        "return (await parallel(Array.from({ length: 40 }, (_, n) => () => agent(`${n}`)))).length"
    )
    team, fewer = Team(), Team()
    assert await result(body, team) == 40
    assert await result(body, fewer, scheduler=Scheduler(3)) == 40
    assert (team.most_at_once, fewer.most_at_once) == (16, 3)


async def test_a_run_calls_at_most_a_thousand_agents() -> None:
    body = (
        "let count = 0\nconst hundred = Array.from({ length: 100 }, () => () => agent('a'))\n"
        "try { for (;;) { await parallel(hundred); count += 100 } }\n"
        "catch (error) { return [count, error.name, error.kind, error.limit] }"
    )
    team = Team()
    assert await result(body, team) == [1000, "BudgetExceeded", "agents", 1000]
    assert len(team.calls) == 1000
    assert await result(body, budget={"agents": 1200}) == [1200, "BudgetExceeded", "agents", 1200]
    assert await result(body, budget={"agents": 200, "tokens": 9}) == [
        200,
        "BudgetExceeded",
        "agents",
        200,
    ]


# -- budgets --------------------------------------------------------------------------------------


async def test_a_budget_tells_its_total_and_its_rest(engine: str) -> None:
    body = (
        "const before = [budget.total, budget.spent(), budget.remaining()]\nawait agent('a')\n"
        "return [before, budget.spent(), budget.remaining()]"
    )
    team = Team(tokens=30)
    assert await result(body, team, budget=100, engine=engine) == [[100, 0, 100], 30, 70]
    text = "return [budget.total, budget.remaining() === Infinity]"
    assert await result(text, engine=engine) == [None, True]


async def test_a_budget_counts_what_models_read_and_write() -> None:
    async def agent(call: AgentCall) -> AgentAnswer:
        return AgentAnswer("a", WorkflowUsage(input_tokens=5, output_tokens=2))

    assert await result("await agent('a'); return budget.spent()", agent) == 7


async def test_a_budget_that_is_used_up_throws(engine: str) -> None:
    team = Team(tokens=60)
    body = (
        "const work = async (n) => { for (;;) await agent(`${n}`, { maxTokens: 60 }) }\n"
        "return parallel([1, 2, 3].map((n) => () => work(n)))"
    )
    name, message = await error(body, team, budget=100, engine=engine)
    assert (name, len(team.calls)) == ("BudgetExceeded", 1)
    assert message.startswith("the budget of the run ")


# -- other scripts --------------------------------------------------------------------------------


async def test_other_scripts_are_called_by_name_or_path(tmp_path: Path, engine: str) -> None:
    (tmp_path / "kid.js").write_text(bare("return [typeof args, args?.n ?? 0]", "kid"), "utf-8")
    main = tmp_path / "main.js"
    main.write_text(
        bare(
            "return [await workflow('kid'), await workflow({ scriptPath: './kid.js' }, { n: 2 })]"
        ),
        "utf-8",
    )
    async with runner(Team(), workflows=[tmp_path], engine=engine) as made:
        assert (await made.run(main)).result == [["undefined", 0], ["object", 2]]
        failed = await made.run(bare("return workflow('kit')"))
    assert failed.error is not None
    assert failed.error["message"].startswith("Unknown workflow: kit; did you mean 'kid'?")


async def test_scripts_are_nested_deeper_than_one_level() -> None:
    workflows = {
        f"w{level}": bare(f"return {level} + await workflow('w{level + 1}')", f"w{level}")
        for level in range(1, 10)
    }
    async with runner(Team(), workflows={**workflows, "w3": bare("return 3", "w3")}) as made:
        assert (await made.run("w1")).result == 6
    async with runner(Team(), workflows=workflows) as made:
        failed = await made.run("w1")
    assert failed.error is not None
    assert failed.error["name"] == "WorkflowDepth"


async def test_children_share_the_budget_and_the_agents_of_their_parent() -> None:
    kid = bare("return (await parallel(Array.from({ length: 20 }, () => () => agent('a')))).length")
    body = (
        "const kids = await Promise.all([workflow('kid'), workflow('kid')])\n"
        "return [kids, budget.spent()]"
    )
    team = Team(tokens=1)
    found = await ended(body, team, workflows={"kid": kid}, budget=100)
    assert found.result == [[20, 20], 40]
    assert (team.most_at_once, found.usage["agents"]) == (16, 40)
    failed = await ended(body, Team(), workflows={"kid": kid}, budget={"agents": 30})
    assert failed.error is not None
    assert failed.error["name"] == "BudgetExceeded"


# -- what readers see -----------------------------------------------------------------------------


async def test_phases_choose_models_and_logs_are_lines() -> None:
    team, events = Team(), list[WorkflowEvent]()
    source = (
        "export const meta = { name: 'n', description: 'd',\n"
        "  phases: [{ title: 'A', model: 'small' }] }\n"
        "phase('A'); log('a', { b: 1 }); console.log('c'); await agent('d')"
    )
    async with runner(team, events=events.append) as made:
        done = await made.run(source)
    assert (done.status, done.result) == ("completed", None)
    assert [(call.phase, call.model) for call in team.calls] == [("A", "small")]
    assert logs(events) == ['a {"b":1}', "c"]


# -- resuming -------------------------------------------------------------------------------------


async def test_a_resume_reuses_each_unchanged_call(engine: str) -> None:
    """In their home, the calls behind the first changed one run again."""
    store, first, second = MemoryRuns(), Team(), Team()
    body = "const all = []\nfor (const word of {words}) all.push(await agent(word))\nreturn all"
    async with runner(first, store, engine=engine) as made:
        await made.run(bare(body.replace("{words}", "['a', 'b', 'c']")), run_id="r")
    async with runner(second, store, engine=engine) as made:
        changed = bare(body.replace("{words}", "['a', 'new', 'c', 'b', 'd']"))
        handle = await made.resume("r", source=changed, accept_changes=True)
        done = await handle.result()
    assert done.result == ["A", "NEW", "C", "B", "D"]
    assert (first.prompts, second.prompts) == (["a", "b", "c"], ["new", "d"])


async def test_a_changed_option_runs_the_call_again() -> None:
    store, team = MemoryRuns(), Team()
    async with runner(team, store) as made:
        await made.run(bare("return agent('a', { effort: 'low' })"), run_id="r")
        changed = bare("return agent('a', { effort: 'max' })")
        await (await made.resume("r", source=changed, accept_changes=True)).result()
    assert [call.model_options["thinking"] for call in team.calls] == ["low", "max"]


async def test_a_call_that_gave_null_gives_null_again_unless_asked() -> None:
    store, again = MemoryRuns(), Team()
    body = (
        "const one = await agent('fail')\nif (one === null) throw new Error('nothing')\nreturn one"
    )
    async with runner(failing(), store) as made:
        assert (await made.run(bare(body), run_id="r")).status == "failed"
    async with runner(again, store) as made:
        assert (await (await made.resume("r")).result()).status == "failed"
        assert again.prompts == []
        done = await (await made.resume("r", retry_failed=True)).result()
    assert (done.result, again.prompts) == ("FAIL", ["fail"])


async def test_a_resume_needs_neither_script_nor_arguments() -> None:
    store, team, go = MemoryRuns(), Team(), asyncio.Event()

    async def slow(call: AgentCall) -> Any:
        await go.wait()
        return await team(call)

    async with runner(slow, store) as made:
        handle = await made.start(bare("return [await agent(args.word), args]"), {"word": "a"})
        await asyncio.sleep(0.05)
    async with runner(team, store) as made:
        done = await (await made.resume(handle.run_id)).result()
    assert done.result == ["A", {"word": "a"}]
    assert json.loads(json.dumps(done.result)) == done.result
