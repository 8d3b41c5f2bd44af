"""Runs a panel of judges: `python host.py`. The agents are functions, so no model is needed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from interpstack_workflows.api import WorkflowResult, WorkflowRunner

SCRIPT = Path(__file__).with_name("panel.workflow.ts")
TASK = "Tell in a few words what a lighthouse is for, and name ships and rocks."
CRITERIA = {
    "facts": "it names ships and rocks",
    "brevity": "it has at most twelve words",
    "style": "its sentences begin with a capital letter",
}


async def terse(prompt: str) -> str:
    """Writes little."""
    return "It warns ships."


async def thorough(prompt: str) -> str:
    """Writes all that is asked for."""
    return "A lighthouse shows ships where the rocks are."


async def chatty(prompt: str) -> str:
    """Writes more than is asked for."""
    return "well, ships, you know, like to know about rocks, and so there are these lights at night"


async def judge(prompt: str) -> dict[str, Any]:
    """Grades a draft by one criterion."""
    criterion = prompt.partition("alone: ")[2].partition("\n")[0]
    draft: str = json.loads(prompt.partition("Task and draft: ")[2])["draft"]
    found = {
        CRITERIA["facts"]: sum(word in draft.lower() for word in ("ships", "rocks")) / 2,
        CRITERIA["brevity"]: min(1.0, 12 / len(draft.split())),
        CRITERIA["style"]: float(draft[0].isupper()),
    }[criterion]
    return {"grade": max(1, round(10 * found)), "reason": f"{found:.0%} of what it could have"}


async def chair(prompt: str) -> str:
    """Chooses the shortest draft."""
    drafts: dict[str, str] = json.loads(prompt.partition("\n")[2])["drafts"]
    return json.dumps(min(drafts, key=lambda letter: len(drafts[letter])))


AGENTS = {"terse": terse, "thorough": thorough, "chatty": chatty, "judge": judge, "chair": chair}


async def decide(agents: dict[str, Any], writers: list[str]) -> WorkflowResult:
    """Have some of the agents write, and the panel choose."""
    args = {"task": TASK, "writers": writers, "criteria": CRITERIA}
    async with WorkflowRunner(agents=agents) as runner:
        return await runner.run(SCRIPT, args, budget={"agents": 40})


if __name__ == "__main__":
    decided = asyncio.run(decide(AGENTS, ["terse", "thorough", "chatty"]))
    print(json.dumps(decided.result or decided.error, indent=2))
