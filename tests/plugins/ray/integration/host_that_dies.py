"""A host on a Ray cluster that is killed while a cell runs: prints the processes of its actors."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from interpstack import InterpreterStack
from interpstack_sessions.api import StoredSessions
from interpstack_state import SQLiteStore


async def main(address: str, path: str) -> None:
    stack = InterpreterStack(
        "ray:quickjs",
        [StoredSessions(SQLiteStore(path), claim_seconds=2.0)],
        options={"ray_init": {"address": address}},
    )
    session = stack.session("shared")
    assert (await session.eval("let count = 41; count")).error is None
    running = asyncio.ensure_future(session.eval("count = 0; for (;;);"))
    await asyncio.sleep(1)
    assert not running.done()
    print(*(one.about["pid"] for one in stack.engine.pool.actors), flush=True)  # type: ignore[attr-defined]
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
