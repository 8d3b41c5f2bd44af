"""Starts runs with given ids, one a line of the standard input, and prints how each start ended.

Arguments: the kind of a store, its place, and the name that the agent of this process answers with.
A line has the id of a run, and the time at which to start it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import warnings

from running import opened

from interpstack_workflows.api import WorkflowError, WorkflowRunner, WorkflowStore

SOURCE = """
export const meta = { name: "started", description: "tested" }
export default async (args) => agent(args)
"""


async def main(kind: str, place: str, name: str) -> None:
    async def agent(prompt: str) -> str:
        return prompt

    async with (
        opened(kind, place) as store,
        WorkflowRunner(agents={"default": agent}, store=store) as runner,
    ):
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            run_id, moment = json.loads(line)
            print(json.dumps(await started(runner, store, run_id, moment, name)), flush=True)


async def started(
    runner: WorkflowRunner, store: WorkflowStore, run_id: str, moment: float, name: str
) -> tuple[str, str]:
    """How a start ended: the result of its run, or the error, and the arguments that are stored."""
    time.sleep(max(0.0, moment - time.time()))  # noqa: ASYNC251 - nothing else goes on here
    try:
        result = await runner.run(SOURCE, name, run_id=run_id)
    except WorkflowError as error:
        return "refused", str(error)
    record = await store.read(run_id)
    assert record is not None
    return result.result, record.args


if __name__ == "__main__":
    warnings.simplefilter("error")
    asyncio.run(main(*sys.argv[1:]))
