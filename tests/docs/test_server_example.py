"""The example server: real workers, a real database, and clients that retry and disconnect."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from example_servers import COMMAND, EXAMPLE, Server, Servers, free_port, python_path, send_turn

#: Counts the turns of a conversation in a variable, and notes each count outside.
_CODE = """
globalThis.count = (globalThis.count ?? 0) + 1;
await Promise.all([tools.note({what: `TALK:${count}:a`}), tools.note({what: `TALK:${count}:b`})]);
count
"""


@pytest.fixture
def place(postgres: Any, tmp_path: Path) -> Iterator[Servers]:
    with Servers.at(postgres.new_database(), tmp_path) as servers:
        yield servers


async def _turn(
    client: httpx.AsyncClient,
    urls: Callable[[int], str],
    talk: str,
    number: int,
    *,
    hasty: bool = False,
) -> None:
    """One turn of a conversation, sent again until it is answered; at first with no patience."""
    await send_turn(client, urls, talk, number, [_CODE.replace("TALK", talk)], hasty=hasty)


def _expected(talks: list[str], turns: int) -> list[str]:
    return sorted(
        f"{talk}:{n}:{call}" for talk in talks for n in range(1, turns + 1) for call in "ab"
    )


async def test_conversations_hop_between_servers_at_every_turn(place: Servers) -> None:
    servers = [place.start(1), place.start(1)]
    for server in servers:
        await asyncio.to_thread(server.wait)
    talks, turns = [f"talk{n}" for n in range(4)], 4

    async def converse(client: httpx.AsyncClient, talk: str) -> None:
        for n in range(1, turns + 1):
            # The client of every other turn disconnects, and asks the other server.
            def urls(attempt: int, n: int = n) -> str:
                return servers[(n + attempt) % 2].url

            await _turn(client, urls, talk, n, hasty=n % 2 == 0)

    async with httpx.AsyncClient() as client:
        await asyncio.gather(*(converse(client, talk) for talk in talks))
        # One turn, sent to both at once, and again when it is over.
        for _ in range(2):
            await asyncio.gather(
                *(_turn(client, lambda _, s=s: s.url, "talk0", turns + 1) for s in servers)
            )
        assert sorted(place.effects()) == sorted(
            [*_expected(talks, turns), f"talk0:{turns + 1}:a", f"talk0:{turns + 1}:b"]
        )
        changed = {"id": "talk0-1", "text": "something else"}
        answer = await client.post(f"{servers[0].url}/threads/talk0/turns", json=changed)
        assert answer.status_code == 409
        events = await _streamed(client, servers[1].url)
        text = (await client.get(f"{servers[1].url}/metrics")).text
    assert [kind for kind, _ in events[-1:]] == ["answer"]
    calls = [data["phase"] for kind, data in events if kind == "progress"]
    assert sorted(calls) == ["complete", "complete", "start", "start"]
    assert 'agent_turns_total{end="answered"}' in text
    for server in servers:
        await asyncio.to_thread(server.end)


async def _streamed(client: httpx.AsyncClient, url: str) -> list[tuple[str, Any]]:
    body = {"id": "streamed", "text": json.dumps([_CODE.replace("TALK", "streamed")])}
    events, kind = [], ""
    async with client.stream(
        "POST",
        f"{url}/threads/streamed/turns",
        json=body,
        headers={"Accept": "text/event-stream"},
        timeout=60,
    ) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                events.append((kind, json.loads(line.removeprefix("data: "))))
    return events


@pytest.mark.timeout(900)  # new workers start beside the load
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
async def test_a_rolling_restart_under_load_fails_no_conversation(place: Servers) -> None:
    server = place.start(2)
    await asyncio.to_thread(server.wait)
    talks = [f"talk{n}" for n in range(4)]
    turns = dict.fromkeys(talks, 0)
    replaced = asyncio.Event()

    async def converse(talk: str) -> None:
        while not replaced.is_set() or turns[talk] < 4:
            # A new connection each time: any worker may take it.
            async with httpx.AsyncClient() as client:
                await _turn(client, lambda attempt: server.url, talk, turns[talk] + 1)
            turns[talk] += 1
            await asyncio.sleep(0.2)  # the user thinks, and new workers get time to start

    async with asyncio.TaskGroup() as load:  # a conversation that fails ends the wait
        for talk in talks:
            load.create_task(converse(talk))
        old = await asyncio.to_thread(server.workers)
        server.process.send_signal(signal.SIGHUP)
        while old & server.workers():  # noqa: ASYNC110 - of other processes, no event tells
            await asyncio.sleep(0.2)
        replaced.set()
    assert sorted(place.effects()) == sorted(
        line for talk in talks for line in _expected([talk], turns[talk])
    )
    await asyncio.to_thread(server.end)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "set DATABASE_URL and AGENT; the README shows how"),
        ({"DATABASE_URL": "x", "AGENT": "server_agent"}, "AGENT is module:function"),
        ({"DATABASE_URL": "x", "AGENT": "server_agent:part"}, "AGENT is module:function"),
        ({"DATABASE_URL": "x", "AGENT": ":parts"}, "AGENT is module:function"),
        (
            {"DATABASE_URL": "x", "AGENT": "server_agent:parts", "TURNS_PER_MINUTE": "9"},
            "TURNS_PER_MINUTE limits each user: set USER_HEADER, too",
        ),
        (
            {
                "DATABASE_URL": "x",
                "AGENT": "server_agent:parts",
                "USER_HEADER": "X-User",
                "TURNS_PER_MINUTE": "0",
            },
            "TURNS_PER_MINUTE is a whole number above 0; got '0'",
        ),
        (
            {"DATABASE_URL": "x", "AGENT": "no_agent:parts"},
            "AGENT names the module 'no_agent', which is neither installed nor in ",
        ),
    ],
)
def test_a_wrong_setting_is_reported_once(environment: dict[str, str], message: str) -> None:
    clean = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "AGENT")}
    done = subprocess.run(
        COMMAND,
        env={**clean, "PYTHONPATH": python_path(), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.count(message) == 1
    assert "Traceback" not in done.stderr


def _blocks(language: str) -> list[str]:
    page = (EXAMPLE / "README.md").read_text("utf-8")
    return re.findall(rf"^```{language}[^\n]*\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


class _Provider(BaseHTTPRequestHandler):
    """Answers as the model provider of the README does: by a call of `eval`, then by its result."""

    asked: list[dict[str, Any]]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(asked)
        last = asked["messages"][-1]["content"]
        question = last if isinstance(last, str) else last[-1]
        if isinstance(question, dict) and question["type"] == "tool_result":
            content = {"type": "text", "text": f"That is {question['content']}."}
        else:
            code = "3 * await tools.price({item: 'pear'})"
            if "apple" in str(question):
                code = "2 * await tools.price({item: 'apple'})"
            elif "Order" in str(question):
                code = "await tools.order({item: 'pear', count: 3})"
            call = {"id": f"toolu_{len(self.asked)}", "name": "eval", "input": {"code": code}}
            content = {"type": "tool_use", **call}
        found = {
            "id": "msg",
            "type": "message",
            "role": "assistant",
            "model": asked["model"],
            "content": [content],
            "stop_reason": "tool_use" if content["type"] == "tool_use" else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        data = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def provider() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The URL of a model provider of this machine, and what it was asked."""
    asked: list[dict[str, Any]] = []
    handler = type("Handler", (_Provider,), {"asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


@pytest.mark.timeout(900)  # two workers start beside the load
@pytest.mark.skipif(os.name != "posix", reason="a shell of POSIX")
def test_the_readme_starts_a_server_that_answers_its_requests(
    postgres: Any, provider: tuple[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    for program in ("curl", "createdb"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    url, asked = provider
    start, requests, approval = _blocks("sh")
    (agent,) = _blocks("python")
    (tmp_path / "my_agent.py").write_text(agent, "utf-8")
    venv, install, *commands = start.splitlines()
    assert venv == "python3 -m venv .venv"
    assert install == '.venv/bin/pip install "../../..[langchain,postgres]" .'
    _install(tmp_path)
    port = free_port()
    environment = {
        **os.environ,
        "PYTHONPATH": str(EXAMPLE / "src"),  # without the folder of the agent
        "PYTHONSAFEPATH": "1",
        "PGHOST": str(postgres.directory),
        "PGUSER": "tester",
        "ANTHROPIC_BASE_URL": url,
    }
    script = "\n".join([*commands[:-1], f"exec {commands[-1]} --port {port}"])
    log = tmp_path / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["bash", "-euc", script],
            cwd=tmp_path,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    server = Server(f"http://127.0.0.1:{port}", process, log)
    try:
        server.wait()
        ask, *others = _requests(requests, port)
        first = _shell(ask)
        assert _shell(ask) == first  # the same turn
        streamed, thread, live, ready, metrics = [_shell(command) for command in others]
        assert json.loads(first) == {"answer": "That is <result>1</result>."}
        assert streamed.count("event: progress\n") == 2
        assert streamed.endswith(
            'event: answer\ndata: {"answer": "That is <result>2.25</result>."}\n\n'
        )
        assert json.loads(live) == {"live": True}
        assert json.loads(ready)["ready"] is True
        assert 'agent_turns_total{end="answered"} 3.0' in metrics
        assert len(asked) == 4  # two turns, with a call of `eval` each
        found = json.loads(thread)
        assert [one["from"] for one in found["messages"]] == ["user", "agent"] * 2
        assert (found["questions"], found["unfinished"]) == ([], None)
        order, approve = _requests(approval, port)
        (question,) = json.loads(_shell(order))["questions"]
        (request,) = question["value"]["action_requests"]
        assert request["args"] == {"item": "pear", "count": 3}
        approved = json.loads(_shell(approve.replace("ID", question["id"])))
        assert approved == {"answer": "That is <result>ordered 3 of pear</result>."}
    finally:
        server.end()


def _requests(block: str, port: int) -> list[str]:
    """The commands of a block, for a server at another port."""
    text = block.replace("localhost:8000", f"127.0.0.1:{port}")
    return text.replace("\\\n", "").splitlines()


def _install(folder: Path) -> None:
    """Write the command as pip does, with the entry point that the distribution declares."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    ((name, target),) = project["scripts"].items()
    module, _, function = target.partition(":")
    program = folder / ".venv" / "bin" / name
    program.parent.mkdir(parents=True)
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\n"
        f"if __name__ == '__main__':\n    sys.exit({function}())\n",
        "utf-8",
    )
    program.chmod(0o755)


def _shell(command: str) -> str:
    done = subprocess.run(["bash", "-euc", command], capture_output=True, text=True, check=True)
    return done.stdout
