"""A team whose payments a person approves, for tests with several processes.

`python approving_team.py URL FOLDER RUN` goes on with a run: it answers all approvals of the run
with `approve`, and prints how the run rests then. The tools note their effects in the folder.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from agent_graphs import Acting
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware

from interpstack_workflows.api import WorkflowRunner

SOURCE = """
export const meta = { name: "payments", description: "Pays bills" }
export default async () => {
  const paid = await parallel([
    () => agent("a", { agentType: "payer" }),
    () => agent("b", { agentType: "chief" }),
  ])
  return { paid }
}
"""


def team(folder: Path) -> dict[str, Any]:
    """An agent that looks, then pays; and one that has a subagent pay."""

    def look(what: str) -> str:
        """Look at a bill."""
        return _noted(folder, f"look {what}")

    def pay(amount: int) -> str:
        """Pay a bill."""
        return _noted(folder, f"pay {amount}")

    asks: dict[str, Any] = {"pay": True}
    turns = [[("look", {"what": "bill"})], [("pay", {"amount": 1}), ("pay", {"amount": 2})]]
    payer = create_agent(
        Acting(turns=turns), [look, pay], middleware=[HumanInTheLoopMiddleware(asks)]
    )
    helper: dict[str, Any] = {
        "name": "helper",
        "description": "pays",
        "system_prompt": "pay",
        "model": Acting(turns=[[("look", {"what": "account"})], [("pay", {"amount": 3})]]),
        "tools": [look, pay],
        "interrupt_on": asks,
    }
    task = [("task", {"description": "pay it", "subagent_type": "helper"})]
    chief = create_deep_agent(Acting(turns=[task]), subagents=[helper])
    return {"payer": payer, "chief": chief}


def _noted(folder: Path, what: str) -> str:
    with (folder / "effects").open("a") as file:
        file.write(f"{what}\n")
    return what


def effects(folder: Path) -> list[str]:
    """Everything that the tools did, in all processes."""
    return sorted((folder / "effects").read_text().splitlines())


async def go_on(url: str, folder: Path, run_id: str) -> dict[str, Any]:
    """Approve everything that a run waits for; returns how it rests then."""
    async with WorkflowRunner(agents=team(folder), store=url) as runner:
        record = await runner.show(run_id)
        for wait in record.waiting_for:
            decisions = {one["id"]: "approve" for one in wait["approvals"]}
            await runner.answer(run_id, wait["id"], decisions)
        result = await (await runner.resume(run_id)).rest()
    usage = {name: result.usage[name] for name in ("input_tokens", "output_tokens")}
    return {"status": result.status, "result": result.result, "error": result.error, **usage}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(go_on(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))))
