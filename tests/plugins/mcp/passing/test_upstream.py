"""What servers send, and how much of it: old ones, broken ones and hostile ones."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import types
from mcp.shared.exceptions import MCPError
from mcp_config import Notes, free_port, wait_for_port
from mcp_gateways import gateway, passing, scripted

from interpstack_mcp.configuration import read_servers
from interpstack_mcp.connections.failures import Lost
from interpstack_mcp.limits import McpLimits
from interpstack_mcp.passing.client import PassingClient
from interpstack_mcp.serving.clients import allows_level

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
both = pytest.mark.parametrize("mode", ["legacy", "auto"])

#: A server that speaks the protocol of 2025 only. `EXTRA` decides on answers to other requests.
OLD = """
import json, sys
def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def notify(method, **params):
    say(method="notifications/" + method, params=params)
tool = {"name": "t", "inputSchema": {"type": "object"}}
about = {
    "protocolVersion": "2025-06-18", "serverInfo": {"name": "s", "version": "1"},
    "capabilities": {"tools": {}, "prompts": {}, "resources": {"subscribe": True}, "logging": {}},
}
waiting = None
for line in sys.stdin:
    asked = json.loads(line)
    method, number = asked.get("method"), asked.get("id")
    if method == "initialize":
        say(id=number, result=about)
    elif method == "tools/list":
        say(id=number, result={"tools": [tool]})
    EXTRA
    elif number is not None and method is not None:
        say(id=number, error={"code": -32601, "message": "unknown"})
"""


def old(extra: str) -> dict[str, Any]:
    return scripted(OLD.replace("    EXTRA\n", f"    {extra.strip()}\n"))


def text(result: Any) -> str:
    return str(result.content[0].text)


ASKS = """
elif method == "tools/call":
        waiting = number
        say(id="q", method="sampling/createMessage", params={
            "messages": [{"role": "user", "content": {"type": "text", "text": "?"}}],
            "maxTokens": 1, "_meta": {"progressToken": 5}})
    elif number == "q":
        said = asked.get("result", asked.get("error"))
        say(id=waiting, result={"content": [{"type": "text", "text": json.dumps(said)}]})
"""


@both
async def test_an_old_server_asks_any_client(mode: str) -> None:
    async def sample(ctx: Any, params: Any) -> types.CreateMessageResult:
        assert params.meta is None or "progress_token" not in params.meta
        content = types.TextContent(text="an answer")
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    async with (
        gateway(old(ASKS)) as made,
        made.http() as http,
        http(mode, sampling_callback=sample) as client,
    ):
        assert "an answer" in text(await client.call_tool("t", {}))


async def test_a_question_without_a_request_is_refused_where_clients_have_no_sessions() -> None:
    late = """
elif method == "tools/call":
        say(id=number, result={"content": []})
        say(id="q", method="roots/list")
    elif number == "q":
        code = asked["error"]["code"]
    elif method == "prompts/list":
        say(id=number, result={"prompts": [{"name": str(code)}]})
