"""The example server: real workers, a real database, and clients that retry and disconnect."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import attrs
import httpx
import psutil
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "server"
_COMMAND = [sys.executable, "-m", "interpstack_example_server"]
#: Counts the turns of a conversation in a variable, and notes each count outside.
_CODE = """
globalThis.count = (globalThis.count ?? 0) + 1;
await Promise.all([tools.note({what: `TALK:${count}:a`}), tools.note({what: `TALK:${count}:b`})]);
count
"""


@attrs.define
class Server:
    """A running server.

    Attributes:
        url: Where it answers.
        process: The parent of its workers.
    """

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def wait(self) -> None:
        for _ in range(1200):
            assert self.process.poll() is None, self.log.read_text()
            try:
                if httpx.get(f"{self.url}/health/ready", timeout=10).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        pytest.fail(f"the server does not become ready: {self.log.read_text()}")

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        # uvicorn without a parent process ends by the signal that it was sent, once it is done.
        assert self.process.wait(90) in (0, -signal.SIGTERM), self.log.read_text()
        assert "Application shutdown complete" in self.log.read_text()
        assert "Traceback" not in self.log.read_text()


@attrs.define
class Place:
    """Where servers have their database and their log of effects."""

    dsn: str
    folder: Path
    _stack: ExitStack
    _count: int = 0

    def start(self, workers: int) -> Server:
        self._count += 1
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        paths = [str(EXAMPLE / "src"), str(ROOT / "tests" / "support")]
        log = self.folder / f"server-{self._count}.log"
        process = self._stack.enter_context(
            subprocess.Popen(
                [*_COMMAND, "--port", str(port), "--workers", str(workers)],
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(paths),
                    "DATABASE_URL": self.dsn,
                    "AGENT": "server_agent:parts",
                    "EFFECTS": str(self.folder / "effects"),
                },
                stdout=self._stack.enter_context(log.open("wb")),
                stderr=subprocess.STDOUT,
            )
        )
        self._stack.callback(process.terminate)
        return Server(f"http://127.0.0.1:{port}", process, log)

    def effects(self) -> list[str]:
        return (self.folder / "effects").read_text().splitlines()


@pytest.fixture
def place(postgres: Any, tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        yield Place(postgres.new_database(), tmp_path, stack)


async def _turn(
    client: httpx.AsyncClient,
    urls: Callable[[int], str],
    talk: str,
    number: int,
    *,
    hasty: bool = False,
) -> None:
    """One turn of a conversation, sent again until it is answered; at first with no patience."""
    body = {"id": f"{talk}-{number}", "text": json.dumps([_CODE.replace("TALK", talk)])}
    for attempt in range(200):
        seconds = 0.05 if hasty and attempt == 0 else 60
        url = f"{urls(attempt)}/threads/{talk}/turns"
        try:
            answer = await client.post(url, json=body, timeout=seconds)
        except httpx.TransportError:
            await asyncio.sleep(0.05)
            continue
        if answer.status_code == 503:
            assert int(answer.headers["retry-after"]) >= 1
            await asyncio.sleep(0.1)
            continue
        assert (answer.status_code, answer.json()) == (200, {"answer": "done"})
        return
    pytest.fail(f"turn {number} of {talk} was never answered")


def _expected(talks: list[str], turns: int) -> list[str]:
    return sorted(
        f"{talk}:{n}:{call}" for talk in talks for n in range(1, turns + 1) for call in "ab"
    )


async def test_conversations_hop_between_servers_at_every_turn(place: Place) -> None:
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
        told = (await client.get(f"{servers[1].url}/metrics")).text
    assert [kind for kind, _ in events[-1:]] == ["answer"]
    calls = [data["phase"] for kind, data in events if kind == "progress"]
    assert sorted(calls) == ["complete", "complete", "start", "start"]
    assert 'agent_turns_total{end="answered"}' in told
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
async def test_a_rolling_restart_under_load_fails_no_conversation(place: Place) -> None:
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

    load = asyncio.gather(*(converse(talk) for talk in talks))
    old = await asyncio.to_thread(_workers, server)
    server.process.send_signal(signal.SIGHUP)
    while old & {one.pid for one in psutil.Process(server.process.pid).children()}:
        assert not load.done()
        await asyncio.sleep(0.2)
    replaced.set()
    await load
    assert sorted(place.effects()) == sorted(
        line for talk in talks for line in _expected([talk], turns[talk])
    )
    await asyncio.to_thread(server.end)


def _workers(server: Server) -> set[int]:
    """The processes of the workers."""
    children = psutil.Process(server.process.pid).children()
    return {one.pid for one in children if "resource_tracker" not in " ".join(one.cmdline())}


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "set DATABASE_URL and AGENT; the README shows how"),
        ({"DATABASE_URL": "x", "AGENT": "server_agent"}, "AGENT is module:function"),
    ],
)
def test_a_wrong_setting_is_told_once(environment: dict[str, str], message: str) -> None:
    paths = os.pathsep.join([str(EXAMPLE / "src"), str(ROOT / "tests" / "support")])
    clean = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "AGENT")}
    done = subprocess.run(
        _COMMAND,
        env={**clean, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.count(message) == 1
    assert "Traceback" not in done.stderr
