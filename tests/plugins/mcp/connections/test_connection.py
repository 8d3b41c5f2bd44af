"""The life of one connection: lost, made again, limited."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from typing import Any

import attrs
import pytest
from mcp_config import Notes, servers

from interpstack_mcp.configuration import read_servers
from interpstack_mcp.connections.connection import ServerConnection
from interpstack_mcp.connections.failures import Lost, Unavailable
from interpstack_mcp.limits import McpLimits


def connection(given: Any, **limits: Any) -> ServerConnection:
    (server,) = read_servers(given)
    return ServerConnection(server, McpLimits(**limits))


def scripted(code: str) -> dict[str, Any]:
    return {"mcpServers": {"s": {"command": sys.executable, "args": ["-c", code]}}}


async def text_of(made: ServerConnection, tool: str, **arguments: Any) -> str:
    result = await made.call(tool, arguments, "key", None)
    return str(result.content[0].text)  # type: ignore[union-attr]


async def test_a_killed_server_is_started_again_and_its_request_is_not_repeated(
    notes: Notes,
) -> None:
    made = connection(servers(notes))
    try:
        pid = int(await text_of(made, "pid"))
        running = asyncio.ensure_future(text_of(made, "note", text="once", seconds=60))
        await notes.wait_for("once")
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(Lost, match="the connection to the server was lost"):
            await running
        assert int(await text_of(made, "pid")) != pid
        assert notes.text() == "once\n"
    finally:
        await made.aclose()


ANSWERS = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    tools = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
    about = {
        "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    }
    results = {"initialize": about, "tools/list": tools, "tools/call": BAD}
    answer = {"error": {"code": -32601, "message": "unknown"}}
    if asked["method"] in results:
        answer = {"result": results[asked["method"]]}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


async def test_a_loss_says_what_this_side_refused() -> None:
    code = ANSWERS.replace("BAD", "{'content': [], 'structuredContent': {'a': [0] * 2000}}")
    made = connection(scripted(code), message_values=1000)
    try:
        with pytest.raises(
            Lost, match=r"lost \(a message of the server holds more than 1000 values"
        ):
            await text_of(made, "t")
    finally:
        await made.aclose()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            """print("  quota \\x1b used up", file=sys.stderr, flush=True); os._exit(3)""",
            r"connection to the server was lost; it wrote: quota  used up$",
        ),
        (
            """os.close(1); time.sleep(0.1); print("last words", file=sys.stderr); sys.exit(3)""",
            r"connection to the server was lost; it wrote: last words$",
        ),
        (
            """print("KeyError: 5", flush=True); os._exit(3)""",
            r"connection to the server was lost; meanwhile, the server sent other output: Key",
        ),
        (
            """print(json.dumps({"jsonrpc": "2.0", "id": 99, "result": {}}), flush=True)""",
            r"no answer came in 1 seconds; meanwhile, the server sent an answer with the id 99, ",
        ),
    ],
)
async def test_a_call_without_an_answer_shows_what_the_server_wrote(
    code: str, message: str
) -> None:
    calling = f"    if asked['method'] == 'tools/call':\n        {code}\n        continue\n"
    answers = ANSWERS.replace("import json, sys", "import json, os, sys, time")
    answers = answers.replace("    tools =", f"{calling}    tools =", 1).replace("BAD", "{}")
    made = connection(scripted(answers), call_seconds=1)
    made.older.add("s")
    try:
        with pytest.raises(Lost, match=message):
            await text_of(made, "t")
    finally:
        await made.aclose()


async def test_a_server_whose_handshake_comes_in_a_batch_is_refused_with_the_reason() -> None:
    code = ANSWERS.replace("print(json.dumps({", "print(json.dumps([{").replace(
        "answer})", "answer}])"
    )
    made = connection(scripted(code.replace("BAD", "{}")))
    made.older.add("s")
    fault = (await made.listed()).fault
    assert fault.startswith("an answer of it is not accepted: it came in a batch (a JSON array)")
    await made.aclose()


async def test_many_callers_share_one_attempt(notes: Notes) -> None:
    made = connection(servers(notes))
    try:
        pids = await asyncio.gather(*(text_of(made, "pid") for _ in range(20)))
        assert len({*pids}) == 1
    finally:
        await made.aclose()


async def test_a_call_that_is_cancelled_is_cancelled_at_the_server(notes: Notes) -> None:
    made = connection(servers(notes))
    try:
        await made.ready()
        running = asyncio.ensure_future(text_of(made, "note", text="long", seconds=60))
        await notes.wait_for("long")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await notes.wait_for("cancelled long")
        assert await text_of(made, "note", text="next") == "noted next"
    finally:
        await made.aclose()


async def test_a_call_that_takes_too_long_says_that_it_may_have_run(notes: Notes) -> None:
    made = connection(servers(notes), call_seconds=0.5)
    try:
        await made.ready()
        with pytest.raises(Lost, match=r"no answer came in 0\.5 seconds"):
            await text_of(made, "note", text="slow", seconds=60)
    finally:
        await made.aclose()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import time; time.sleep(600)", "did not answer within 1 seconds"),
        (
            "import sys; sys.exit('broken')",
            "^it closed the connection before it answered; it wrote: broken$",
        ),
    ],
)
async def test_a_server_that_does_not_start_is_waited_for_once(code: str, message: str) -> None:
    made = connection(scripted(code), connect_seconds=1)
    with pytest.raises(Unavailable, match=message):
        await made.ready()
    with pytest.raises(Unavailable, match=message):  # at once: the next attempt is due later
        await made.ready()
    assert re.search(message, (await made.listed()).fault)
    assert await made.listed() is await made.listed()
    await made.aclose()
    with pytest.raises(Unavailable):
        await made.ready()


async def test_a_server_with_too_many_tools_is_refused(notes: Notes) -> None:
    made = connection(servers(notes), tools=3)
    with pytest.raises(Unavailable, match="more than 3 tools"):
        await made.ready()
    await made.aclose()


async def test_pauses_between_attempts_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    made = connection(scripted("import sys; sys.exit(1)"))
    pauses = []
    for _ in range(4):
        made._not_before = 0.0
        with pytest.raises(Unavailable):
            await made.ready()
        pauses.append(made._not_before - __import__("time").monotonic())
    assert pauses == sorted(pauses)
    assert pauses[-1] > 4 * pauses[0]


OLDER = """
import json, os, sys, time
NAMED = False
STARTS = sys.argv[1]
with open(STARTS, "a") as starts:
    starts.write("start\\n")
