"""The hooks: connections with the first cell, offers with the tools of the moment."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import attrs
import pytest
from mcp_config import Notes, servers

from interpstack import (
    CellContext,
    ConfigurationError,
    GuestException,
    HostOffer,
    HostTool,
    InterpreterStack,
)
from interpstack_mcp.api import McpCalls, McpServers, mcp


@pytest.fixture
def shared(shared_server: Any) -> McpServers:
    return McpServers.of(shared_server.given)


async def test_changes_of_the_list_are_followed(run: Any) -> None:
    assert "learned" in await run("await mcp.tools.learn({name: 'later'})")
    async with asyncio.timeout(60):  # the server tells of it when it likes
        while await run("typeof mcp.tools.later") != "<result>function</result>":
            pass
    assert "this is later" in await run("(await mcp.tools.later())[0].text")


async def test_a_server_that_is_missing_is_noticed_once(notes: Notes) -> None:
    given = servers(notes, gone={"command": "no-such-program"}, bad={"command": sys.executable})
    given["mcpServers"]["bad"]["args"] = ["-c", "import sys; sys.exit('no key is set')"]
    async with InterpreterStack(plugins=[mcp(given)]) as stack, stack.session() as session:
        first = await session.eval("(await mcp.tools.add({first: 1, second: 1})).result")
        assert first.text == "2"
        assert len(first.notices) == 2
        assert "'gone' is not available: there is no program no-such-program" in first.notices[0]
        assert "it wrote: no key is set" in first.notices[1]
        assert (await session.eval("1")).notices == ()
        found = await session.eval("await mcp.describe('gone')")
        assert found.text == "no tools"


async def test_an_offer_may_bring_the_servers(shared: McpServers) -> None:
    async with InterpreterStack(plugins=["mcp"]) as stack, stack.session() as session:
        assert stack.prompt(session.offer) == ""
        assert (await session.eval("typeof mcp")).text == "undefined"
        session.bind(HostOffer(parts=[shared]))
        assert (await session.eval("typeof mcp.tools.add")).text == "function"


async def test_an_adapter_runs_calls_in_its_own_way(shared: McpServers) -> None:
    made: list[str] = []

    def adapt(tool: HostTool) -> HostTool:
        async def call(given: Any, context: CellContext) -> Any:
            made.append(tool.name)
            if tool.name.endswith("fail"):
                raise GuestException("not now")
            return await tool.call(given, context)

        return attrs.evolve(tool, call=call)

    offer = HostOffer(parts=[shared, McpCalls(adapt, frozenset(["mcp.tools.add"]))])
    async with InterpreterStack(plugins=["mcp"]) as stack, stack.session() as session:
        for _ in range(2):
            session.bind(offer)
            outcome = await session.eval("(await mcp.tools.add({first: 1, second: 1})).result")
            assert outcome.text == "2"
        bound = session.offer
        assert (await session.eval("1")).ok
        assert session.offer is bound
        assert "not now" in str((await session.eval("await mcp.tools.fail({why: 'a'})")).error)
    assert made == ["mcp.tools.add", "mcp.tools.add", "mcp.tools.fail"]


async def test_rules_for_a_tool_that_does_not_exist_stop_the_cell(shared: McpServers) -> None:
    calls = McpCalls(lambda tool: tool, frozenset(["mcp.tools.remove"]))
    async with InterpreterStack(plugins=["mcp"]) as stack, stack.session() as session:
        session.bind(HostOffer(parts=[shared, calls]))
        refused = "'mcp.tools.remove' needs an approval, but MCP server 'tools' has no such tool;"
        with pytest.raises(ConfigurationError, match=refused):
            await session.eval("1")


async def test_python_calls_tools_by_their_own_names(shared: McpServers) -> None:
    pytest.importorskip("pydantic_monty")
    async with InterpreterStack("monty", [mcp(shared)]) as stack, stack.session() as session:
        outcome = await session.eval("mcp.tools.read_record(key='k')")
        text = outcome.text if outcome.ok else str(outcome.error)
        assert "'tags': ['a', 'b']" in text


async def test_a_missing_folder_of_a_server_is_no_missing_program() -> None:
    given = {"mcpServers": {"s": {"command": sys.executable, "cwd": "/no/such/folder"}}}
    async with InterpreterStack(plugins=[mcp(given)]) as stack, stack.session() as session:
        (notice,) = (await session.eval("await mcp.describe('s')")).notices
    assert "there is no folder /no/such/folder, which is its 'cwd'" in notice