"""

    async def roots(ctx: Any) -> types.ListRootsResult:
        raise AssertionError("nobody may be asked")

    async with (
        gateway(old(late)) as made,
        made.http() as http,
        http("auto", list_roots_callback=roots) as client,
    ):
        await client.call_tool("t", {})
        (prompt,) = (await client.list_prompts()).prompts
        assert prompt.name == str(types.INVALID_REQUEST)


@both
@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ('{"content": "text"}', "is not valid in the protocol"),
        ('{"content": [{"type": "text"}]}', "is not valid in the protocol"),
        ('{"content": [{"type": "made up", "x": 1}]}', "is not valid in the protocol"),
        ('{"content": [{"type": "text", "text": ""}] * 3000}', "more than 2000 content blocks"),
        ("[]", "malformed"),
        (
            '{"content": [], "structuredContent": {"a": [float("nan")]}}',
            r"mcp\.s\.t was called, but .*: result\.structuredContent\.a\.0 is no number of JSON",
        ),
    ],
)
async def test_results_of_another_form_are_errors(mode: str, answer: str, fault: str) -> None:
    given = old(f'elif method == "tools/call":\n        say(id=number, result={answer})')
    async with gateway(given) as made, made.client(mode) as client:
        with pytest.raises(MCPError, match=fault) as raised:
            await client.call_tool("t", {})
        assert raised.value.code == types.INTERNAL_ERROR


async def test_a_message_that_is_too_large_ends_the_connection() -> None:
    given = old(
        'elif method == "tools/call":\n'
        '        say(id=number, result={"content": [{"type": "text", "text": "x" * 200_000}]})'
    )
    async with gateway(given, message_bytes=100_000) as made, made.client() as client:
        result = await client.call_tool("t", {})
        assert result.is_error
        assert "more than 100000 bytes" in text(result)
        assert "mcp.s.t may have had its effects" in text(result)


ENDLESS = """
elif method == "prompts/list":
        say(id=number, result={"prompts": [{"name": "p"}], "nextCursor": str(number)})
    elif method == "resources/list":
        say(id=number, result={"resources": [{"uri": "a:%d" % i, "name": "n"} for i in range(60)]})
    elif method == "resources/templates/list":
        say(id=number, result={"resourceTemplates": [
            {"uriTemplate": "x://{a", "name": "broken"},
            {"uriTemplate": "y://{a}", "name": "long", "description": "d" * 5000},
            {"uriTemplate": "z://{a}", "name": "good"}]})
    elif method == "resources/read":
        say(id=number, result={"contents": [{"uri": asked["params"]["uri"], "text": "read"}]})
"""


async def test_lists_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    async with gateway(old(ENDLESS), tools=50, tool_bytes=1000) as made, made.client() as client:
        assert (await client.list_prompts()).prompts == []
        assert (await client.list_resources()).resources == []
        found = caplog.text
        assert "lists more than 50 prompts (McpLimits.tools), or its list does not end" in found
        assert "lists more than 50 resources" in found
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.name for one in templates] == ["broken", "good"]
        assert "'y://{a}' has more than 1000 bytes (McpLimits.tool_bytes)" in caplog.text
        assert (await client.read_resource("z://1")).contents[0].text == "read"  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="Resource not found"):
            await client.read_resource("x://1")


NOISE = """
elif method == "tools/call":
        for count in range(300):
            notify("message", level="info", data=count)
            notify("progress", progressToken=number, progress=count)
            notify("tools/list_changed")
            notify("made/up", x=1)
            notify("resources/updated", uri="a:b")
            notify("message", level="loud", data=count)
        say(id=77777, result={})
        say(id=number, result={"content": []})
        say(id=number, result={"content": [{"type": "text", "text": "again"}]})
        notify("message", level="info", data="after")
