"""Public MCP servers, used from code; the Inspector and the conformance suite against ours.

The tests need the packages that `tox run -e mcp` installs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from mcp_config import SUITE_SERVER, free_port, wait_for_port

from interpstack import InterpreterStack, Limits
from interpstack_javascript.node_runtime import find_node
from interpstack_mcp.api import mcp

FOLDER = os.environ.get("INTERPSTACK_MCP_PACKAGES", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="needs the packages of `tox run -e mcp`")
PROGRAM = [sys.executable, "-m", "interpstack", "mcp", "serve"]
TOKEN = "a-token-for-tests-only"


def npm(name: str) -> str:
    return str(Path(FOLDER) / "node_modules" / ".bin" / name)


def pypi(package: str, program: str = "") -> str:
    return str(Path(FOLDER) / package / "bin" / (program or package))


def servers(folder: Path) -> dict[str, Any]:
    """Ten public servers that need no network."""
    return {
        "everything": {"command": npm("mcp-server-everything")},
        "files": {"command": npm("mcp-server-filesystem"), "args": [str(folder)]},
        "memory": {
            "command": npm("mcp-server-memory"),
            "env": {"MEMORY_FILE_PATH": str(folder / "memory.json")},
        },
        "thinking": {"command": npm("mcp-server-sequential-thinking")},
        "time": {"command": pypi("mcp-server-time")},
        "git": {"command": pypi("mcp-server-git"), "args": ["--repository", str(folder)]},
        "sqlite": {"command": pypi("mcp-server-sqlite"), "args": ["--db-path", f"{folder}/a.db"]},
        "calculator": {"command": pypi("mcp-server-calculator")},
        "fetch": {"command": pypi("mcp-server-fetch")},
        "math": {"command": pypi("mcp-math-server", "mcp-math")},
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty repository of git."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


@pytest_asyncio.fixture
async def session(folder: Path) -> AsyncIterator[Any]:
    plugins = ["console", "display", mcp({"mcpServers": servers(folder)})]
    stack = InterpreterStack(plugins=plugins, limits=Limits(wall_seconds=120))
    async with stack, stack.session() as made:
        yield made


CODE = """
const folder = FOLDER;
await mcp.files.writeFile({path: `${folder}/a.txt`, content: "hello"});
await mcp.sqlite.createTable({query: "create table t (n integer)"});
await mcp.sqlite.writeQuery({query: "insert into t values (7)"});
const entity = {name: "Ann", entityType: "person", observations: ["likes apples"]};
await mcp.memory.createEntities({entities: [entity]});
const found = {
  file: (await mcp.files.readTextFile({path: `${folder}/a.txt`})).content,
  zone: (await mcp.time.getCurrentTime({timezone: "UTC"})).timezone,
  product: (await mcp.calculator.calculate({expression: "6*7"})).result,
  row: JSON.stringify(await mcp.sqlite.readQuery({query: "select n from t"})).includes("7"),
  memory: (await mcp.memory.searchNodes({query: "apples"})).entities[0].name,
  git: JSON.stringify(await mcp.git.gitStatus({repo_path: folder})).includes("a.txt"),
  thought: (await mcp.thinking.sequentialthinking(
    {thought: "a", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1})).thoughtNumber,
  math: (await mcp.search("math")).length > 0,
  fetch: await mcp.fetch.fetch({url: "http://127.0.0.1:9/"}).catch(error => error.name),
  servers: Object.keys(mcp).length,
};
JSON.stringify(found)
"""

EVERYTHING = """
const kinds = new Set();
const see = blocks => blocks.forEach(block => kinds.add(block.type));
see(await mcp.everything.getTinyImage());
see(await mcp.everything.getAnnotatedMessage({messageType: "error", includeImage: true}));
see(await mcp.everything.getResourceLinks({count: 2}));
see(await mcp.everything.getResourceReference({resourceType: "Text", resourceId: 1}));
const image = (await mcp.everything.getTinyImage()).find(block => block.type === "image");
await display(image);
const weather = await mcp.everything.getStructuredContent({location: "New York"});
[[...kinds].sort().join(), typeof weather.temperature].join()
"""


async def test_ten_servers_are_used_in_one_cell(session: Any, tmp_path: Path) -> None:
    outcome = await session.eval(CODE.replace("FOLDER", json.dumps(str(tmp_path))))
    assert outcome.ok, outcome.error
    assert outcome.notices == (
        "MCP tool 'simulate-research-query' of 'everything' is not offered: the server runs it "
        "only as a task, which code cannot start",
    )
    assert json.loads(outcome.text) == {
        "file": "hello",
        "zone": "UTC",
        "product": "42",
        "row": True,
        "memory": "Ann",
        "git": True,
        "thought": 1,
        "math": True,
        "fetch": "ToolError",
        "servers": 10,
    }


async def test_the_reference_server_sends_every_kind_of_content(session: Any) -> None:
    outcome = await session.eval(EVERYTHING)
    assert outcome.ok, outcome.error
    assert outcome.text == "image,resource,resource_link,text,number"
    assert [item.mime_type for item in outcome.attachments] == ["image/png"]


# -- ours ----------------------------------------------------------------------------------


def inspect(*arguments: str) -> Any:
    """What the Inspector's command line prints."""
    program = [find_node().path, npm("mcp-inspector"), "--cli"]
    done = subprocess.run([*program, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_inspector_runs_code_over_stdio() -> None:
    listed = inspect(*PROGRAM, "--method", "tools/list")
    assert [tool["name"] for tool in listed["tools"]] == [
        "run_code",
        "wait",
        "search_tools",
        "reset",
    ]
    call = ("--method", "tools/call", "--tool-name", "run_code", "--tool-arg", "code=6*7")
    assert inspect(*PROGRAM, *call)["structuredContent"]["result"] == "42"


@pytest.fixture
def over_http() -> Iterator[str]:
    port = free_port()
    environment = {**os.environ, "INTERPSTACK_MCP_TOKEN": TOKEN}
    program = [*PROGRAM, "--http", f"127.0.0.1:{port}"]
    process = subprocess.Popen(program, env=environment, stderr=subprocess.DEVNULL)
    try:
        wait_for_port(port, process)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


def test_the_inspector_runs_code_over_http(over_http: str) -> None:
    header = ("--transport", "http", "--header", f"Authorization: Bearer {TOKEN}")
    call = ("--method", "tools/call", "--tool-name", "run_code", "--tool-arg", "code=6*7")
    assert inspect(over_http, *header, *call)["structuredContent"]["result"] == "42"


#: `interpstack mcp serve` without a token, which the suite does not send.
OPEN = """
import json, sys, uvicorn
from interpstack import HostOffer, InterpreterStack
from interpstack_mcp.api import GATE, CodeServer, McpServers
servers = McpServers.of(json.loads(sys.argv[2]))
stack = InterpreterStack(plugins=["console", "display", "mcp", GATE])
server = CodeServer(stack, HostOffer(parts=[servers]), through=["suite"])
uvicorn.run(server.app().streamable_http_app(), port=int(sys.argv[1]), log_level="error")
"""
#: All scenarios of the suite for servers.
SCENARIOS = [
    "server-initialize",
    "logging-set-level",
    "ping",
    "completion-complete",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-with-logging",
    "tools-call-error",
    "tools-call-with-progress",
    "tools-call-sampling",
    "tools-call-elicitation",
    "json-schema-2020-12",
    "elicitation-sep1034-defaults",
    "server-sse-polling",
    "server-sse-multiple-streams",
    "elicitation-sep1330-enums",
    "resources-list",
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
    "resources-subscribe",
    "resources-unsubscribe",
    "prompts-list",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
    "dns-rebinding-protection",
]


def conform(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A run of the conformance suite, which needs a newer Node than most systems have."""
    program = [find_node().path, npm("conformance"), *arguments]
    return subprocess.run(program, capture_output=True, text=True)


@pytest.fixture(scope="module")
def without_token() -> Iterator[str]:
    """A server for the suite, which offers one with everything that the suite asks for."""
    port = free_port()
    given = {"suite": {"command": sys.executable, "args": [str(SUITE_SERVER)]}}
    configured = json.dumps({"mcpServers": given})
    process = subprocess.Popen([sys.executable, "-c", OPEN, str(port), configured])
    try:
        wait_for_port(port, process)
        yield f"http://localhost:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_server_conforms(without_token: str, scenario: str) -> None:
    done = conform("server", "--url", without_token, "--scenario", scenario)
    assert done.returncode == 0, done.stdout[-3000:]


def test_the_scenarios_are_all_that_the_suite_has() -> None:
    listed = conform("list", "--server").stdout.splitlines()
    names = [line.split()[1] for line in listed if line.strip().startswith("- ")]
    assert [name for name in names if name in SCENARIOS] == SCENARIOS
    assert len(names) == len(SCENARIOS)


def test_the_inspector_reaches_the_reference_server_through_ours(tmp_path: Path) -> None:
    given = {"mcpServers": {"everything": {"command": npm("mcp-server-everything")}}}
    (tmp_path / "servers.json").write_text(json.dumps(given))
    program = [*PROGRAM, "--mcp", str(tmp_path / "servers.json"), "--through", "everything"]
    tools = {tool["name"] for tool in inspect(*program, "--method", "tools/list")["tools"]}
    assert {"run_code", "echo", "get-tiny-image"} <= tools
    call = ("--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hello")
    assert inspect(*program, *call)["content"] == [{"type": "text", "text": "Echo: hello"}]
    assert inspect(*program, "--method", "prompts/list")["prompts"]
    (first, *_) = inspect(*program, "--method", "resources/list")["resources"]
    assert inspect(*program, "--method", "resources/read", "--uri", first["uri"])["contents"]
    assert inspect(*program, "--method", "resources/templates/list")["resourceTemplates"]


CLIENT = """
import asyncio, sys
from interpstack import InterpreterStack
from interpstack_mcp.api import mcp

async def main():
    servers = mcp({"mcpServers": {"suite": {"url": sys.argv[-1]}}})
    async with InterpreterStack(plugins=[servers]) as stack, stack.session() as session:
        names = await session.eval("Object.keys(mcp.suite ?? {}).join()")
        if "addNumbers" in names.text:
            outcome = await session.eval("await mcp.suite.addNumbers({a: 5, b: 3})")
            assert outcome.ok, outcome.error

asyncio.run(main())
"""


@pytest.mark.parametrize("scenario", ["initialize", "tools_call"])
def test_the_client_conforms(tmp_path: Path, scenario: str) -> None:
    (tmp_path / "client.py").write_text(CLIENT)
    command = f"{sys.executable} {tmp_path / 'client.py'}"
    done = conform("client", "--command", command, "--scenario", scenario)
    assert done.returncode == 0, done.stdout[-3000:]
