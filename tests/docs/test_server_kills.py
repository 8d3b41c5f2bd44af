"""The example server, whose workers are killed while turns with effects run."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from example_servers import Server, Servers, send_turn

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals of POSIX"),
    pytest.mark.timeout(900),  # workers are replaced beside the load
]

#: Counts the turns in a variable; what follows the call that is held comes once it is released.
_HELD = """
globalThis.count = (globalThis.count ?? 0) + 1;
await tools.note({what: `talk:${count}:before`});
await tools.hold({what: `talk:${count}`});
await tools.note({what: `talk:${count}:after`});
count
"""
_PAYS = """
globalThis.count = (globalThis.count ?? 0) + 1;
for (const call of ["a", "b", "c"]) await tools.pay({what: `TALK:${count}:${call}`});
count
"""


@pytest.fixture
def place(postgres: Any, tmp_path: Path) -> Iterator[Servers]:
    with Servers.at(postgres.new_database(), tmp_path) as servers:
        yield servers


async def _lines(path: Path, enough: Callable[[list[Any]], bool]) -> list[Any]:
    """The lines of a log, once they are enough."""
    async with asyncio.timeout(300):
        while True:
            found = await asyncio.to_thread(_read, path)
            if enough(found):
                return found
            await asyncio.sleep(0.02)


def _read(path: Path) -> list[Any]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


async def test_a_worker_is_killed_in_the_middle_of_a_turn(place: Servers) -> None:
    servers = [place.start(1), place.start(1)]
    for server in servers:
        await asyncio.to_thread(server.wait)
    held, release = place.folder / "effects.held", place.folder / "effects.release"
    release.touch()

    async def turn(client: httpx.AsyncClient, number: int, first: Server) -> None:
        order = [first, *(one for one in servers if one is not first)]
        await send_turn(client, lambda n: order[n % 2].url, "talk", number, [_HELD])

    async with httpx.AsyncClient() as client:
        await turn(client, 1, servers[0])
        release.unlink()
        running = asyncio.create_task(turn(client, 2, servers[0]))
        found = await _lines(held, lambda lines: len(lines) == 2)
        # Another client asks the other worker for the same turn while it runs: it must wait.
        other = asyncio.create_task(turn(client, 2, servers[1]))
        os.kill(found[1]["process"], signal.SIGKILL)
        release.touch()
        await asyncio.gather(running, other)
        await turn(client, 3, servers[1])
    ended, survivor = servers
    assert ended.process.wait() == -signal.SIGKILL
    # Recorded calls were not made again. The one in flight was, under the same id.
    assert place.effects() == [
        f"talk:{n}:{when}" for n in (1, 2, 3) for when in ("before", "after")
    ]
    calls = await _lines(held, lambda lines: True)
    assert [call["what"] for call in calls] == ["talk:1", "talk:2", "talk:2", "talk:3"]
    assert calls[1]["call"] == calls[2]["call"]
    assert len({call["call"] for call in calls}) == 3
    assert [call["process"] for call in calls] == [ended.process.pid] * 2 + [
        survivor.process.pid
    ] * 2
    await asyncio.to_thread(survivor.end)


async def test_workers_are_killed_again_and_again_under_load(place: Servers) -> None:
    server = place.start(2)
    await asyncio.to_thread(server.wait)
    talks = [f"talk{n}" for n in range(4)]
    turns = dict.fromkeys(talks, 0)
    over = asyncio.Event()

    async def converse(talk: str) -> None:
        while not over.is_set():
            # A new connection each time: any worker may take it.
            async with httpx.AsyncClient() as client:
                code = _PAYS.replace("TALK", talk)
                await send_turn(client, lambda _: server.url, talk, turns[talk] + 1, [code])
            turns[talk] += 1

    load = asyncio.gather(*(converse(talk) for talk in talks))
    paid, killed = place.folder / "effects.paid", set[int]()
    for number in range(3):
        least = 20 * number
        found = await _lines(paid, lambda lines, least=least: _in_flight(lines, least, killed))
        killed.add(found[-1]["process"])
        os.kill(found[-1]["process"], signal.SIGKILL)
        assert not load.done()
    over.set()
    await load
    _check(await _lines(paid, lambda lines: True), turns, killed)
    server.process.terminate()
    await asyncio.to_thread(server.process.wait, 300)  # a worker that starts does so first


def _in_flight(lines: list[Any], least: int, killed: set[int]) -> bool:
    """Whether a call has just begun in a worker that is not killed yet."""
    return len(lines) > least and lines[-1]["begins"] and lines[-1]["process"] not in killed


def _check(lines: list[Any], turns: dict[str, int], killed: set[int]) -> None:
    begun: dict[str, list[Any]] = defaultdict(list)
    for line in lines:
        if line["begins"]:
            begun[line["what"]].append(line)
    assert set(begun) == {
        f"{talk}:{n}:{call}"
        for talk, count in turns.items()
        for n in range(1, count + 1)
        for call in "abc"
    }
    for calls in begun.values():  # again only where a worker was killed, under the same id
        assert len({call["call"] for call in calls}) == 1
        assert {call["process"] for call in calls[:-1]} <= killed
        assert len({call["process"] for call in calls}) == len(calls)
    for talk in turns:
        found = [line for line in lines if line["what"].startswith(f"{talk}:")]
        found.sort(key=lambda line: line["time"])
        numbers = [int(line["what"].split(":")[1]) for line in found]
        assert all(a <= b for a, b in pairwise(numbers)), "a turn began before the last one's end"
        for _, turn in groupby(found, lambda line: line["what"].split(":")[1]):
            workers = [pid for pid, _ in groupby(turn, lambda line: line["process"])]
            assert len(workers) == len(set(workers)), "two workers had a turn at once"
