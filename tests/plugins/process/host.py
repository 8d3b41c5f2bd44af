"""A host that dies: run as a program, it opens sessions and tells the pids of their workers."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from interpstack import Engine, InterpreterStack, Limits
from interpstack_process.engine import ProcessEngine


async def main(how: str, folder: str) -> None:
    sys.path.insert(0, folder)
    import trapdoor

    engine: Engine = ProcessEngine.around(trapdoor.TrapdoorEngine)(workers=2, grace_seconds=0.5)
    stack = InterpreterStack(engine, limits=Limits(cpu_seconds=0.5))
    sessions = [stack.session(name) for name in ("one", "two")]
    await asyncio.gather(*(session.eval("1") for session in sessions))
    hanging = asyncio.ensure_future(sessions[0].eval("//! hold\n"))
    await asyncio.sleep(0.2)
    print(*(worker.pid for worker in engine.pool.workers), flush=True)  # type: ignore[attr-defined]
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "exit":
        os._exit(0)
    await hanging
    if how == "error":
        raise RuntimeError("the host fails")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
