"""The example server: real workers, a real database, and clients that retry and disconnect."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from example_servers import COMMAND, Servers, python_path, send_turn

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
    ],
)
def test_a_wrong_setting_is_told_once(environment: dict[str, str], message: str) -> None:
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
