"""Where variables live: modes, checkpoints, forks, threads, several evals at once."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from guests import without_restored
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Overwrite

from interpstack import Capability, Limits
from interpstack_agents import joined
from interpstack_langchain import CodeInterpreterMiddleware

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])


def at(thread: str, checkpoint: str | None = None) -> dict[str, Any]:
    more = {} if checkpoint is None else {"checkpoint_id": checkpoint}
    return {"configurable": {"thread_id": thread, **more}}


# -- modes ---------------------------------------------------------------------------------


@pytest.mark.engines("javascript")
@both
@pytest.mark.parametrize(
    ("mode", "in_turn", "next_turn"),
    [("thread", "number", "number"), ("turn", "number", "undefined"), ("call", *["undefined"] * 2)],
)
async def test_variables_live_as_long_as_the_mode_says(
    talk: Any, mode: str, in_turn: str, next_turn: str
) -> None:
    chat = talk(mode=mode)
    assert await chat.run("let a = 1; a", "typeof a") == [
        "<result>1</result>",
        f"<result>{in_turn}</result>",
    ]
    assert await chat.run("typeof a") == [f"<result>{next_turn}</result>"]


@pytest.mark.engines("javascript")
@both
@pytest.mark.parametrize("between", ["turn", "call"])
async def test_what_another_mode_replaced_is_reported_once(talk: Any, between: str) -> None:
    saver = InMemorySaver()
    first, other = (talk(mode=mode, checkpointer=saver) for mode in ("thread", between))
    assert await first.run("var a = 1; a") == ["<result>1</result>"]
    assert await other.run("var b = 2; b") == ["<result>2</result>"]
    if between == "call":
        assert await first.run("[a, typeof b].join()") == ["<result>1,undefined</result>"]
        return
    answers, again = await first.run("[typeof a, typeof b].join()", "var c = 3; typeof a")
    assert answers.endswith("<result>undefined,undefined</result>")
    assert "Variables of earlier turns are not available: the last turn with code ran" in answers
    assert again == "<result>undefined</result>"
    (later,) = await talk(mode="thread", checkpointer=saver).run("c")
    assert without_restored(later) == "<result>3</result>"


@pytest.mark.engines("javascript", needs=Capability.IMAGES)
@pytest.mark.parametrize("saver", ["memory", "sqlite"])
async def test_functions_and_classes_outlive_a_turn(talk: Any, saver: str, tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "db")) as sqlite:
        chat = talk(checkpointer=InMemorySaver() if saver == "memory" else sqlite)
        await chat.turn("class P { x = 7 }; const twice = n => 2 * n; let m = new Map([[1, 2]])")
        assert await chat.run("[twice(new P().x), m.get(1)]") == ["<result>[14, 2]</result>"]


@pytest.mark.engines("javascript")
@both
async def test_an_error_in_between_keeps_what_was_there(talk: Any) -> None:
    chat = talk()
    _, second, third = await chat.run("let a = 1", "a = 2; null.x", "a")
    assert '<error type="TypeError">' in second
    assert third == "<result>2</result>"


@both
async def test_code_that_is_refused_loses_nothing(talk: Any, evals: Any) -> None:
    chat = talk()
    too_long = " " * (Limits().source_bytes + 1)
    _, refused, _ = await chat.run(evals("let a = 1", too_long, "a += 1"))
    assert refused.startswith("<error")
    assert "bytes" in refused
    assert await chat.run("a") == ["<result>2</result>"]


# -- several evals in one message ----------------------------------------------------------


@pytest.mark.engines("javascript")
@both
async def test_evals_of_one_message_run_in_its_order(talk: Any, evals: Any) -> None:
    chat = talk()
    for _ in range(20):
        await chat.turn("globalThis.log = []")
        await chat.turn(evals(*[f"log.push({i}); log.join()" for i in range(4)]))
        state = (
            await chat.agent.aget_state(at("t"))
            if chat.use_async
            else chat.agent.get_state(at("t"))
        )
        answer = [m.text for m in state.values["messages"] if isinstance(m, ToolMessage)][-4:]
        expected = [",".join(map(str, range(i + 1))) for i in range(4)]
        assert answer == [f"<result>{text}</result>" for text in expected]
    assert await chat.run("log.length") == ["<result>4</result>"]


@pytest.mark.engines("javascript")
@both
async def test_order_holds_when_the_first_is_the_slowest(talk: Any, evals: Any) -> None:
    chat = talk()
    slow = "let a = 1; await new Promise(r => setTimeout(r, 300)); a = 2"
    assert (await chat.run(evals(slow, "a += 1", "a * 10")))[1:] == [
        "<result>3</result>",
        "<result>30</result>",
    ]


@pytest.mark.engines("javascript")
@both
async def test_evals_of_one_message_in_turn_and_call_mode(talk: Any, evals: Any) -> None:
    turn, call = talk(mode="turn"), talk(mode="call")
    assert await turn.run(evals("let a = 1", "a + 1")) == [
        "<result>1</result>",
        "<result>2</result>",
    ]
    assert (await call.run(evals("let a = 1", "typeof a")))[1] == "<result>undefined</result>"


async def test_an_eval_that_something_else_answers_is_not_waited_for(talk: Any, evals: Any) -> None:
    class AnswersOne(AgentMiddleware[Any, Any, Any]):
        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            if "skip" in request.tool_call["args"]["code"]:
                return ToolMessage("skipped", tool_call_id=request.tool_call["id"])
            return await handler(request)

    chat = talk(before=[AnswersOne()])
    assert await chat.run(evals("'skip'", "1 + 1")) == ["skipped", "<result>2</result>"]


async def test_an_eval_without_code_does_not_stop_the_next(talk: Any, evals: Any) -> None:
    chat = talk()
    message = evals("1", "let b = 2; b")
    message.tool_calls[0]["args"] = {"source": "1"}
    refused, answered = await chat.run(message)
    assert "code" in refused
    assert answered == "<result>2</result>"


# -- the graph's state ---------------------------------------------------------------------


@both
async def test_an_eval_commits_its_state_with_its_message(talk: Any) -> None:
    chat = talk()
    await chat.turn("let a = 1", "a = 2")
    for state in chat.agent.get_state_history(at("t")):
        answers = [m for m in state.values["messages"] if isinstance(m, ToolMessage)]
        records = state.values.get("interpreter_record")
        assert (records[-1]["sequence"] if records else 0) == len(answers)


@both
async def test_a_crash_later_in_the_turn_keeps_it(talk: Any) -> None:
    class Crash(AgentMiddleware[Any, Any, Any]):
        on = True

        def before_model(self, state: Any, runtime: Any) -> None:
            if self.on and isinstance(state["messages"][-1], ToolMessage):
                raise RuntimeError("crash")

    crash = Crash()
    chat = talk(before=[crash])
    with pytest.raises(RuntimeError, match="crash"):
        await chat.turn("let a = 41")
    crash.on = False
    assert await chat.run("a + 1") == ["<result>42</result>"]


@both
async def test_a_write_that_fails_leaves_the_last_stored_state(talk: Any) -> None:
    class Failing(InMemorySaver):
        on = False

        def put(self, *args: Any, **kwargs: Any) -> Any:
            if self.on:
                raise OSError("disk full")
            return super().put(*args, **kwargs)

        def put_writes(self, *args: Any, **kwargs: Any) -> Any:
            if self.on:
                raise OSError("disk full")
            return super().put_writes(*args, **kwargs)

    saver = Failing()

    @tool
    def fail() -> str:
        """Break the disk."""
        saver.on = True
        return "broken"

    chat = talk(checkpointer=saver, ptc=[fail])
    await chat.turn("let a = 1")
    with pytest.raises(OSError, match="disk full"):
        await chat.turn("a = 2; await tools.fail(); a")
    saver.on = False
    assert await chat.run("a") == ["<result>1</result>"]


@pytest.mark.engines("javascript")
@both
async def test_an_older_checkpoint_has_its_own_state(talk: Any) -> None:
    chat = talk()
    await chat.turn("let a = 1")
    old = chat.agent.get_state(at("t")).config["configurable"]["checkpoint_id"]
    await chat.turn("a = 2")
    (answer,) = await chat.run("a += 10; a", config=at("t", old))
    assert without_restored(answer) == "<result>11</result>"
    assert await chat.run("a") == ["<result>11</result>"]  # the fork is the newest now


@both
async def test_a_fork_by_update_state_restores_its_checkpoint(talk: Any) -> None:
    chat = talk()
    await chat.turn("let a = 1; const f = () => a")
    old = chat.agent.get_state(at("t")).config
    await chat.turn("a = 2")
    fork = chat.agent.update_state(old, {"messages": [HumanMessage("other way")]})
    assert await chat.run("f()", config=fork) == ["<result>1</result>"]


@both
async def test_replaying_a_step_runs_it_from_where_it_started(talk: Any, evals: Any) -> None:
    chat = talk()
    await chat.turn("let a = 1")
    await chat.turn(evals("a += 1", "a *= 10"))
    step = next(s for s in chat.agent.get_state_history(at("t")) if s.next == ("tools", "tools"))
    chat.say([])
    result = (
        await chat.agent.ainvoke(None, step.config)
        if chat.use_async
        else await asyncio.to_thread(chat.agent.invoke, None, step.config)
    )
    answer = [m.text for m in result["messages"] if isinstance(m, ToolMessage)]
    assert answer[-2:] == ["<result>2</result>", "<result>20</result>"]


@pytest.mark.engines("javascript")
@both
async def test_threads_never_see_each_other(talk: Any) -> None:
    chat = talk()

    async def turns(name: str) -> list[str]:
        found = []
        for step in range(4):
            agent_turn = {"messages": [("user", name)]}
            code = f"globalThis.canary ??= '{name}'; await new Promise(r => setTimeout(r, 5)); "
            code += f"[canary, globalThis.n = (globalThis.n ?? -1) + 1, {step}].join()"
            agent = _one_eval_agent(chat, code)
            call = agent.ainvoke(agent_turn, at(name))
            result = (
                await call
                if chat.use_async
                else await asyncio.to_thread(agent.invoke, agent_turn, at(name))
            )
            if not chat.use_async:
                call.close()
            found.append([m.text for m in result["messages"] if isinstance(m, ToolMessage)][-1])
        return found

    names = [f"thread{i}" for i in range(6)]
    for name, found in zip(names, await asyncio.gather(*map(turns, names)), strict=True):
        assert found == [f"<result>{name},{i},{i}</result>" for i in range(4)]


def _one_eval_agent(chat: Any, code: str) -> Any:
    """The same middleware and store behind a model that runs one piece of code."""
    call = {"name": "eval", "args": {"code": code}, "id": "same-id", "type": "tool_call"}
    script = iter([AIMessage(content="", tool_calls=[call]), AIMessage(content="done")])
    model = type(chat.model)(messages=script, seen=[])
    return create_agent(model, middleware=[chat.middleware], checkpointer=chat.agent.checkpointer)


async def test_two_runs_of_one_thread_at_once_both_start_from_its_state(talk: Any) -> None:
    chat = talk()
    await chat.turn("let a = 1")
    agents = [_one_eval_agent(chat, f"a += {n}; a") for n in (10, 100)]
    given = {"messages": [("user", "go")]}
    results = await asyncio.gather(*[agent.ainvoke(given, at("t")) for agent in agents])
    answer = {r["messages"][-2].text for r in results}
    assert answer <= {"<result>11</result>", "<result>101</result>", "<result>111</result>"}
    assert "<result>11</result>" in answer or "<result>101</result>" in answer


@pytest.mark.engines("javascript")
@both
async def test_without_a_checkpointer_variables_live_for_the_run(talk: Any) -> None:
    chat = talk(checkpointer=None)
    assert await chat.run("let a = 1", "a + 1") == [
        "<result>1</result>",
        "<result>2</result>",
    ]
    assert await chat.run("typeof a") == ["<result>undefined</result>"]
    config: dict[str, Any] = {"configurable": {}}
    await chat.turn("let b = 1", config=config)
    assert await chat.run("typeof b", config=config) == ["<result>undefined</result>"]


@both
async def test_a_run_without_a_thread_leaves_no_session(talk: Any) -> None:
    chat = talk(checkpointer=None)
    before = len(chat.middleware.stack._pool._sessions)
    await chat.turn("let a = 1", config={"configurable": {}})
    assert len(chat.middleware.stack._pool._sessions) == before


async def test_a_trivial_thread_is_small(talk: Any) -> None:
    chat = talk()
    await chat.turn("1 + 1")
    values = chat.agent.get_state(at("t")).values
    assert len(JsonPlusSerializer().dumps_typed(values)[1]) <= 16 * 1024


async def test_private_channels_stay_private(talk: Any) -> None:
    chat = talk()
    assert set(await chat.turn("1 + 1")) == {"messages"}


async def test_an_agent_in_a_graph_keeps_its_state_apart(talk: Any) -> None:
    chat = talk(checkpointer=True, snapshot_signing_key=b"k" * 32)
    builder = StateGraph(MessagesState)
    builder.add_node("one", chat.agent)
    builder.add_edge(START, "one")
    graph = builder.compile(checkpointer=InMemorySaver())
    for expected in ("1", "2"):
        chat.say([_call("globalThis.n = (globalThis.n ?? 0) + 1; n")])
        result = await graph.ainvoke({"messages": [("user", "go")]}, at("t"))
        assert result["messages"][-2].text == f"<result>{expected}</result>"


async def test_an_agent_called_once_in_a_graph_leaves_no_session(talk: Any) -> None:
    chat = talk(checkpointer=None)
    builder = StateGraph(MessagesState)
    builder.add_node("one", chat.agent)
    builder.add_edge(START, "one")
    graph = builder.compile(checkpointer=InMemorySaver())
    for _ in range(3):
        chat.say([_call("globalThis.n = (globalThis.n ?? 0) + 1; n")])
        result = await graph.ainvoke({"messages": [("user", "go")]}, at("t"))
        assert result["messages"][-2].text == "<result>1</result>"
    assert not chat.middleware.stack._pool._sessions


def _call(code: str) -> AIMessage:
    call = {"name": "eval", "args": {"code": code}, "id": "e1", "type": "tool_call"}
    return AIMessage(content="", tool_calls=[call])


async def test_more_conversations_than_live_sessions(talk: Any) -> None:
    chat = talk()
    threads = [f"t{i}" for i in range(40)]
    for thread in threads:
        await chat.turn(f"let name = '{thread}'; const f = () => name", thread=thread)
    live = [s for s in chat.middleware.stack._pool._sessions.values() if s.live]
    assert len(live) == 32
    for thread in threads:
        assert await chat.run("f()", thread=thread) == [f"<result>{thread}</result>"]


# -- another process -----------------------------------------------------------------------

_OTHER = """
    import sys
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langgraph.checkpoint.sqlite import SqliteSaver
    from interpstack_langchain import CodeInterpreterMiddleware

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools, **kwargs):
            return self

    path, code = sys.argv[1:]
    call = {"name": "eval", "args": {"code": code}, "id": "x", "type": "tool_call"}
    model = Model(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))
    with SqliteSaver.from_conn_string(path) as saver:
        agent = create_agent(
            model,
            middleware=[CodeInterpreterMiddleware(snapshot_signing_key="a secret of 24 bytes")],
            checkpointer=saver,
        )
        result = agent.invoke(
            {"messages": [("user", "go")]}, {"configurable": {"thread_id": "t"}}
        )
        print(result["messages"][-2].text)
