"""Questions of runs: answered by a person through the agent, by the model, or not at all."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from workflow_runs import MemoryRuns
from workflow_talk import ASKS, Readers, Talk, call, run_of, workflow

from interpstack_langchain.workflows import WorkflowMiddleware
from interpstack_workflows.api import (
    Agent,
    AgentAnswer,
    AgentCall,
    AgentPaused,
    Message,
    WorkflowRunner,
)

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])

_TWO = workflow(
    "await agent('a'); const x = await ask('One?', {choices: ['yes', 'no']});"
    "await agent('b'); const y = await ask('Two?'); return [x, y]"
)


def start(source: str = _TWO, **args: Any) -> Any:
    return call("workflow_start", source=source, wait_seconds=30, **args)


def question(state: dict[str, Any]) -> dict[str, Any]:
    (pause,) = state["__interrupt__"]
    (asked,) = pause.value["questions"]
    return {**pause.value, **asked}


async def runs(middleware: WorkflowMiddleware) -> list[Any]:
    return list(await middleware.use(lambda runner: runner.runs()))


@both
async def test_a_person_answers_each_question_once(use_async: bool) -> None:
    agent = Readers()
    async with WorkflowMiddleware(agents={"default": agent}, questions="interrupt") as middleware:
        talk = Talk(middleware, use_async)
        first = question(await talk.turn(start()))
        assert (first["question"], first["type"]) == ("One?", "workflow_questions")
        wrong = question(await talk.resume(**{first["id"]: "perhaps"}))
        assert "not one of the choices" in wrong["fault"]
        second = question(await talk.resume(**{first["id"]: "yes"}))
        assert second["question"] == "Two?", "the first answer does not count for the second"
        assert "fault" not in second
        again = question(await talk.resume(**{first["id"]: "no"}))
        assert again["question"] == "Two?"
        done = await talk.resume(**{second["id"]: "sure"})
        assert 'result: ["yes","sure"]' in done["messages"][-2].text
        assert agent.called == ["a", "b"]
        assert len(await runs(middleware)) == 1, "the call was made again, the run was not"


async def test_a_pause_survives_the_process(tmp_path: Path) -> None:
    url, saver, agent = f"sqlite:///{tmp_path / 'runs.db'}", InMemorySaver(), Readers()
    made: dict[str, Any] = {"agents": {"default": agent}, "questions": "interrupt", "store": url}
    async with WorkflowMiddleware(**made) as middleware:
        first = question(await Talk(middleware, checkpointer=saver).turn(start()))
    async with WorkflowMiddleware(**made) as other:
        talk = Talk(other, checkpointer=saver)
        second = question(await talk.resume(**{first["id"]: "no"}))
        assert second["run"] == first["run"]
        talk._said[:] = [call("workflow_status"), AIMessage("done")]
        done = await talk.resume(**{second["id"]: 2})
        assert 'result: ["no",2]' in str(done["messages"])
        assert agent.called == ["a", "b"]
        assert [run.id for run in await runs(other)] == [first["run"]]


async def test_a_question_that_was_answered_meanwhile_is_not_asked_again() -> None:
    async with WorkflowMiddleware(
        agents={"default": Readers()}, questions="interrupt"
    ) as middleware:
        talk = Talk(middleware)
        asked = question(await talk.turn(start(ASKS)))

        async def answer(runner: WorkflowRunner) -> None:
            await runner.answer(asked["run"], asked["id"], "yes")
            while (await runner.show(asked["run"])).status != "completed":  # noqa: ASYNC110
                await asyncio.sleep(0.01)

        await middleware.use(answer)
        done = await talk.resume(**{asked["id"]: "no"})
        assert '"ship":"yes"' in done["messages"][-2].text


async def test_an_interrupt_needs_a_checkpointer() -> None:
    async with WorkflowMiddleware(
        agents={"default": Readers()}, questions="interrupt"
    ) as middleware:
        (text,) = await Talk(middleware, checkpointer=None).answers(start(ASKS), thread=None)
        assert "an interrupt needs a checkpointer" in text


async def test_a_model_answers_only_what_the_host_lets_it() -> None:
    async with WorkflowMiddleware(agents={"default": Readers()}, signals=True) as middleware:
        talk = Talk(middleware)
        (text,) = await talk.answers(start(ASKS))
        asked = text.partition("question ")[2].partition(":")[0]
        run = run_of(text)
        refused = await talk.do("send", run=run, to=asked, value="yes")
        assert refused == f"only a person may answer ask {asked}"
    async with WorkflowMiddleware(agents={"default": Readers()}, questions="model") as middleware:
        talk = Talk(middleware)
        (text,) = await talk.answers(start(ASKS))
        run, asked = run_of(text), text.partition("question ")[2].partition(":")[0]
        assert "answer it with workflow_send" in text
        assert "not one of the choices" in await talk.do("send", run=run, to=asked, value="perhaps")
        unknown = await talk.do("send", run=run, to="go", value=1)
        assert unknown == f"run {run} has no open question 'go'; open questions: {asked}"
        answer = await talk.do("send", run=run, to=asked, value="yes", wait_seconds=30)
        assert '"ship":"yes"' in answer


async def test_a_model_answers_a_run_that_another_process_works_on() -> None:
    agent, store = Readers(), MemoryRuns()
    made: dict[str, Any] = {"agents": {"default": agent}, "store": store, "questions": "model"}
    source = workflow("return Promise.all([ask('One?'), agent('slow')])")
    async with WorkflowMiddleware(**made) as one, WorkflowMiddleware(**made) as elsewhere:
        started = Talk(one)
        run = run_of(await started.do("start", source=source))
        talk = Talk(elsewhere)
        answer = ""
        async with asyncio.timeout(30):
            while "One?" not in answer:
                answer = await talk.do("status", run=run)
        (asked,) = await elsewhere.use(lambda runner: runner.questions(run))
        await talk.do("send", run=run, to=asked["id"], value="yes")
        agent.go.set()
        assert 'result: ["yes","echo: slow"]' in await started.do(
            "status", run=run, wait_seconds=30
        )


async def test_a_question_that_was_answered_elsewhere_is_not_asked_again() -> None:
    store = MemoryRuns()
    async with WorkflowMiddleware(agents={"default": Readers()}, store=store) as middleware:
        talk = Talk(middleware)
        (text,) = await talk.answers(start(ASKS))
        run, asked = run_of(text), text.partition("question ")[2].partition(":")[0]
        await store.send(run, Message(kind="answer", id=asked, value="yes"))
        status = await talk.do("status", run=run)
        assert f"ask {asked}: answered; the run has not taken the answer yet" in status
        assert "waits for question" not in status


async def test_a_model_sends_signals_that_the_host_allows() -> None:
    async with WorkflowMiddleware(agents={"default": Readers()}, signals=True) as middleware:
        talk = Talk(middleware)
        (text,) = await talk.answers(start(workflow("return wait('go')")))
        assert "waits for signal 'go'; send it with workflow_send" in text
        answer = await talk.do("send", run=run_of(text), to="go", value={"x": 1}, wait_seconds=30)
        assert 'result: {"x":1}' in answer
    async with WorkflowMiddleware(agents={"default": Readers()}) as middleware:
        assert "workflow_send" not in [tool.name for tool in middleware.tools]


async def test_an_answer_to_no_open_question_is_not_taken_for_a_signal_in_silence() -> None:
    body = "const said = await ask('Ship it?'); return [said, await wait('Ship it?')]"
    async with WorkflowMiddleware(
        agents={"default": Readers()}, questions="model", signals=True
    ) as middleware:
        talk = Talk(middleware)
        (text,) = await talk.answers(start(workflow(body)))
        run = run_of(text)
        (asked,) = re.findall(r"root/\w+", text)
        for unknown in (f"{asked}x", "root/other"):
            refused = await talk.do("send", run=run, to=unknown, value="yes")
            assert f"has no open question '{unknown}'; open questions: {asked}" in refused
        sent = await talk.do("send", run=run, to="Ship it?", value="early")
        assert sent.startswith(
            "'Ship it?' is no open question, so it was sent as a signal; the run"
        )
        assert f"waits for question {asked}" in sent
        done = await talk.do("send", run=run, to=asked, value="yes", wait_seconds=30)
        assert 'result: ["yes","early"]' in done
        assert "sent as a signal" not in done


class Careful(Agent):
    """Asks before it works."""

    def __init__(self) -> None:
        self.did: list[Any] = []

    async def run(self, call: AgentCall) -> AgentAnswer:
        if call.decisions is None:
            raise AgentPaused([{"id": "rm", "tool": "rm", "args": {"path": "x"}}])
        self.did.append(call.decisions)
        return AgentAnswer("removed")


@both
async def test_approvals_of_inner_agents_reach_the_person_who_talks_to_the_outer(
    use_async: bool,
) -> None:
    agent = Careful()
    async with WorkflowMiddleware(agents={"default": agent}, approvals="interrupt") as middleware:
        talk = Talk(middleware, use_async)
        asked = question(await talk.turn(start(workflow("return agent('clean')"))))
        assert asked["approvals"] == [{"id": "rm", "tool": "rm", "args": {"path": "x"}}]
        again = question(await talk.resume(**{asked["id"]: "approve"}))
        assert "takes an object with a decision for each of: rm" in again["fault"]
        assert agent.did == []
        done = await talk.resume(**{asked["id"]: {"rm": "approve"}})
        assert 'result: "removed"' in done["messages"][-2].text
        assert agent.did == [{"rm": "approve"}]


async def test_two_runs_that_ask_in_one_message_are_answered_apart() -> None:
    async with WorkflowMiddleware(
        agents={"default": Readers()}, questions="interrupt"
    ) as middleware:
        talk = Talk(middleware)
        message = start(ASKS)
        message.tool_calls += start(ASKS, args=1).tool_calls
        state = await talk.turn(message)
        asked = list(zip(state["__interrupt__"], ["yes", "no"], strict=True))
        given = {
            one.id: {"answers": {one.value["questions"][0]["id"]: answer}} for one, answer in asked
        }
        done = await talk.send(Command(resume=given))
        texts = {run_of(one.text): one.text for one in done["messages"][-3:-1]}
        assert len(texts) == 2
        for one, answer in asked:
            assert f'"ship":"{answer}"' in texts[one.value["run"]]


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({}, "give either source or name"),
        ({"source": "export default 1", "name": "x"}, "give either source or name"),
        ({"source": "/etc/passwd.js"}, "the module does not parse"),
        ({"source": "export const meta = x"}, "workflow.js:1:21"),
        ({"source": "x" * 70_000}, "the source has 70000 characters, at most 65536"),
        ({"name": "/etc/passwd.js"}, "Unknown workflow: '/etc/passwd.js'"),
        ({"name": "x", "args": "x" * 70_000}, "args have 70002 characters"),
        ({"source": workflow("return 1"), "budget": {"tokens": 9}}, "budget.tokens is 9, at most"),
    ],
)
async def test_a_refused_start_is_reported_in_a_line(wanted: dict[str, Any], says: str) -> None:
    async with WorkflowMiddleware(agents={"default": Readers()}, budget=5) as middleware:
        talk = Talk(middleware)
        for verb in ("check", "start"):
            text = await talk.do(verb, **wanted)
            assert says in text
            assert len(text) < 1100
        assert await runs(middleware) == []


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("for (;;);", "error: Timeout: the workflow computed for 5 seconds"),
        ("for (;;) await agent('x')", "error: BudgetExceeded"),
        ("return (() => {}).constructor('return process')()", "code from text is disabled"),
        ("return 'x'.repeat(2 ** 29)", "error: "),
        ("await new Promise(() => {})", "error: Stalled"),
        ("log('\\u001b[2J'.repeat(1e5)); throw 'x'.repeat(1e6)", "xxxx…"),
    ],
)
async def test_hostile_sources_end_in_a_short_summary(body: str, says: str) -> None:
    async with WorkflowMiddleware(
        agents={"default": Readers()}, budget={"agents": 50}, wall_seconds=60, max_wait_seconds=120
    ) as middleware:
        (text,) = await Talk(middleware).answers(
            call("workflow_start", source=workflow(body), wait_seconds=120)
        )
        assert len(text) < 9000
        assert "\x1b" not in text
        assert ": failed; " in text
        assert says in text