"""


@both
async def test_noise_is_bounded_and_loses_no_result(mode: str) -> None:
    heard: list[Any] = []
    reports: list[float] = []

    async def log(params: Any) -> None:
        heard.append(params.data)

    async def progress(done: float, total: Any, message: Any) -> None:
        reports.append(done)

    async with (
        gateway(old(NOISE), progress=20, connect_seconds=120) as made,
        made.http() as http,
        http(mode, logging_callback=log, log_level="debug") as client,
    ):
        result = await client.call_tool("t", {}, progress_callback=progress)
        assert result.content == []
        assert len(reports) <= 20
        assert heard[:10] == list(range(10))
        again = await client.call_tool("t", {})
        assert again.content == []


ROUNDS = """
elif method == "server/discover":
        say(id=number, result={"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
            "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
    elif method == "tools/call":
        say(id=number, result={"resultType": "input_required", "requestState": "s",
            "inputRequests": {"r": {"method": "roots/list"}}})
"""


async def test_a_server_that_never_has_enough_input_is_left() -> None:
    asked: list[int] = []

    async def roots(ctx: Any) -> types.ListRootsResult:
        asked.append(1)
        return types.ListRootsResult(roots=[])

    given = old(ROUNDS)
    (server,) = given["mcpServers"].values()
    server["args"][1] = server["args"][1].replace(
        'say(id=number, result={"tools": [tool]})',
        'say(id=number, result={"tools": [tool], "resultType": "complete", "ttlMs": 0, '
        '"cacheScope": "private"})',
    )
    async with gateway(given) as made, made.client("auto", list_roots_callback=roots) as client:
        with pytest.raises(MCPError, match="asks for input again and again"):
            await client.call_tool("t", {})
        assert len(asked) == 10


async def test_a_server_that_ends_between_two_rounds_may_have_done_something(
    tmp_path: Path,
) -> None:
    mark = tmp_path / "mark"
    ends = f"""
elif method == "server/discover":
        say(id=number, result={{"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
            "supportedVersions": ["2026-07-28"], "capabilities": {{}}}})
    elif method == "tools/call":
        say(id=number, result={{"resultType": "input_required", "requestState": "s",
            "inputRequests": {{"r": {{"method": "roots/list"}}}}}})
        open({str(mark)!r}, "w").close()
        os._exit(1)
"""

    async def roots(ctx: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[])

    given = old(ends)
    (server,) = given["mcpServers"].values()
    begins = f"import os\nif os.path.exists({str(mark)!r}):\n    os._exit(1)\n"
    server["args"][1] = begins + server["args"][1]
    (configured,) = read_servers(given)

    class Ctx:
        protocol_version = "2026-07-28"
        client_capabilities = types.ClientCapabilities(roots=types.RootsCapability())
        request_id = 1

    ctx: Any = Ctx()
    able = ctx.client_capabilities
    client = PassingClient((configured,), McpLimits(), ctx, able, True, frozenset(), 60.0)
    upstream = client.upstream("s")

    async def work(call: Any) -> Any:
        return await upstream.request("tools/call", {"name": "t"}, call)

    try:
        asked = await client.run(ctx, work)
        (key,) = asked.input_requests

        class Again:
            request_state = asked.request_state
            input_responses = {key: types.ListRootsResult(roots=[])}  # noqa: RUF012

        with pytest.raises(Lost):
            await client.run(ctx, work, Again())
    finally:
        await client.aclose()


@pytest.mark.parametrize("answer", ["pass", "say(id=number, result=[])"])
async def test_a_server_that_does_not_set_its_level_holds_nobody_up(answer: str) -> None:
    given = old(f'elif method == "logging/setLevel":\n        {answer}')
    async with gateway(given, connect_seconds=5) as made, made.client() as client:
        await client.call_tool("run_code", {"code": "1"})
        await client.list_tools()
        await client.set_logging_level("error")


async def test_a_new_connection_has_what_the_client_asked_for(notes: Notes) -> None:
    found = asyncio.Event()

    async def hear(message: Any) -> None:
        if message.method == "notifications/resources/updated":
            found.set()

    async with (
        gateway(passing(notes, "a")) as made,
        made.client(message_handler=hear) as client,
    ):
        await client.set_logging_level("error")
        await client.subscribe_resource("test://a")
        await client.call_tool("leave", {})
        await client.call_tool("change", {})
        await asyncio.wait_for(found.wait(), 60)
        assert json.dumps(notes.text()).count("level error") == 2


REFUSES = """
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        told, status = {"jsonrpc": "2.0", "id": asked.get("id")}, 200
        if asked["method"] == "initialize":
            told["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"}}
        elif asked["method"] == "tools/list":
            told["result"] = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
        elif asked["method"] == "tools/call":
            told, status = "the reason", asked["params"]["arguments"]["status"]
        elif "id" in asked:
            told["error"] = {"code": -32601, "message": "unknown"}
        else:
            told, status = None, 202
        body = b"" if told is None else json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def refusing() -> Iterator[dict[str, Any]]:
    """A configuration with a server over HTTP that answers calls with a status."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", REFUSES, str(port)])
    try:
        wait_for_port(port, process)
        yield {"mcpServers": {"s": {"url": f"http://127.0.0.1:{port}/mcp"}}}
    finally:
        process.kill()
        process.wait()


async def test_a_status_of_http_tells_whether_the_call_was_run(refusing: dict[str, Any]) -> None:
    async with gateway(refusing) as made, made.client() as client:
        for status in (401, 403, 404, 405, 413, 415, 429, 500, 503):
            result = await client.call_tool("t", {"status": status})
            assert result.is_error
            found, unknown = text(result), "mcp.s.t may have had its effects"
            assert f"HTTP {status} " in found
            assert "the reason" in found
            if status >= 500:
                assert unknown in found
            else:
                assert found.startswith("mcp.s.t was not run: MCP server 's' refused")
                assert unknown not in found


def test_levels_have_an_order() -> None:
    assert allows_level("", "debug")
    assert allows_level("info", "error")
    assert not allows_level("warning", "info")
