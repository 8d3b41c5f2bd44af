"""Tools of MCP servers in an agent: its approvals, limits and events hold for them."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import ToolCallLimitMiddleware, wrap_tool_call
from langchain_core.messages import ToolMessage
from mcp_config import Notes, servers

from interpstack import ConfigurationError, InterpreterStack
from interpstack_langchain import CodeInterpreterMiddleware

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])
NOTE = "(await mcp.tools.note({text: 'paid'}))[0].text"


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes.empty(tmp_path)


@both
async def test_an_approval_comes_before_the_effect(talk: Any, notes: Notes) -> None:
    chat = talk(mcp=servers(notes), interrupt_on={"mcp.tools.note": True})
    try:
        paused = await chat.turn(
            f"const sum = await mcp.tools.add({{first: 1, second: 2}}); {NOTE}"
        )
        (asked,) = paused["__interrupt__"]
        (action,) = asked.value["action_requests"]
        assert (action["name"], action["args"]) == ("mcp.tools.note", {"text": "paid"})
        assert notes.text() == ""
        edited = {"name": "mcp.tools.note", "args": {"text": "less"}}
        answer = await chat.decide({"type": "edit", "edited_action": edited})
        (message,) = [m for m in answer["messages"] if isinstance(m, ToolMessage)]
        assert message.text == "<result>noted less</result>"
        assert notes.text() == "less\n"
    finally:
        await chat.middleware.aclose()


@both
async def test_a_rejected_call_is_not_made(talk: Any, notes: Notes) -> None:
    chat = talk(mcp=servers(notes), interrupt_on={"mcp.tools.note": True})
    try:
        await chat.turn(NOTE)
        answer = await chat.decide({"type": "reject", "message": "no"})
        (message,) = [m for m in answer["messages"] if isinstance(m, ToolMessage)]
        assert "a reviewer rejected this call of mcp.tools.note: no" in message.text
        assert notes.text() == ""
    finally:
        await chat.middleware.aclose()


async def test_the_name_that_code_uses_is_no_name_in_a_rule(talk: Any, notes: Notes) -> None:
    chat = talk(mcp=servers(notes), interrupt_on={"mcp.tools.readRecord": True})
    try:
        with pytest.raises(ConfigurationError) as raised:
            await chat.run("await mcp.tools.readRecord({key: 'k'})")
        text = str(raised.value)
        assert "'mcp.tools.readRecord' needs an approval, but MCP server 'tools' has no" in text
        assert "mcp.tools.read-record" in text
    finally:
        await chat.middleware.aclose()


@both
@pytest.mark.parametrize("mode", ["thread", "call"])
async def test_a_misspelt_name_lets_no_call_through(
    talk: Any, notes: Notes, use_async: bool, mode: str
) -> None:
    chat = talk(mcp=servers(notes), interrupt_on={"mcp.tools.notes": True}, mode=mode)
    try:
        refused = "'mcp.tools.notes' needs an approval, but MCP server 'tools' has no such"
        with pytest.raises(ConfigurationError, match=refused):
            await chat.run(NOTE)
        assert notes.text() == ""
    finally:
        await chat.middleware.aclose()
    with pytest.raises(ConfigurationError, match=r"interrupt_on names 'mcp\.tolls\.note'"):
        talk(mcp=servers(notes), interrupt_on={"mcp.tolls.note": True})


async def test_values_errors_and_other_middleware(talk: Any, notes: Notes) -> None:
    seen: list[str] = []

    @wrap_tool_call
    async def watch(request: Any, handler: Any) -> Any:
        seen.append(request.tool_call["name"])
        return await handler(request)

    limit = ToolCallLimitMiddleware(
        tool_name="mcp.tools.pid", run_limit=1, exit_behavior="continue"
    )
    chat = talk(mcp=servers(notes), before=[watch], after=[limit])
    try:
        answers = await chat.run(
            "(await mcp.tools.readRecord({key: 'k'})).tags",
            "(await mcp.tools.blocks())[1].mimeType",
            "await mcp.tools.fail({why: 'x'})",
            "await mcp.tools.pid(); await mcp.tools.pid()",
        )
    finally:
        await chat.middleware.aclose()
    assert answers[0] == '<result>["a", "b"]</result>'
    assert answers[1] == "<result>image/png</result>"
    assert "Error executing tool fail" in answers[2]
    assert "limit" in answers[3].lower()
    assert "mcp.tools.readRecord".replace("R", "-r") in seen or "mcp.tools.read-record" in seen
    prompt = chat.model.seen[0][0].text
    assert "Servers: `tools`." in prompt


@both
async def test_progress_reaches_the_custom_stream(
    talk: Any, evals: Any, notes: Notes, use_async: bool
) -> None:
    chat = talk(mcp=servers(notes))
    code = "await Promise.all([3, 4].map(steps => mcp.tools.count({steps}))); 'done'"
    chat.say([evals(code)])
    given, config = {"messages": [("user", "go")]}, {"configurable": {"thread_id": "t"}}
    try:
        if use_async:
            stream = chat.agent.astream(given, config, stream_mode="custom")
            events = [event async for event in stream]
        else:
            stream = chat.agent.stream
            events = await asyncio.to_thread(
                lambda: list(stream(given, config, stream_mode="custom"))
            )
    finally:
        await chat.middleware.aclose()
    for steps in (3, 4):
        (done,) = {event["id"] for event in events if event.get("total") == steps}
        own = [event for event in events if event["id"] == done]
        assert [event["phase"] for event in own][:: len(own) - 1] == ["start", "complete"]
        answers = [event for event in own if event["phase"] == "progress"]
        assert {event["tool"] for event in own} == {"mcp.tools.count"}
        assert answers[0]["progress"] == 1
        assert answers[0]["message"] == "step 1"
        assert [event["progress"] for event in answers] == sorted(
            {event["progress"] for event in answers}
        )


def test_wrong_arguments_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        CodeInterpreterMiddleware(mcp=tmp_path / "missing.json")
    given = {"mcpServers": {"a": {"command": "a"}}}
    plain = InterpreterStack(plugins=["langchain", "persistence", "durable"])
    with plain, pytest.raises(ConfigurationError, match="lacks the plugin 'mcp'"):
        CodeInterpreterMiddleware(stack=plain, mcp=given)
    monkeypatch.setitem(sys.modules, "interpstack_mcp.api", None)
    with pytest.raises(ConfigurationError, match="is not installed"):
        CodeInterpreterMiddleware(mcp=given)
