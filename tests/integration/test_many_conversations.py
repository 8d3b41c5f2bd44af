"""Thousands of conversations on one node: almost all of them sleep, and take hardly any memory."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

#: All of them take minutes, and run in the env `many`.
LOAD = os.environ.get("INTERPSTACK_LOAD") == "1"
CONVERSATIONS = 10_000 if LOAD else 100
CELLS = 5
AT_ONCE = 8
#: The whole process: Python, the compiled guest, and what is awake, beside all that sleeps.
MOST_BYTES = 600e6

CODE = """
globalThis.rows = [...(globalThis.rows ?? []), {number: NUMBER, text: "row " + Math.random()}];
rows.length
"""


async def _talk(count: int) -> dict[str, float]:
    from interpstack import InterpreterStack

    async with InterpreterStack("quickjs", max_live_sessions=16) as stack:
        numbers = iter(range(count))

        async def work() -> None:
            for number in numbers:
                session = stack.session(f"conversation {number}")
                for cell in range(CELLS):
                    outcome = await session.eval(CODE.replace("NUMBER", str(number)))
                    assert outcome.text == str(cell + 1), outcome

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        found: dict[str, float] = {"bytes": _resident(), "awake": 0}
        for number in (0, count // 2, count - 1):
            outcome = await stack.session(f"conversation {number}").eval("rows.map(r => r.number)")
            assert outcome.text == str([number] * CELLS), outcome
        sessions = [stack.session(f"conversation {number}") for number in range(count)]
        found["awake"] = sum(session.live for session in sessions)
    return found


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _in_a_process(count: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, str(count)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, float] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells the memory of a process")
@pytest.mark.timeout(3600 if LOAD else 300)
def test_conversations_that_sleep_take_hardly_any_memory() -> None:
    found = _in_a_process(CONVERSATIONS)
    assert found["awake"] <= 16
    assert found["bytes"] <= MOST_BYTES


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(_talk(int(sys.argv[1])))))
