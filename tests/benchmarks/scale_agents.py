"""Turns of an agent under load; writes a line of JSON: `scale_agents.py ours|peer SECONDS`.

32 turns run at once, each with one eval on a thread of its own that is new, on the graph of
`agents.py`. Both sides are in mode `turn`, which is the peer's cheaper one.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import resource
import sys
import time
import uuid
from typing import Any

from agents import agent, ask

__all__: list[str] = []

_AT_ONCE = 32
_WARM_TURNS = 8


async def _measure(side: str, seconds: float) -> dict[str, float]:
    middleware = importlib.import_module(side).turn_middleware()
    graph: Any = agent(["1 + 1"], middleware)
    found: list[float] = []

    async def work(until: float) -> None:
        while time.perf_counter() < until:
            begun = time.perf_counter()
            await ask(graph, uuid.uuid4().hex)
            found.append(time.perf_counter() - begun)

    for _ in range(_WARM_TURNS):
        await ask(graph, uuid.uuid4().hex)
    cpu, begun = _cpu_seconds(), time.perf_counter()
    await asyncio.gather(*(work(begun + seconds) for _ in range(_AT_ONCE)))
    wall, cpu = time.perf_counter() - begun, _cpu_seconds() - cpu
    found.sort()
    return {
        "per_second": len(found) / wall,
        "median": found[len(found) // 2],
        "p99": found[int(len(found) * 0.99)],
        "cpu": cpu / len(found),
    }


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    _side, _seconds = sys.argv[1:]
    sys.stdout.write(json.dumps(asyncio.run(_measure(_side, float(_seconds)))) + "\n")
