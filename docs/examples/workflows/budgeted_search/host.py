"""Searches texts within a budget: `python host.py FOLDER TOKENS TERM…`.

The searcher declares how many tokens one call uses at most, and stops there; so the budget cannot
be exceeded, however many calls run at once. A token is a word here, and no model is needed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path

from interpstack_workflows.api import (
    Agent,
    AgentAnswer,
    AgentCall,
    WorkflowResult,
    WorkflowRunner,
    WorkflowUsage,
)

SCRIPT = Path(__file__).with_name("search.workflow.js")


class Searcher(Agent):
    """Finds the lines of a file that have all terms; reads `max_tokens` words at most."""

    description = "finds lines of a source"
    max_tokens = 500

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    async def run(self, call: AgentCall) -> AgentAnswer:
        asked = json.loads(call.prompt)
        path = (self._folder / asked["source"]).resolve()
        if not path.is_relative_to(self._folder):
            raise ValueError(f"{asked['source']!r} is outside the folder")
        text = await asyncio.to_thread(path.read_text, "utf-8")
        hits, words = [], 0
        for line in text.splitlines():
            words += len(line.split())
            if words > self.max_tokens:
                words = self.max_tokens
                break
            if all(term.lower() in line.lower() for term in asked["terms"]):
                hits.append(line.strip())
        return AgentAnswer(hits[:20], WorkflowUsage(input_tokens=words))


async def write(prompt: str) -> str:
    """Writes the answer."""
    hits = json.loads(prompt.partition("\n")[2])["hits"]
    return "\n".join(f"{hit['source']}: {hit['line']}" for hit in hits) or "nothing was found"


def sources_in(folder: Path) -> list[str]:
    """The Markdown files of a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))


async def search(folder: Path, sources: list[str], tokens: int, terms: list[str]) -> WorkflowResult:
    """Search files of a folder, for so many tokens at most."""
    agents = {"searcher": Searcher(folder), "writer": write}
    async with WorkflowRunner(agents=agents) as runner:
        return await runner.run(
            SCRIPT,
            {"terms": terms, "sources": sources},
            budgets={"search-source": {"tokens": tokens}},
            budget={"agents": len(sources) + 1},
            wall_seconds=60,
        )


if __name__ == "__main__":
    usage = argparse.ArgumentParser(description="Search texts within a budget.")
    usage.add_argument("folder", type=Path, help="a folder of *.md files")
    usage.add_argument("tokens", type=int, help="the budget, in words that are read")
    usage.add_argument("term", nargs="+", help="a word that a line must have")
    given = usage.parse_args()
    root = given.folder
    if not root.is_dir():
        usage.error(f"there is no folder {root}")
    ended = asyncio.run(search(root, sources_in(root), given.tokens, given.term))
    print(json.dumps(ended.result or ended.error, indent=2))
    print("tokens:", ended.usage.get("input_tokens", 0))
