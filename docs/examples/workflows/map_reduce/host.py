"""Counts causes of incidents: `python host.py FOLDER`, with a folder of `*.txt` reports.

Each line `cause: WORDS` of a report is one incident. The agents are functions, so no model is
needed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from interpstack_workflows.api import WorkflowResult, WorkflowRunner

SCRIPT = Path(__file__).with_name("incidents.workflow.js")
_CAUSE = re.compile(r"^cause: (.+)$", re.MULTILINE)


class Reader:
    """Reads reports of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    async def __call__(self, prompt: str) -> dict[str, Any]:
        name = json.loads(prompt[prompt.index('"') : prompt.rindex('"') + 1])
        path = (self._folder / name).resolve()
        if not path.is_relative_to(self._folder):  # prompts are text that a script has made
            raise ValueError(f"{name!r} is outside the folder")
        text = await asyncio.to_thread(path.read_text, "utf-8")
        return {"reports": 1, "causes": Counter(_CAUSE.findall(text))}


async def merge(prompt: str) -> dict[str, Any]:
    """Adds up summaries."""
    summaries = json.loads(prompt.partition("\n")[2])
    causes: Counter[str] = Counter()
    for summary in summaries:
        causes.update(summary["causes"])
    return {"reports": sum(one["reports"] for one in summaries), "causes": causes}


async def count(folder: Path, paths: list[str]) -> WorkflowResult:
    """Count the incidents in reports of a folder."""
    agents = {"reader": Reader(folder), "merger": merge}
    async with WorkflowRunner(agents=agents) as runner:
        return await runner.run(SCRIPT, {"paths": paths}, budget={"agents": 3 * len(paths)})


if __name__ == "__main__":
    usage = argparse.ArgumentParser(description="Count causes of incidents.")
    usage.add_argument("folder", type=Path, help="a folder of *.txt reports")
    reports = usage.parse_args().folder
    if not reports.is_dir():
        usage.error(f"there is no folder {reports}")
    counted = asyncio.run(count(reports, sorted(path.name for path in reports.glob("*.txt"))))
    print(json.dumps(counted.result or counted.error, indent=2))
    print("calls of agents:", counted.usage["agents"])