"""


@pytest.mark.timeout(300)
def test_another_process_restores_the_state(tmp_path: Path) -> None:
    def run(code: str) -> str:
        command = [sys.executable, "-c", textwrap.dedent(_OTHER), str(tmp_path / "db"), code]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert run("let n = 1; const add = k => n += k; n") == "<result>1</result>"
    assert run("add(4)") == "<result>5</result>"


# -- stored states that cannot be used -----------------------------------------------------

KEY = b"0123456789abcdef0123456789abcdef"


def _flip(record: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    data = bytearray(record["data"])
    data[len(data) // 2] ^= 1
    return {**record, "data": bytes(data)}


DAMAGES = {
    "flipped": _flip,
    "truncated": lambda r, o: {**r, "data": r["data"][:-100]},
    "of another link": lambda r, o: {**r, "previous": o["checksum"]},
    "of another thread": lambda r, o: {**o, "sequence": r["sequence"]},
    "wrong shape": lambda r, o: {**r, "data": "text"},
    "without version": lambda r, o: {k: v for k, v in r.items() if k != "version"},
    "of the future": lambda r, o: {**r, "version": 99},
    "nothing in it": lambda r, o: {"id": "1", "sequence": r["sequence"]},
}
SIGNED = {
    "signature stripped": lambda r, o: {k: v for k, v in r.items() if k != "signature"},
    "signature changed": lambda r, o: {**r, "signature": bytes(32)},
    "sequence changed": lambda r, o: {**r, "sequence": r["sequence"] + 1},
}
CASES = [(name, change, key) for name, change in DAMAGES.items() for key in (None, KEY)]
CASES += [(name, change, KEY) for name, change in SIGNED.items()]


@pytest.mark.parametrize(
    ("change", "key"), [c[1:] for c in CASES], ids=[f"{c[0]}-{bool(c[2])}" for c in CASES]
)
async def test_a_state_that_cannot_be_trusted_is_left_alone(
    talk: Any, change: Any, key: bytes | None
) -> None:
    saver = InMemorySaver()
    chat = talk(checkpointer=saver, snapshot_signing_key=key)
    await chat.turn("let secret = 'other'", thread="other")
    await chat.turn("let a = 1")
    (other,) = chat.agent.get_state(at("other")).values["interpreter_record"]
    (good,) = chat.agent.get_state(at("t")).values["interpreter_record"]
    bad = {**change(dict(good), dict(other)), "id": "bad"}
    chat.agent.update_state(at("t"), {"interpreter_record": Overwrite([bad])})
    answers = await chat.run("typeof a + typeof secret", "globalThis.b = 1", "b")
    assert "<notice>" in answers[0]
    assert "could not be restored" in answers[0]
    assert answers[0].endswith("<result>undefinedundefined</result>")
    assert answers[2] == "<result>1</result>"  # it goes on in memory, and tells only once
    assert chat.agent.get_state(at("t")).values["interpreter_record"] == [bad]


@pytest.mark.parametrize("key", [None, KEY], ids=["unsigned", "signed"])
@pytest.mark.parametrize("turns", [1, 7, 8], ids=["one", "before a whole one", "a whole one"])
async def test_a_state_of_an_older_turn_is_refused(
    talk: Any, key: bytes | None, turns: int
) -> None:
    chat = talk(checkpointer=InMemorySaver(), snapshot_signing_key=key)
    for turn in range(turns):
        await chat.turn(f"globalThis.a = {turn}")
    old = chat.agent.get_state(at("t")).values["interpreter_record"]
    await chat.turn("a = -1")
    chat.agent.update_state(at("t"), {"interpreter_record": Overwrite(old)})
    (answer,) = await chat.run("typeof a")
    assert "of another turn" in answer
    assert answer.endswith("<result>undefined</result>")
    assert chat.agent.get_state(at("t")).values["interpreter_record"] == old


# -- the chain of records ------------------------------------------------------------------


@both
async def test_a_record_holds_what_changed_and_every_eighth_all(talk: Any) -> None:
    chat = talk()
    await chat.turn("const text = Array.from({length: 3000}, (_, i) => i * i).join(); let n = 0")
    for number in range(2, 20):
        await chat.turn("n += 1")
        records = chat.agent.get_state(at("t")).values["interpreter_record"]
        start = max(1, number // 8 * 8)
        assert [record["sequence"] for record in records] == list(range(start, number + 1))
        whole, *differences = records
        assert whole["previous"] == b""
        assert len(whole["data"]) > 6000
        assert all(record["previous"] and len(record["data"]) < 2000 for record in differences)


async def test_a_turn_that_changes_nothing_stores_little(talk: Any) -> None:
    saver = InMemorySaver()
    chat = talk(checkpointer=saver)
    await chat.turn("const text = 'x'.repeat(1e5)")
    before = _stored(saver)
    await chat.turn()
    assert _stored(saver) - before < 10


def _stored(saver: InMemorySaver) -> int:
    writes = [w for kept in saver.writes.values() for w in kept.values()]
    blobs = [blob for key, blob in saver.blobs.items() if key[2] == "interpreter_record"]
    written = [value for _, channel, value, _ in writes if channel == "interpreter_record"]
    return sum(len(data) for _, data in (*written, *blobs))


async def test_states_are_looked_up_in_the_last_few_turns_only(talk: Any) -> None:
    class Counting(InMemorySaver):
        depth = 0

        def get_delta_channel_history(self, **given: Any) -> Any:
            found = super().get_delta_channel_history(**given)
            self.depth = len(found["interpreter_record"]["writes"])
            return found

    saver = Counting()
    chat = talk(checkpointer=saver)
    await chat.turn("let a = 1")
    for _ in range(40):
        await chat.turn()
        assert saver.depth <= 16
    assert await talk(checkpointer=saver).run("a") == ["<result>1</result>"]


@pytest.mark.parametrize("key", [None, KEY], ids=["unsigned", "signed"])
@pytest.mark.parametrize("missing", [0, 1, 2])
async def test_a_chain_with_a_missing_link_is_refused(
    talk: Any, key: bytes | None, missing: int
) -> None:
    chat = talk(checkpointer=InMemorySaver(), snapshot_signing_key=key)
    await chat.turn("let a = 1", "a = 2", "a = 3", "a = 4")
    records = chat.agent.get_state(at("t")).values["interpreter_record"]
    rest = [record for index, record in enumerate(records) if index != missing]
    chat.agent.update_state(at("t"), {"interpreter_record": Overwrite(rest)})
    (answer,) = await talk(checkpointer=chat.agent.checkpointer, snapshot_signing_key=key).run(
        "typeof a"
    )
    assert "an earlier record that it builds on is missing" in answer
    assert answer.endswith("<result>undefined</result>")


async def test_a_record_never_builds_on_one_that_was_changed_meanwhile(talk: Any) -> None:
    chat = talk(checkpointer=InMemorySaver())
    await chat.turn("let a = 1", "a = 2")
    first, second = chat.agent.get_state(at("t")).values["interpreter_record"]
    spoiled = _flip(second, {})
    chat.agent.update_state(at("t"), {"interpreter_record": Overwrite([first, spoiled])})
    assert await chat.run("a += 1") == ["<result>3</result>"]  # by the live session
    (only,) = chat.agent.get_state(at("t")).values["interpreter_record"]
    assert only["previous"] == b""
    assert await talk(checkpointer=chat.agent.checkpointer).run("a") == ["<result>3</result>"]


_numbers = st.integers(1, 6)
_record = st.builds(
    lambda number, whole, tag: {"sequence": number, "previous": b"" if whole else b"p", "id": tag},
    _numbers, st.booleans(), st.integers(0, 3),
)  # fmt: skip
_write = st.lists(_record, max_size=3) | st.sampled_from([None, "text", {}, [1], 7])


@given(st.lists(_write, max_size=6), st.integers(0, 6))
def test_records_join_the_same_in_any_portions(writes: list[Any], at: int) -> None:
    assert joined(joined([], writes[:at]), writes[at:]) == joined([], writes)


@given(st.permutations(range(1, 9)), st.sets(_numbers))
def test_records_of_one_step_may_arrive_in_any_order(order: list[int], whole: set[int]) -> None:
    records = [{"sequence": n, "previous": b"" if n in whole else b"p"} for n in order]
    found = joined([], [[record] for record in records])
    assert [r["sequence"] for r in found] == list(range(max(whole, default=1), 9))


async def test_a_key_that_was_changed_refuses_and_the_old_one_still_works(talk: Any) -> None:
    saver = InMemorySaver()
    first = talk(checkpointer=saver, snapshot_signing_key=KEY)
    await first.turn("let a = 1")
    second = talk(checkpointer=saver, snapshot_signing_key=b"another key of enough bytes")
    assert "could not be restored" in (await second.run("typeof a"))[0]
    third = talk(checkpointer=saver, snapshot_signing_key=KEY)
    assert await third.run("a") == ["<result>1</result>"]


async def test_values_come_back_when_the_engine_was_built_anew(talk: Any) -> None:
    saver = InMemorySaver()
    await talk(checkpointer=saver).turn("let a = [1, new Date(0)]; const f = () => 1")
    # Without a console the guest starts from another heap: for images, another build.
    chat = talk(checkpointer=saver, capture_console=False)
    answers = await chat.run("a[1].getTime()", "f()", "a = 5")
    assert "<notice>" in answers[0]
    assert "f" in answers[0].partition("Not restored:")[2]
    assert answers[0].endswith("<result>0</result>")
    assert "was not restored because it is not serializable (type: function)" in answers[1]
    assert await talk(checkpointer=saver, capture_console=False).run("a") == ["<result>5</result>"]


async def test_an_empty_state_of_another_build_is_no_failure(talk: Any) -> None:
    saver = InMemorySaver()
    await talk(checkpointer=saver).turn("1 + 1")
    chat = talk(checkpointer=saver, capture_console=False)
    assert "could not" not in (await chat.run("let a = 1"))[0]
    assert await talk(checkpointer=saver, capture_console=False).run("a") == ["<result>1</result>"]


async def test_a_state_too_large_is_reported_once_and_values_are_kept(talk: Any) -> None:
    saver = InMemorySaver()
    limits = {"checkpointer": saver, "max_snapshot_bytes": 600}
    chat = talk(**limits)
    answers = await chat.run("let a = 1; const f = () => 1", "a", "f()")
    assert ["more than the 600" in text for text in answers] == [True, False, False]
    assert answers[2] == "<result>1</result>"
    (again,) = await talk(**limits).run("[a, typeof Object.getOwnPropertyDescriptor]")
    assert "Not restored: f" in again
    assert again.endswith('<result>[1, "function"]</result>')


async def test_a_state_with_no_room_at_all_does_not_end_storing(talk: Any) -> None:
    saver = InMemorySaver()
    await talk(checkpointer=saver, max_snapshot_bytes=1).turn("let a = 1")
    (answer,) = await talk(checkpointer=saver).run("globalThis.b = typeof a")
    assert "too large" in answer
    assert await talk(checkpointer=saver).run("b") == ["<result>undefined</result>"]


def test_a_whole_conversation_in_sqlite_is_small(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        for turn in range(3):
            agent = create_agent(
                _model(f"globalThis.n = {turn}; n"),
                middleware=[CodeInterpreterMiddleware()],
                checkpointer=saver,
            )
            agent.invoke({"messages": [("user", "go")]}, at("t"))
    with closing(sqlite3.connect(path)) as database:
        (size,) = database.execute("select max(length(checkpoint)) from checkpoints").fetchone()
    assert size <= 16 * 1024


def _model(code: str) -> Any:
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Model:
            return self

    return Model(messages=iter([_call(code), AIMessage(content="done")]))


async def test_records_have_numbers_and_ids(talk: Any) -> None:
    chat = talk()
    await chat.turn("1", "2", "3")
    records = chat.agent.get_state(at("t")).values["interpreter_record"]
    assert [record["sequence"] for record in records] == [1, 2, 3]
    assert len({record["id"] for record in records}) == 3
