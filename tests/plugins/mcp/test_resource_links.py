"""Resources to which results of tools link, read from code by `mcp.read`."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from mcp_config import Notes, servers

from interpstack import InterpreterStack
from interpstack_mcp.api import mcp

#: Answers `resources/read` with what the test puts in its place.
ODD = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    about = {
        "protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "resources": {}},
        "serverInfo": {"name": "s", "version": "1"},
    }
    link = {"type": "resource_link", "uri": "notes://text", "name": "n"}
    results = {
        "initialize": about,
        "tools/list": {"tools": [{"name": "link", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [link]},
        "resources/read": ANSWER,
    }
    answer = {"error": {"code": -32601, "message": "unknown"}}
    if asked["method"] in results:
        answer = {"result": results[asked["method"]]}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


def odd(answer: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-c", ODD.replace("ANSWER", repr(answer))]}


@pytest_asyncio.fixture
async def session(notes: Notes) -> AsyncIterator[Any]:
    given = servers(notes, other=servers(notes)["mcpServers"]["tools"])
    async with InterpreterStack(plugins=[mcp(given)]) as stack, stack.session() as made:
        yield made


async def result(session: Any, code: str) -> Any:
    outcome = await session.eval(f"JSON.stringify({code})")
    assert outcome.ok, outcome.error
    return json.loads(outcome.text)


async def refusal(session: Any, code: str) -> str:
    outcome = await session.eval(code)
    assert outcome.error is not None
    return f"{outcome.error.name}: {outcome.error.message}"


async def test_a_link_that_a_tool_returned_is_read(session: Any) -> None:
    await session.eval("const [link] = await mcp.tools.link({uri: 'notes://text'});")
    (text,) = await result(session, "await mcp.read(link)")
    assert text["uri"] == "notes://text"
    assert text["mimeType"] == "text/plain"
    assert text["text"].startswith("text of ")
    assert await result(session, "await mcp.read(link.uri)") == [text]
    await session.eval("await mcp.tools.link({uri: 'notes://bytes'})")
    (data,) = await result(session, "await mcp.read('notes://bytes')")
    assert (data["mimeType"], data["blob"]) == ("image/png", "AAE=")


async def test_a_resource_to_which_no_tool_of_this_session_linked_is_not_read(run: Any) -> None:
    given = "['notes://text', {uri: 'notes://bytes'}, undefined, 7, {}, {uri: {}}, ['a']]"
    refused = f"(await Promise.allSettled({given}.map(one => mcp.read(one)))).map(one => one.reason"
    messages = (await run(f"{refused}?.message).join('\\n')")).splitlines()
    assert len(messages) == 7
    for message in messages:
        assert "mcp.read takes a resource_link that a tool has returned to this session" in message


async def test_a_link_of_one_session_is_not_read_in_another(notes: Notes) -> None:
    made = InterpreterStack(plugins=[mcp(servers(notes))])
    async with made as stack, stack.session("a") as first, stack.session("b") as second:
        assert (await first.eval("await mcp.tools.link({uri: 'notes://text'})")).ok
        found = await refusal(second, "await mcp.read('notes://text')")
        assert "takes a resource_link" in found
        assert (await first.eval("await mcp.read('notes://text')")).ok


async def test_a_uri_that_two_servers_linked_to_needs_the_name_of_the_server(session: Any) -> None:
    pids = await result(
        session,
        "[(await mcp.tools.pid())[0].text, (await mcp.other.pid())[0].text]",
    )
    await session.eval("await mcp.tools.link({uri: 'notes://text'})")
    assert await result(session, "(await mcp.read('notes://text'))[0].text") == f"text of {pids[0]}"
    await session.eval("await mcp.other.link({uri: 'notes://text'})")
    found = await refusal(session, "await mcp.read('notes://text')")
    assert "the servers 'other' and 'tools' have returned a link to 'notes://text'" in found
    assert """as in {"uri": 'notes://text', "server": 'other'}""" in found
    texts = "link => ['tools', 'other'].map(async server => "
    texts += "(await mcp.read({...link, server}))[0].text)"
    one = "(await mcp.tools.link({uri: 'notes://text'}))[0]"
    read = await result(session, f"await Promise.all(({texts})({one}))")
    assert read == [f"text of {pid}" for pid in pids]
    found = await refusal(session, "await mcp.read({uri: 'notes://text', server: 'gone'})")
    assert "server 'gone' has not returned a link to 'notes://text'" in found


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ({"contents": "a"}, "does not fit the protocol: contents is not an array"),
        ({"contents": [5]}, "does not fit the protocol: contents.0 is not an object"),
        ({"contents": [{"uri": "a:b"}]}, "does not fit the protocol: contents.0.text is missing"),
        ({}, "does not fit the protocol: contents is missing"),
    ],
)
async def test_contents_that_do_not_fit_the_protocol_are_refused(answer: Any, found: str) -> None:
    given = {"mcpServers": {"odd": odd(answer)}}
    async with InterpreterStack(plugins=[mcp(given)]) as stack, stack.session() as session:
        assert (await session.eval("const [link] = await mcp.odd.link();")).ok
        refused = await refusal(session, "await mcp.read(link)")
    assert refused.startswith("McpAnswerInvalid: mcp.read was called, but the answer of")
    assert found in refused


async def test_a_server_without_the_resource_answers_with_its_error(session: Any) -> None:
    await session.eval("await mcp.tools.link({uri: 'notes://none'})")
    found = await refusal(session, "await mcp.read('notes://none')")
    assert "notes://none" in found
