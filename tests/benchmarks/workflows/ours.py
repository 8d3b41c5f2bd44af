"""Our side: `WorkflowRunner` on SQLite. Each function sets a case up and returns what runs it."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from interpstack_workflows.api import WorkflowRunner
from workflows.wakes import RUNS, wait_and_wake

__all__: list[str] = []

_STEPS = 1000
_META = 'export const meta = { name: "bench", description: "Takes steps" };\n'
_SEQUENTIAL = f"""{_META}
export default async ({{ steps }}) => {{
  let chars = 0;
  for (let i = 0; i < steps; i++) chars += (await agent(`step ${{i}}`)).length;
  return chars;
}};
"""
_PARALLEL = f"""{_META}
export default async ({{ steps }}) => {{
  const all = await parallel(Array.from({{ length: steps }}, (_, i) => () => agent(`step ${{i}}`)));
  return all.reduce((chars, each) => chars + each.length, 0);
}};
"""
_SLEEPS = f"""
import {{ sleep }} from "workflow:extra";
{_META}
export default async ({{ due }}) => {{
  await sleep(Math.max(0, due - Date.now()));
  return agent(String(due));
}};
"""
_CHARS = sum(len(f"step {number}") for number in range(_STEPS))


async def _step(prompt: str) -> str:
    return prompt


async def sequential() -> Any:
    return await _run_of(_SEQUENTIAL)


async def parallel() -> Any:
    return await _run_of(_PARALLEL)


async def _run_of(source: str) -> Any:
    folder = Path(tempfile.mkdtemp())
    runner = WorkflowRunner(agents={"default": _step}, store=str(folder / "runs.sqlite"))

    async def once() -> dict[str, float]:
        begun = time.perf_counter()
        ended = await runner.run(source, {"steps": _STEPS})
        spent = time.perf_counter() - begun
        if ended.result != _CHARS:
            raise RuntimeError(str(ended)[:500])
        return {"s": spent}

    await runner.run(source, {"steps": 20})
    return once


async def resumed() -> Any:
    folder = Path(tempfile.mkdtemp())
    store = str(folder / "runs.sqlite")

    async def once() -> dict[str, float]:
        reached = asyncio.Event()

        async def last(prompt: str) -> str:
            if prompt == f"step {_STEPS}":
                reached.set()
                await asyncio.Event().wait()
            return prompt

        async with WorkflowRunner(agents={"default": last}, store=store) as runner:
            handle = await runner.start(_SEQUENTIAL, {"steps": _STEPS + 1})
            await reached.wait()
        async with WorkflowRunner(agents={"default": _step}, store=store) as runner:
            begun = time.perf_counter()
            ended = await (await runner.resume(handle.run_id)).result()
            spent = time.perf_counter() - begun
        if ended.result != _CHARS + len(f"step {_STEPS}"):
            raise RuntimeError(str(ended)[:500])
        return {"s": spent}

    return once


async def waiting() -> Any:
    folder = Path(tempfile.mkdtemp())
    woken: list[float] = []

    async def wake(due: str) -> str:
        woken.append(time.time() - float(due) / 1000)
        return due

    runner = WorkflowRunner(agents={"default": wake}, store=str(folder / "runs.sqlite"))

    async def start(due: float) -> None:
        await runner.start(_SLEEPS, {"due": int(due * 1000)})

    async def at_rest() -> None:
        resting = 0
        while resting < RUNS:
            await asyncio.sleep(0.5)
            resting = len(await runner.runs("waiting", limit=2 * RUNS))

    async def once() -> dict[str, float]:
        return await wait_and_wake(start, at_rest, woken)

    return once
