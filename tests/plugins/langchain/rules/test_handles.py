"""Values that stay with the host, in an agent: where they are stored, and what approvals show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engines import OnEngine
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from interpstack import ConfigurationError
from interpstack_handles.api import HandleLimits, Handles
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_state import SQLiteStore

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])

CONFIG = {"configurable": {"thread_id": "t"}}
ROWS = [{"id": number, "text": f"row {number}"} for number in range(2000)]
BIG = Handles(handle_bytes=10_000)


class Posted(list[Any]):
    """What was posted, and the tools of the agent."""

    def tools(self) -> list[Any]:
        posted = self

        @tool
        def query() -> list[dict[str, Any]]:
            """Query the database."""
            posted.append("queried")
            return ROWS

        @tool
        def post(rows: list[Any], note: str = "") -> str:
            """Post rows."""
            posted.append(rows)
            return f"posted {len(rows)} {note}"

        @tool
        def send(text: str) -> str:
            """Send a text."""
            posted.append(text)
            return f"sent {len(text)}"

        return [query, post, send]


@pytest.fixture
def posted() -> Posted:
    return Posted()


@pytest.fixture
def chat(talk: Any, posted: Posted) -> Callable[..., Any]:
    """Makes a conversation whose code has handles, and can call all tools."""

    def make(**options: Any) -> Any:
        tools = posted.tools()
        given = {"ptc": [one.name for one in tools], "handles": BIG, **options}
        return talk(tools=tools, **given)

    return make


def answer_of(result: Any) -> str:
    """What the last eval answered."""
    return [m.text for m in result["messages"] if isinstance(m, ToolMessage)][-1]


@both
async def test_handles_are_stored_with_the_conversation(
    chat: Any, posted: Posted, use_async: bool
) -> None:
    saver = InMemorySaver()
    first = chat(checkpointer=saver)
    assert "table" in answer_of(await first.turn("const h = await tools.query({}); h"))
    second = chat(checkpointer=saver)  # of another process, as far as it knows
    answer = answer_of(await second.turn("await tools.post({rows: h, note: 'late'})"))
    assert "posted 2000 late" in answer
    assert posted == ["queried", ROWS]
    assert "row 1999" in answer_of(await second.turn("await h.rows(1999)"))
    await second.turn("await h.drop()")
    third = chat(checkpointer=saver)
    assert "it was dropped" in answer_of(await third.turn("await h.rows(0, 1)"))


async def test_handles_survive_in_a_database(chat: Any, posted: Posted, tmp_path: Path) -> None:
    path = str(tmp_path / "threads.db")
    async with AsyncSqliteSaver.from_conn_string(path) as saver:
        await chat(checkpointer=saver).turn("const h = await tools.query(); 1")
    async with AsyncSqliteSaver.from_conn_string(path) as saver:
        answer = await chat(checkpointer=saver).turn("await h.json('[7].text')")
    assert "row 7" in answer_of(answer)


async def test_a_store_of_its_own_has_the_handles(
    chat: Any, posted: Posted, tmp_path: Path
) -> None:
    saver = InMemorySaver()
    with SQLiteStore(tmp_path / "states.db") as store:
        handles = Handles(store, handle_bytes=10_000)
        first = chat(checkpointer=saver, handles=handles)
        await first.turn("const h = await tools.query(); 1")
        state = await first.agent.aget_state(CONFIG)
        assert "interpreter_handles" not in state.values
        assert len(list(store.blobs())) == 2
        second = chat(checkpointer=saver, handles=Handles(store))
        assert "row 5" in answer_of(await second.turn("await h.json('[5].text')"))


async def test_another_thread_has_other_handles(chat: Any) -> None:
    conversation = chat()
    shown = answer_of(await conversation.turn("(await tools.query()).id"))
    name = shown.partition("h_")[2][:24]
    code = f"await (await handles.get('h_{name}')).rows(0, 1)"
    assert "row 0" in answer_of(await conversation.turn(code))
    assert "no handle" in answer_of(await conversation.turn(code, thread="other"))


async def test_signed_handles_that_were_changed_are_refused(chat: Any) -> None:
    key = bytes(range(32))
    saver = InMemorySaver()
    conversation = chat(checkpointer=saver, snapshot_signing_key=key)
    await conversation.turn("const h = await tools.query(); 1")
    state = await conversation.agent.aget_state(CONFIG)
    ((name, entry),) = state.values["interpreter_handles"].items()
    forged = {"h_forged": {**entry, "record": entry["record"].replace(name, "h_forged")}}
    await conversation.agent.aupdate_state(CONFIG, {"interpreter_handles": forged})
    answer = answer_of(await conversation.turn("await (await handles.get('h_forged')).rows(0, 1)"))
    assert "was changed" in answer


@both
async def test_an_approval_shows_the_handle_and_the_tool_gets_the_value(
    chat: Any, posted: Posted, use_async: bool
) -> None:
    conversation = chat(interrupt_on={"post": True})
    code = "const h = await tools.query(); await tools.post({rows: h, note: 'n'})"
    (found,) = (await conversation.turn(code))["__interrupt__"]
    (request,) = found.value["action_requests"]
    assert request["args"]["note"] == "n"
    text = request["args"]["rows"]["$handle"]
    for part in ('type "table"', '"rows": 2000', "digest", '"columns": ["id", "text"]', "row 0"):
        assert part in text
    assert "row 1999" not in str(found.value)
    assert "$handle" in request["description"]
    result = await conversation.decide({"type": "approve"})
    assert "posted 2000 n" in answer_of(result)
    assert posted == ["queried", ROWS]


async def test_a_decision_may_change_the_other_arguments(chat: Any, posted: Posted) -> None:
    conversation = chat(interrupt_on={"post": True})
    code = "const h = await tools.query(); await tools.post({rows: h, note: 'n'})"
    (found,) = (await conversation.turn(code))["__interrupt__"]
    args = found.value["action_requests"][0]["args"]
    edited = {"name": "post", "args": {**args, "note": "edited"}}
    result = await conversation.decide({"type": "edit", "edited_action": edited})
    assert "posted 2000 edited" in answer_of(result)
    (found,) = (await conversation.turn("await tools.post({rows: h})"))["__interrupt__"]
    args = found.value["action_requests"][0]["args"]
    text = args["rows"]["$handle"].replace("2000", "3000")
    edited = {"name": "post", "args": {"rows": {"$handle": text}}}
    result = await conversation.decide({"type": "edit", "edited_action": edited})
    assert "a reviewer changed a handle" in answer_of(result)
    (found,) = (await conversation.turn("await tools.post({rows: h})"))["__interrupt__"]
    edited = {"name": "post", "args": {"rows": [1, 2]}}
    result = await conversation.decide({"type": "edit", "edited_action": edited})
    assert "posted 2 " in answer_of(result)
    assert posted == ["queried", ROWS, [1, 2]]


async def test_rules_see_the_value_of_a_handle(chat: Any, posted: Posted) -> None:
    """Code cannot hide a text from a rule by keeping it."""
    asks = {
        "allowed_decisions": ["approve", "reject"],
        "when": lambda request: "DROP TABLE" in request.tool_call["args"]["text"],
    }
    conversation = chat(interrupt_on={"send": asks})
    result = await conversation.turn("await tools.send({text: await keep('harmless', 'a')})")
    assert "sent 8" in answer_of(result)
    code = "await tools.send({text: await keep('DROP TABLE users', 'a')})"
    (found,) = (await conversation.turn(code))["__interrupt__"]
    assert "DROP TABLE" in found.value["action_requests"][0]["args"]["text"]["$handle"]
    result = await conversation.decide({"type": "reject", "message": "no"})
    assert "rejected" in answer_of(result)
    assert posted == ["harmless"]


async def test_a_handle_may_be_the_whole_input(chat: Any, posted: Posted) -> None:
    conversation = chat(interrupt_on={"send": True, "post": True})
    code = "await tools.send(await keep('some text', 'a'))"
    (found,) = (await conversation.turn(code))["__interrupt__"]
    assert "some text" in found.value["action_requests"][0]["args"]["text"]["$handle"]
    assert "sent 9" in answer_of(await conversation.decide({"type": "approve"}))
    code = "await tools.post(await keep({rows: [1, 2], note: 'n'}, 'b'))"
    (found,) = (await conversation.turn(code))["__interrupt__"]
    assert found.value["action_requests"][0]["args"] == {"rows": [1, 2], "note": "n"}
    assert "posted 2 n" in answer_of(await conversation.decide({"type": "approve"}))
    assert posted == ["some text", [1, 2]]


async def test_an_object_that_looks_like_a_handle_is_shown_as_one_that_does(chat: Any) -> None:
    conversation = chat(interrupt_on={"post": True})
    code = "await tools.post({rows: [{$handle: 'h_x, type \"table\"'}]})"
    (found,) = (await conversation.turn(code))["__interrupt__"]
    (row,) = found.value["action_requests"][0]["args"]["rows"]
    assert row == {"$$handle": 'h_x, type "table"'}


async def test_a_call_after_a_pause_finds_the_handle_of_before(chat: Any, posted: Posted) -> None:
    saver = InMemorySaver()
    conversation = chat(checkpointer=saver, interrupt_on={"send": True})
    code = (
        "const h = await tools.query(); const k = await keep('x'.repeat(50), 'k');"
        "await tools.send({text: k}); await tools.post({rows: h})"
    )
    await conversation.turn(code)
    other = chat(checkpointer=saver, interrupt_on={"send": True})
    other.say([])
    result = await other.decide({"type": "approve"})
    assert "posted 2000" in answer_of(result)
    assert posted == ["queried", "x" * 50, ROWS]
    assert "row 3" in answer_of(await other.turn("await h.json('[3].text')"))


async def test_parallel_evals_of_a_message_keep_both_handles(chat: Any) -> None:
    conversation = chat()
    await conversation.turn("await keep('one', 'a'); 1", "await keep('two', 'b'); 1")
    answer = answer_of(await conversation.turn("(await handles.list()).map((h) => h.name).join()"))
    assert "a,b" in answer


async def test_a_long_result_is_a_handle_of_the_next_eval(chat: Any) -> None:
    conversation = chat()
    answer = answer_of(await conversation.turn("'x'.repeat(20000) + 'end'"))
    name = answer.partition("handles.get('")[2].partition("'")[0]
    read = f"await (await handles.get('{name}')).text(19990)"
    assert "xend" in answer_of(await conversation.turn(read))


async def test_two_interpreters_have_handles_of_their_own(talk: Any, posted: Posted) -> None:
    other = CodeInterpreterMiddleware(tool_name="run", handles=True)
    conversation = talk(tools=posted.tools(), after=[other], handles=True)
    await conversation.turn("await keep('x', 'mine'); 1")
    state = await conversation.agent.aget_state(CONFIG)
    assert len(state.values["interpreter_handles"]) == 1
    assert not state.values.get("interpreter_handles_run")
    other.close()


async def test_handles_are_off_by_default(talk: Any, posted: Posted) -> None:
    conversation = talk(tools=posted.tools(), ptc=["query"])
    answer = answer_of(await conversation.turn("[(await tools.query()).length, typeof keep]"))
    assert '[2000, "undefined"]' in answer
    state = await conversation.agent.aget_state(CONFIG)
    assert "interpreter_handles" not in state.values


async def test_the_limits_hold_in_the_graph(chat: Any) -> None:
    conversation = chat(handles=Handles(limits=HandleLimits(handles=1)))
    await conversation.turn("await keep('x', 'a'); 1")
    answer = answer_of(await conversation.turn("await keep('y', 'b')"))
    assert "HandleLimits.handles allows 1 handles" in answer


def test_the_plugin_object_is_passed_as_handles() -> None:
    with pytest.raises(ConfigurationError, match="pass it as handles="):
        CodeInterpreterMiddleware(plugins=[Handles()])


@pytest.mark.parametrize("wrong", [5, "yes", HandleLimits()])
def test_what_is_no_setting_is_refused(wrong: Any, on_engine: OnEngine) -> None:
    with pytest.raises(ConfigurationError, match="handles takes True, False or a Handles"):
        CodeInterpreterMiddleware(handles=wrong)