for line in sys.stdin:
    asked = json.loads(line)
    with open(STARTS, "a") as starts:
        starts.write(asked["method"] + "\\n")
    if asked["method"] == "server/discover":
        PROBED
        continue
    about = {
        "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    }
    since_2026 = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    results = {"initialize": about, "tools/list": {"tools": TOOLS, **since_2026}}
    if "id" in asked:
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": results.get(asked["method"], {})}
        print(json.dumps(answer), flush=True)
"""
GOOD = {"name": "good", "inputSchema": {"type": "object"}}


def older(probed: str, notes: Notes, tools: Any = (GOOD,)) -> ServerConnection:
    code = OLDER.replace("PROBED", probed).replace("TOOLS", repr([*tools]))
    given = {"command": sys.executable, "args": ["-c", code, str(notes.path)]}
    return connection({"mcpServers": {"s": given}})


async def test_a_server_that_ends_on_the_question_for_its_version_is_started_again(
    notes: Notes,
) -> None:
    made = older("sys.exit('expected initialize')", notes)
    again = attrs.evolve(made)
    try:
        assert [tool.name for tool in (await made.ready()).tools] == ["good"]
        expected = ["start", "server/discover", "start", "initialize"]
        assert notes.text().splitlines()[:4] == expected
        again.older |= made.older
        assert not (await again.listed()).fault
        assert notes.text().splitlines().count("server/discover") == 1
    finally:
        await made.aclose()
        await again.aclose()


async def test_a_server_that_ignores_the_question_for_its_version_is_asked_once(
    notes: Notes,
) -> None:
    made = older("continue", notes)
    again = attrs.evolve(made)
    try:
        assert [tool.name for tool in (await made.ready()).tools] == ["good"]
        assert made.older == {"s"}
        again.older |= made.older
        assert not (await again.listed()).fault
        assert notes.text().splitlines().count("server/discover") == 1
        assert notes.text().splitlines().count("start") == 2
    finally:
        await made.aclose()
        await again.aclose()


async def test_a_server_that_starts_slowly_keeps_the_newer_protocol(notes: Notes) -> None:
    made = older(
        """time.sleep(0 if NAMED else 3)
        NAMED = True
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
            "supportedVersions": ["2026-07-28"], "capabilities": {}}}), flush=True)""",
        notes,
    )
    try:
        assert not (await made.listed()).fault
        assert not made.older
        assert (await made.connected()).protocol_version == "2026-07-28"
    finally:
        await made.aclose()


async def test_a_tool_that_the_sdk_would_drop_is_left_out_by_name_and_not_in_its_log(
    notes: Notes, caplog: pytest.LogCaptureFixture
) -> None:
    header = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "no token"}}}
    made = older(
        """print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
            "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}}), flush=True)""",
        notes,
        [GOOD, {"name": "bad", "inputSchema": header}],
    )
    try:
        listing = await made.listed()
        assert [tool.name for tool in listing.tools] == ["good"]
        assert [name for name, _ in listing.left_out] == ["'bad'"]
        assert "x-mcp-header 'no token' is not an RFC 9110 token" in listing.left_out[0][1]
        assert [one.name for one in caplog.records if one.levelname == "WARNING"] == []
    finally:
        await made.aclose()


async def test_a_server_that_takes_the_older_handshake_no_more_is_asked_again(
    notes: Notes,
) -> None:
    made = scripted("import sys; sys.exit('broken')")
    tried = connection(made, connect_seconds=20)
    tried.older.add("s")
    assert "it wrote: broken" in (await tried.listed()).fault
    assert not tried.older
    await tried.aclose()


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ({"name": "odd"}, "inputSchema is missing"),
        ({"name": "odd", "inputSchema": {"anyOf": [{"type": "object"}]}}, "inputSchema.type is"),
        ({"name": "odd", "inputSchema": None}, "inputSchema is not an object"),
        ({**GOOD, "name": "odd", "outputSchema": {"anyOf": []}}, "outputSchema.type is missing"),
        ({**GOOD, "name": "odd", "description": 5}, "description is not a string"),
    ],
)
async def test_a_tool_that_does_not_fit_the_protocol_is_left_out_by_name(
    notes: Notes, odd: Any, reason: str
) -> None:
    made = older("continue", notes, [odd, GOOD, 5])
    made.older.add("s")
    try:
        listing = await made.ready()
        assert [tool.name for tool in listing.tools] == ["good"]
        (name, why), (number, _) = listing.left_out
        assert (name, number) == ("'odd'", "'number 2'")
        assert why.startswith(reason)
    finally:
        await made.aclose()
