"""Runs of workflows as trees, from databases and from the checkpointers of agents."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from inspected import ADDRESS, HOSTILE, HOSTILE_SEEN, Server, looked_at
from inspected_agents import agent, config, source, turn
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from psycopg.conninfo import conninfo_to_dict
from workflow_runs import Prompts, runner, script

from interpstack_inspect.api import AnswerRefused, NotRecorded
from interpstack_langchain.inspecting.agents import AgentSource
from interpstack_langchain.inspecting.conversations import ReadingOptions
from interpstack_workflows.api import open_store

BODY = (
    "phase('Read'); const read = await agent('read ' + args.what); "
    "phase('Write'); try { await agent('fail', {label: 'the writer'}) } catch {} return read"
)


async def _ran(place: str, **args: Any) -> str:
    """The id of a run in a database."""
    async with runner(Prompts(), place) as running:
        return str((await running.run(script(BODY, "orders"), args)).run_id)


@pytest.fixture
async def place(tmp_path: Path) -> tuple[str, str]:
    """A database, and the id of the run in it."""
    place = str(tmp_path / "w.db")
    return place, await _ran(place, what=HOSTILE)


async def test_a_run_is_a_tree_of_phases_and_steps(place: tuple[str, str]) -> None:
    url, run_id = place
    there = source(url)
    (run,) = await there.workflows()
    assert (run.id, run.name, run.status) == (run_id, "orders", "completed")
    run, tree = await there.workflow(run_id)
    steps = [*tree.root.steps.values()]
    assert [(step.status, step.phase) for step in steps] == [("ok", "Read"), ("failed", "Write")]
    assert await there.conversations() == []
    with pytest.raises(NotRecorded, match="there is no run 'gone'"):
        await there.workflow("gone")


async def test_the_pages_of_a_run(place: tuple[str, str]) -> None:
    url, _ = place
    async with Server.of(source(url)).browser() as client:
        listed = await looked_at(client, "/workflows")
        (link,) = [link for link in listed.links if link.startswith("/workflow?")]
        page = await looked_at(client, link)
        assert HOSTILE_SEEN in page.text
        assert page.of("img") == []
        for text in ("state completed", "agents 2", "failed agent: the writer"):
            assert text in page.words, text
        assert "ValueError: cannot fail" in page.words
        assert (await client.get("/workflow?run=gone")).status_code == 404
        assert (await client.get("/workflow")).status_code == 400


@pytest.mark.parametrize("store", ["sqlite", "sqlite-async", "postgres"], indirect=True)
async def test_runs_in_the_database_of_the_checkpointer_of_an_agent(store: Any) -> None:
    async with store.open() as saver:
        made = agent(saver)
        if store.name == "sqlite-async":
            await made.ainvoke(turn("1"), config())
        else:
            await asyncio.to_thread(made.invoke, turn("1"), config())
        there = AgentSource("tests:agent", made, ReadingOptions())
        await there.open()
        assert list(await there.workflows()) == []
        url = store.place if store.name != "postgres" else _url(store.place)
        run_id = await _ran(url, what="x")
        assert [run.id for run in await there.workflows()] == [run_id]
        run, _ = await there.workflow(run_id)
        assert run.status == "completed"
        assert [row.name for row in await there.conversations()] == ["t"]
        await asyncio.wait_for(there.aclose(), 10)


def _url(dsn: str) -> str:
    parameters = conninfo_to_dict(dsn)
    return "postgresql:///?" + "&".join(f"{name}={one}" for name, one in parameters.items())


async def test_an_agent_whose_checkpointer_is_in_memory_has_no_runs_beside_it() -> None:
    there = AgentSource("tests:agent", agent(InMemorySaver()), ReadingOptions())
    await there.open()
    assert list(await there.workflows()) == []
    with pytest.raises(NotRecorded, match="there is no run 'run_1'"):
        await there.workflow("run_1")
    await there.aclose()


async def test_a_place_without_workflows_says_so(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "a.db")) as saver:
        saver.setup()
    async with Server.of(source(str(tmp_path / "a.db"))).browser() as client:
        assert (
            "No run of a workflow is recorded here."
            in (await looked_at(client, "/workflows")).words
        )


ASKS = (
    "const city = await ask('Which city?'); "
    "const ship = await ask(`Ship to ${city}?`, {choices: ['yes', 1]}); return [city, ship]"
)


async def _asking(place: str) -> str:
    async with runner(Prompts(), place) as running:
        return str((await running.run(script(ASKS, "ships"))).run_id)


async def _sent(client: httpx.AsyncClient, page: str, **fields: str) -> httpx.Response:
    """Send the form of the question on a page."""
    shown = await looked_at(client, page)
    (action,) = [form["action"] for form in shown.of("form") if form.get("method") == "post"]
    hidden = {
        str(one["name"]): str(one["value"])
        for one in shown.of("input")
        if one.get("type") == "hidden"
    }
    return await client.post(str(action), data={**hidden, **fields}, headers={"origin": ADDRESS})


@pytest.mark.parametrize("kind", ["database", "agent"])
async def test_the_questions_of_a_run_are_answered_in_place_and_its_runner_goes_on(
    kind: str, tmp_path: Path
) -> None:
    place = str(tmp_path / "w.db")
    run_id = await _asking(place)
    closing = ExitStack()
    if kind == "agent":
        saver = closing.enter_context(SqliteSaver.from_conn_string(place))
        saver.setup()
        there: Any = AgentSource("tests:agent", agent(saver), ReadingOptions())
        await there.open()
    else:
        there = source(place)

    async def resumed() -> Any:
        async with runner(Prompts(), place) as running:
            return await (await running.resume(run_id)).rest()

    page = f"/workflow?run={run_id}"
    async with Server.of(there).browser() as client:
        assert "Which city?" in (await looked_at(client, "/")).words
        answer = await _sent(client, page, answer="Paris")
        assert (answer.status_code, answer.headers["location"]) == (303, page)
        words = (await looked_at(client, page)).words
        assert "An answer is stored. The run continues when a runner takes it" in words
        assert "Open questions" not in words
        assert "Open questions" not in (await looked_at(client, "/")).words
        assert (await resumed()).status == "waiting"
        assert "Ship to Paris?" in (await looked_at(client, "/")).words
        assert (await _sent(client, page, choice="2")).status_code == 422
        first = await _sent(client, "/", choice="1")
        assert (first.status_code, first.headers["location"]) == (303, "/")
        result = await resumed()
        assert (result.status, result.result) == ("completed", ["Paris", 1])
    await there.aclose()
    closing.close()


async def test_an_answer_to_another_question_of_a_run_is_refused_and_not_stored(
    tmp_path: Path,
) -> None:
    place = str(tmp_path / "w.db")
    run_id = await _asking(place)
    closing = ExitStack()
    saver = closing.enter_context(SqliteSaver.from_conn_string(place))
    there = AgentSource("tests:agent", agent(saver), ReadingOptions())
    await there.open()
    (asked,) = await there.run_questions(run_id)
    for question, digest in (("root/ask:9", asked.digest), (asked.id, "0" * 64)):
        with pytest.raises(AnswerRefused, match="no longer open"):
            await there.answer_run(run_id, question, digest, "x")
    await there.answer_run(run_id, asked.id, asked.digest, "Rome")
    with pytest.raises(AnswerRefused, match="no longer open"):
        await there.answer_run(run_id, asked.id, asked.digest, "Oslo")
    store = open_store(place)
    sent = await store.messages(run_id, 0)
    await store.aclose()
    assert [message.value for _, message in sent] == ["Rome"]
    with pytest.raises(NotRecorded):
        await there.answer_run("gone", asked.id, asked.digest, "x")
    with pytest.raises(AnswerRefused, match="belongs to a step of a workflow"):
        await there.answer("workflow:r/root/agent:1", asked.id, asked.digest, "x")
    await there.aclose()
    closing.close()
