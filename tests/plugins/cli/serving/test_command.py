"""`interpstack mcp serve`, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp_config import TOOLS_SERVER
from mcp_requests import INITIALIZE
from strangers import HALF_A_HEADER, flood, held, websocket_attempts

mcp = pytest.importorskip("mcp")
OAUTH = [
    "--oauth-issuer",
    "https://login.example",
    "--oauth-resource",
    "https://tools.example/mcp",
    "--oauth-introspection",
    "https://login.example/introspect",
]
PROGRAM = [sys.executable, "-m", "interpstack", "mcp", "serve"]


async def test_a_client_of_the_sdk_runs_code(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        'def price(item: str) -> float:\n    "A price."\n    return 2.5'
    )
    parameters = mcp.StdioServerParameters(
        command=PROGRAM[0],
        args=[*PROGRAM[1:], "--tools", "shop:price"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
    )
    async with mcp.Client(parameters) as client:
        result = await client.call_tool("run_code", {"code": "await tools.price({item: 'a'})"})
        assert result.structured_content["result"] == "2.5"
        found = await client.call_tool("search_tools", {"query": "price"})
        assert "A price." in found.content[0].text


async def test_a_client_of_the_sdk_calls_the_tools_of_a_server_through_it(tmp_path: Path) -> None:
    server = {"command": sys.executable, "args": [str(TOOLS_SERVER)]}
    configured = tmp_path / "servers.json"
    configured.write_text(json.dumps({"mcpServers": {"tools": server}}))
    parameters = mcp.StdioServerParameters(
        command=PROGRAM[0], args=[*PROGRAM[1:], "--mcp", str(configured), "--through", "tools"]
    )
    async with mcp.Client(parameters) as client:
        result = await client.call_tool("add", {"first": 1, "second": 2})
        assert result.content[0].text == "3"
        ran = await client.call_tool(
            "run_code", {"code": "await mcp.tools.add({first: 1, second: 3})"}
        )
        assert "4" in ran.structured_content["result"]


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_ends_the_server_while_it_waits_for_its_client(spawn: Any) -> None:
    process = spawn("mcp", "serve")
    process.stdin.write(json.dumps(INITIALIZE) + "\n")
    process.stdin.flush()
    assert "serverInfo" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert process.stderr.read() == "Interrupted.\n"


def test_http_needs_the_token(tmp_path: Path) -> None:
    environment = {**os.environ, "INTERPSTACK_MCP_TOKEN": ""}
    process = subprocess.Popen(
        [*PROGRAM, "--http", "127.0.0.1:0"],
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    )
    try:
        assert process.stderr is not None
        token = process.stderr.readline().split()[1]
        address = process.stderr.readline().split()[-1]
        for given, code in (("", "401"), (token, "200")):
            assert _status(address, given) == code
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.parametrize("sent", [b"", HALF_A_HEADER, b"P"])
def test_connections_without_credentials_shut_no_client_out(spawn: Any, sent: bytes) -> None:
    token = "a-token-for-tests-only"
    process = spawn("mcp", "serve", "--http", "127.0.0.1:0", INTERPSTACK_MCP_TOKEN=token)
    address = process.stderr.readline().split()[-1]
    port = urlsplit(address).port
    with held(port, sent):
        assert [_status(address, token) for _ in range(5)] == ["200"] * 5
        assert _status(address, "") == "401"
    process.terminate()
    assert process.stderr.read() == ""


def test_a_flood_of_connections_shuts_no_client_out(spawn: Any) -> None:
    token = "a-token-for-tests-only"
    process = spawn("mcp", "serve", "--http", "127.0.0.1:0", INTERPSTACK_MCP_TOKEN=token)
    address = process.stderr.readline().split()[-1]
    with flood(urlsplit(address).port or 0):
        assert [_status(address, token) for _ in range(10)] == ["200"] * 10
    process.terminate()
    assert process.stderr.read() == ""


def test_attempts_to_open_a_websocket_are_refused_without_a_traceback(spawn: Any) -> None:
    token = "a-token-for-tests-only"
    process = spawn("mcp", "serve", "--http", "127.0.0.1:0", INTERPSTACK_MCP_TOKEN=token)
    address = process.stderr.readline().split()[-1]
    port = urlsplit(address).port
    assert websocket_attempts(port, "/mcp", "/", "/%ff", "//") == [401] * 4
    assert _status(address, token) == "200"
    process.terminate()
    assert process.stderr.read() == ""


def _status(address: str, token: str) -> str:
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as response:
            return str(response.status)
    except urllib.error.HTTPError as error:
        error.close()
        return str(error.code)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--http", "8000"], "takes HOST:PORT, such as 127.0.0.1:8000; got '8000'"),
        (["--http", "127.0.0.1:99999"], "takes HOST:PORT"),
        (["--http", "0.0.0.0:0"], "0.0.0.0 is reached from other machines"),
        (["--allow-host", "a"], "--allow-host, --allow-origin and --oauth-… are for --http"),
        ([*OAUTH], "--allow-host, --allow-origin and --oauth-… are for --http"),
        (["--http", "127.0.0.1:0", *OAUTH[:2]], "needs --oauth-resource, --oauth-introspection"),
        (["--http", "127.0.0.1:0", "--oauth-scope", "a"], "OAuth needs --oauth-issuer"),
        (["--http", "127.0.0.1:0", *OAUTH, "--oauth-scope", "a b"], "is not a name of a scope"),
        (["--http", "127.0.0.1:0", *OAUTH[:-1], "http://a.example"], "takes an https URL"),
        (["--approve", "tools.pay"], "approve names 'tools.pay', which code cannot call"),
        (["--through", "files"], "through names 'files', which is not a configured MCP server"),
    ],
)
def test_wrong_options_are_refused(
    run: Any, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.setenv("INTERPSTACK_MCP_CLIENT_ID", "interpstack")
    monkeypatch.delenv("INTERPSTACK_MCP_TOKEN", raising=False)
    result = run("mcp", "serve", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Token: " not in result.stderr


def test_a_server_that_does_not_start_makes_no_token(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INTERPSTACK_MCP_TOKEN", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("mcp", "serve", "--http", f"127.0.0.1:{port}")
    assert result.exit_code == 2
    assert f"127.0.0.1:{port} cannot be bound" in result.stderr
    assert "Token: " not in result.stderr


def test_oauth_needs_a_name_at_the_authorization_server(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INTERPSTACK_MCP_CLIENT_ID", raising=False)
    result = run("mcp", "serve", "--http", "127.0.0.1:0", *OAUTH)
    assert result.exit_code == 2
    assert "OAuth needs INTERPSTACK_MCP_CLIENT_ID" in result.stderr


def test_a_token_is_refused_where_clients_need_those_of_an_authorization_server(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERPSTACK_MCP_CLIENT_ID", "interpstack")
    monkeypatch.setenv("INTERPSTACK_MCP_TOKEN", "a-token-for-tests-only")
    result = run("mcp", "serve", "--http", "127.0.0.1:0", *OAUTH)
    assert result.exit_code == 2
    assert "INTERPSTACK_MCP_TOKEN has no effect with --oauth-issuer" in result.stderr


def test_a_server_with_oauth_names_its_authorization_server() -> None:
    environment = {**os.environ, "INTERPSTACK_MCP_CLIENT_ID": "interpstack"}
    process = subprocess.Popen(
        [*PROGRAM, "--http", "127.0.0.1:0", *OAUTH],
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    )
    try:
        assert process.stderr is not None
        address = process.stderr.readline().split()[-1]
        metadata = address.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
        with urllib.request.urlopen(metadata) as response:
            found = json.load(response)
        assert found["authorization_servers"] == ["https://login.example"]
        assert _status(address, "") == "401"
    finally:
        process.terminate()
        process.communicate()
