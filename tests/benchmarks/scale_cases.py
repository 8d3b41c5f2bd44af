"""One engine under the load of a server: `scale_cases.py ENGINE MIX SECONDS` writes a line of JSON.

Many conversations take turns: 32 evals run at once, each in the conversation that has waited
longest. Every cell counts itself in a variable of its conversation, and each answer is compared
with the count, so an engine that loses or repeats a cell has no figures.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

import psutil

from interpstack import InterpreterStack, Limits, Session, bridge

__all__ = ["MIXES", "Mix"]

_AT_ONCE = 32
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


async def _load(waiting: deque[_Conversation], seconds: float) -> list[float]:
    """Take turns for some time; the seconds of each eval."""
    found: list[float] = []
    until = time.perf_counter() + seconds

    async def work() -> None:
        while time.perf_counter() < until:
            conversation = waiting.popleft()
            found.append(await conversation.turn())
            waiting.append(conversation)

    await asyncio.gather(*(work() for _ in range(_AT_ONCE)))
    return found


def _cpu_seconds() -> float:
    """CPU time of this process and of all that it started, ended or not."""
    ended = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    running = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
    return sum(u.ru_utime + u.ru_stime for u in ended) + sum(t.user + t.system for t in running)


async def _measure(engine: str, mix: Mix, seconds: float) -> dict[str, Any]:
    async with InterpreterStack(
        engine,
        bridges=[_wait],
        limits=_LIMITS,
        max_live_sessions=mix.awake,
    ) as stack:
        language = stack.engine.language
        code = _cell(language, mix)
        waiting = deque(
            _Conversation(stack.session(f"conversation {number}"), code)
            for number in range(mix.sessions)
        )
        for conversation in waiting:
            outcome = await conversation.session.eval(_FIRST[language])
            if not outcome.ok:
                raise RuntimeError(str(outcome))
        await _load(waiting, _WARM_SECONDS)
        cpu, begun = _cpu_seconds(), time.perf_counter()
        found = sorted(await _load(waiting, seconds))
        wall, cpu = time.perf_counter() - begun, _cpu_seconds() - cpu
    return {
        "per_second": len(found) / wall,
        "median": found[len(found) // 2],
        "p99": found[int(len(found) * 0.99)],
        "cpu": cpu / len(found),
    }


if __name__ == "__main__":
    _engine, _mix, _seconds = sys.argv[1:]
    figures = asyncio.run(_measure(_engine, MIXES[_mix], float(_seconds)))
    sys.stdout.write(json.dumps(figures) + "\n")
