"""Approves and sends an announcement: `python host.py FOLDER TOPIC`, answers on standard input.

Each step uses a runner of its own, as processes would that know nothing of each other but the
database in FOLDER. Sent announcements are files in FOLDER/outbox.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from interpstack_workflows.api import AgentCall, WorkflowResult, WorkflowRunner

SCRIPT = Path(__file__).with_name("announce.workflow.js")


async def write(prompt: str) -> str:
    """Writes an announcement, or changes one."""
    head, _, rest = prompt.partition("\n")
    if not rest:
        return f"We are glad to announce {head.partition(': ')[2]}!"
    given = json.loads(rest)
    return f"{given['text']} ({given['wish']})"


class Sender:
    """Sends texts, each once.

    A process that dies between the effect and its record leaves a step that is tried again; the key
    of the call is the same then, so the second try finds that there is nothing left to do.
    """

    def __init__(self, outbox: Path) -> None:
        self._outbox = outbox

    async def __call__(self, call: AgentCall) -> dict[str, Any]:
        self._outbox.mkdir(exist_ok=True)
        path = self._outbox / f"{hashlib.sha256(call.key.encode()).hexdigest()[:16]}.txt"
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(call.prompt)
        except FileExistsError:
            return {"file": path.name, "again": True}
        return {"file": path.name, "again": False}


def runner(folder: Path) -> WorkflowRunner:
    """A runner on the database of a folder."""
    agents = {"writer": write, "sender": Sender(folder / "outbox")}
    return WorkflowRunner(agents=agents, store=str(folder / "runs.db"))


async def start(folder: Path, topic: str, delay_ms: int) -> WorkflowResult:
    """Start a run, and leave it when it waits for a person."""
    async with runner(folder) as here:
        return await here.run(SCRIPT, {"topic": topic, "delayMs": delay_ms})


async def answer(folder: Path, waiting: WorkflowResult, text: str) -> WorkflowResult:
    """Answer the open question of a run, and continue until it waits or has ended."""
    question = next(wait for wait in waiting.waiting_for if wait["kind"] == "ask")
    async with runner(folder) as here:
        await here.answer(waiting.run_id, question["id"], text)
        handle = await here.resume(waiting.run_id)
        return await handle.rest()


async def main(folder: Path, topic: str) -> None:
    """Start a run, and answer its questions from standard input."""
    stands = await start(folder, topic, delay_ms=200)
    while stands.status == "waiting":
        print(stands.waiting_for[0]["question"])
        line = (await asyncio.to_thread(sys.stdin.readline)).strip()
        stands = await answer(folder, stands, line)
    print(json.dumps(stands.result or stands.error, indent=2))


if __name__ == "__main__":
    usage = argparse.ArgumentParser(description="Approve and send an announcement.")
    usage.add_argument("folder", type=Path, help="the folder of the database and the outbox")
    usage.add_argument("topic", help="the subject of the announcement")
    given = usage.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(given.folder, given.topic))
