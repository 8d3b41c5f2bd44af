"""One engine under the load of a server; writes a line of JSON.

`scale_cases.py ENGINE MIX SECONDS [--at-once N] [--sessions N] [--workers N] [--nodes N]`

Many conversations take turns: 32 evals run at once, each in the conversation that has waited
longest. Every cell counts itself in a variable of its conversation, and each answer is compared
with the count, so an engine that loses or repeats a cell has no figures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psutil

from interpstack import InterpreterStack, Limits, Session, bridge

__all__ = ["AT_ONCE", "MIXES", "Mix"]

AT_ONCE = 32
_CALL_SECONDS = 0.005
#: Before figures count: processes start, and every conversation has its first cell.
_WARM_SECONDS = 1.0
_LIMITS = Limits(cpu_seconds=120, wall_seconds=None)


@dataclass(frozen=True)
class Mix:
    """A kind of load.

    Attributes:
        title: The name in the table.
        steps: Steps of the loop in each cell.
        calls: Calls in each cell, one after another.
        sessions: Conversations.
        awake: Conversations that hold a realm; the others are hibernated.
        images: Whether the engine has to have images, to hibernate conversations.
    """

    title: str
    steps: int = 0
    calls: int = 0
    sessions: int = 50
    awake: int = 64
    images: bool = False


MIXES = {
    "light": Mix("light: three 5 ms calls, 20,000 steps", 20_000, 3),
    "compute": Mix("compute: three 5 ms calls, 200,000 steps", 200_000, 3),
    "bare": Mix("bare: no calls, no loop"),
    "sleeping": Mix("bare, 400 conversations, 64 awake", sessions=400, images=True),
}

_FIRST = {"javascript": "var cells = 0", "python": "cells = 0"}


def _cell(language: str, mix: Mix) -> str:
    if language == "python":
        loop = f"s = 0\nfor i in range({mix.steps}):\n    s += i\n" if mix.steps else ""
        calls = f"for i in range({mix.calls}):\n    await wait(n=i)\n" if mix.calls else ""
        return f"{loop}{calls}cells += 1\ncells"
    loop = f"{{ let s = 0; for (let i = 0; i < {mix.steps}; i++) s += i }}\n" if mix.steps else ""
    calls = f"for (let i = 0; i < {mix.calls}; i++) await wait({{n: i}});\n" if mix.calls else ""
    return f"{loop}{calls}cells += 1"


@bridge("wait")
async def _wait(n: int) -> int:
    await asyncio.sleep(_CALL_SECONDS)
    return n


@dataclass
class _Conversation:
    session: Session
    code: str
    count: int = 0

    async def turn(self) -> float:
        """One eval; the seconds until its checked answer."""
        begun = time.perf_counter()
        outcome = await self.session.eval(self.code)
        spent = time.perf_counter() - begun
        self.count += 1
        if outcome.text != str(self.count):
            raise RuntimeError(f"expected {self.count}, got {outcome}")
        return spent


async def _load(waiting: deque[_Conversation], seconds: float, at_once: int) -> list[float]:
    """Take turns for some time; the seconds of each eval."""
    found: list[float] = []
    until = time.perf_counter() + seconds

    async def work() -> None:
        while time.perf_counter() < until:
            conversation = waiting.popleft()
            found.append(await conversation.turn())
            waiting.append(conversation)

    await asyncio.gather(*(work() for _ in range(at_once)))
    return found


def _cpu_seconds() -> float:
    """CPU time of this process and of all that it started, ended or not."""
    ended = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    running = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
    return sum(u.ru_utime + u.ru_stime for u in ended) + sum(t.user + t.system for t in running)


async def _measure(load: argparse.Namespace, options: dict[str, Any]) -> dict[str, Any]:
    mix = MIXES[load.mix]
    sessions = load.sessions or max(mix.sessions, load.at_once)
    async with InterpreterStack(
        load.engine,
        bridges=[_wait],
        limits=_LIMITS,
        max_live_sessions=mix.awake if mix.images else max(mix.awake, sessions),
        options=options,
    ) as stack:
        language = stack.engine.language
        code = _cell(language, mix)
        waiting = deque(
            _Conversation(stack.session(f"conversation {number}"), code)
            for number in range(sessions)
        )
        for conversation in waiting:
            outcome = await conversation.session.eval(_FIRST[language])
            if not outcome.ok:
                raise RuntimeError(str(outcome))
        await _load(waiting, _WARM_SECONDS, load.at_once)
        cpu, begun = _cpu_seconds(), time.perf_counter()
        found = sorted(await _load(waiting, load.seconds, load.at_once))
        wall, cpu = time.perf_counter() - begun, _cpu_seconds() - cpu
    return {
        "per_second": len(found) / wall,
        "median": found[len(found) // 2],
        "p99": found[int(len(found) * 0.99)],
        "cpu": cpu / len(found),
    }


@contextmanager
def _prepared(load: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The options of the engine, while the cluster that it needs is there."""
    if not load.engine.startswith("ray:"):
        yield {"workers": load.workers} if load.workers else {}
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    count = load.nodes or load.workers or os.cpu_count() or 1
    options = {"min_actors": count, "max_actors": count}
    if not load.nodes:
        ray.init("local", num_cpus=count, include_dashboard=False, log_to_driver=False)
        try:
            yield options
        finally:
            ray.shutdown()
        return
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
    )
    try:
        for _ in range(load.nodes):
            cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        yield {**options, "actor_options": {"num_cpus": 1}}
    finally:
        ray.shutdown()
        cluster.shutdown()


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("engine")
    parser.add_argument("mix", choices=MIXES)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    for name in ("sessions", "workers", "nodes"):
        parser.add_argument(f"--{name}", type=int)
    load = parser.parse_args()
    with _prepared(load) as options:
        figures = asyncio.run(_measure(load, options))
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    _main()
