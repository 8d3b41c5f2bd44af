"""Agents as sources: answers resume them, once and only to the question that was shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from inspected_agents import PAID, agent, config, turn
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from interpstack import ConfigurationError
from interpstack_inspect.api import AnswerRefused, Conversation, Question, SourceRequest
from interpstack_langchain.inspecting.agents import AgentSource, is_reference
from interpstack_langchain.inspecting.conversations import ReadingOptions

PAYS = turn("const r = await tools.pay({amount: 5}).catch(e => e.message); r")
APPROVE = {"decisions": [{"type": "approve"}]}


@pytest.fixture(autouse=True)
def _nothing_paid() -> None:
    PAID.clear()


@asynccontextmanager
async def opened(made: Any) -> AsyncIterator[AgentSource]:
    """The source of an agent."""
    source = AgentSource("tests:agent", made, ReadingOptions())
    await source.open()
    try:
        yield source
    finally:
        await source.aclose()


@pytest.fixture
async def source() -> AsyncIterator[AgentSource]:
    """An agent in memory whose conversation `t` waits for an approval."""
    made = agent(InMemorySaver())
    await made.ainvoke(PAYS, config())
    async with opened(made) as found:
        yield found


async def ended(source: AgentSource) -> Conversation:
    """The conversation, once no run of it is at work."""
    running = source._running.get("t")
    if running is not None:
        await asyncio.wait([running])
    return await source.conversation("t")


async def question(source: AgentSource) -> Question:
    (found,) = (await source.conversation("t")).questions
    return found


async def answered(source: AgentSource, value: Any) -> Conversation:
    asked = await question(source)
    await source.answer("t", asked.id, asked.digest, value)
    return await ended(source)


def _answers(found: Conversation) -> list[str]:
    return [one.status for turn in found.turns for one in turn.evals]


@pytest.mark.parametrize(
    ("decision", "paid", "text"),
    [
        ({"type": "approve"}, [5], "paid 5"),
        ({"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 3}}}, [3], "paid 3"),
        ({"type": "reject", "message": "too much"}, [], "too much"),
        ({"type": "respond", "message": "said"}, [], "said"),
    ],
)
async def test_a_decision_resumes_the_run(
    source: AgentSource, decision: Any, paid: list[int], text: str
) -> None:
    found = await answered(source, {"decisions": [decision]})
    assert paid == PAID
    assert (found.questions, found.problem, _answers(found)) == ([], "", ["ended"])
    assert text in ((await source.eval("t", 1)).answer or "")


async def test_a_decision_that_does_not_fit_has_no_effect_and_is_reported(
    source: AgentSource,
) -> None:
    found = await answered(source, {"decisions": []})
    assert "give one decision for each action request" in found.problem
    assert len(found.questions) == 1
    assert PAID == []
    found = await answered(source, APPROVE)
    assert (PAID, found.problem) == ([5], "")


async def test_of_two_answers_at_once_one_is_refused(source: AgentSource) -> None:
    asked = await question(source)
    given = [source.answer("t", asked.id, asked.digest, APPROVE) for _ in range(3)]
    ends = await asyncio.gather(*given, return_exceptions=True)
    assert sorted(type(end).__name__ for end in ends) == [
        "AnswerRefused",
        "AnswerRefused",
        "NoneType",
    ]
    await ended(source)
    assert PAID == [5]


async def test_an_answer_to_another_question_is_refused(source: AgentSource) -> None:
    asked = await question(source)
    for name, digest in [("gone", asked.digest), (asked.id, "0" * 64)]:
        with pytest.raises(AnswerRefused, match="no longer open"):
            await source.answer("t", name, digest, APPROVE)
    await answered(source, APPROVE)
    with pytest.raises(AnswerRefused, match="no longer open"):
        await source.answer("t", asked.id, asked.digest, APPROVE)
    assert PAID == [5]


async def test_the_agent_of_a_sync_checkpointer_runs_in_a_thread(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "a.db")) as saver:
        made = agent(saver)
        made.invoke(PAYS, config())
        async with opened(made) as source:
            assert [row.waits for row in await source.conversations()] == [True]
            await answered(source, APPROVE)
            assert PAID == [5]
            assert [row.waits for row in await source.conversations()] == [False]


async def test_an_agent_is_made_on_the_loop_by_a_context_manager(tmp_path: Path) -> None:
    closed = []

    @asynccontextmanager
    async def made() -> AsyncIterator[Any]:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "a.db")) as saver:
            yield agent(saver)
        closed.append(True)

    async with opened(made) as source:
        await source._agent.ainvoke(PAYS, config())
        await answered(source, APPROVE)
        assert PAID == [5]
        assert closed == []
    assert closed == [True]


async def test_an_agent_is_made_by_a_function_a_coroutine_or_a_manager() -> None:
    async def coroutine() -> Any:
        return agent(InMemorySaver())

    @contextmanager
    def manager() -> Any:
        yield agent(InMemorySaver())

    for made in (lambda: agent(InMemorySaver()), coroutine, manager):
        async with opened(made) as source:
            assert await source.conversations() == []


async def test_runs_end_with_the_server() -> None:
    started = asyncio.Event()

    made = agent(InMemorySaver())
    await made.ainvoke(PAYS, config())
    source = AgentSource("tests:agent", made, ReadingOptions())
    await source.open()

    async def never(*args: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    source._run = never  # type: ignore[method-assign]
    asked = await question(source)
    await source.answer("t", asked.id, asked.digest, APPROVE)
    await started.wait()
    assert (await source.conversation("t")).resuming
    await asyncio.wait_for(source.aclose(), 10)
    assert source._running == {}


def _fails() -> Any:
    raise LookupError("no key")


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (3, "a int is not an agent"),
        (_fails, "the agent could not be made: LookupError: no key"),
        (lambda: "x", "a str is not an agent"),
        (lambda: agent(None), "has no checkpointer"),
    ],
)
async def test_what_is_no_agent_is_refused(made: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        async with opened(made):
            pass


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("no_such_module:agent", "there is no module 'no_such_module'"),
        ("json:no_such_name", "has no 'no_such_name'; it has: "),
    ],
)
def test_a_reference_that_leads_nowhere(reference: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        AgentSource.of(SourceRequest(target=reference))
    with pytest.raises(ConfigurationError, match="leave --serializer"):
        AgentSource.of(SourceRequest(target=reference, serializer="a:b"))


@pytest.mark.parametrize(
    ("target", "named"),
    [
        ("a:b", True),
        ("a.b.c:d_1", True),
        ("a.db", False),
        ("sqlite:///a.db", False),
        ("postgresql://h/d", False),
        ("C:\\a.db", False),
        ("a:", False),
        ("a:b.c", False),
    ],
)
def test_references_and_databases(target: str, named: bool) -> None:
    assert is_reference(target) is named
