"""The benefit of code over calls of tools, measured without a model.

`python tests/benefit/measure.py [--every N] [--write]` does the tasks of AgentDojo and BFCL in all
ways, prints the tables of `docs/explanation/benefit.md`, and fails if the figures differ from the
stored ones: tokens by more than 2 %, as other words in a prompt may change them, and anything else
at all. `--write` stores the figures and draws the picture; `--every N` takes one of N tasks, and
compares nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import attrs
from agentdojo_tasks import agentdojo_tasks
from benefit_figures import COMPARED, FIGURES, PICTURE, differences, picture, stored, tables
from benefit_oracle import ENCODING, Figures, work_in_all_ways
from benefit_tasks import Task
from benefit_ways import WAYS, Origin, origins, traced
from bfcl_tasks import bfcl_tasks
from rich.console import Console

__all__: list[str] = []

_SUITES = {"AgentDojo": agentdojo_tasks, "BFCL, multi-turn": bfcl_tasks}
_PACKAGES = ("agentdojo", "bfcl-eval", "bpe-openai")
#: Questions by the number of their calls.
_RANGES = {"none": (0, 0), "1": (1, 1), "2": (2, 2), "3 or 4": (3, 4), "5 or more": (5, 10_000)}


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take one of N tasks")
    parser.add_argument("--write", action="store_true", help="store the figures, draw the picture")
    arguments = parser.parse_args()
    found = asyncio.run(_measured(arguments.every))
    print(tables(found))
    if arguments.write:
        FIGURES.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
        PICTURE.write_text(picture(found), "utf-8")
    elif arguments.every == 1 and (differing := differences(stored(), found)):
        listed = "\n".join(differing)
        sys.exit(f"Measured otherwise than {FIGURES.name} says; `--write` stores this:\n{listed}")


async def _measured(every: int) -> dict[str, Any]:
    suites: dict[str, Any] = {}
    questions: list[dict[str, Figures]] = []
    for name, read in _SUITES.items():
        begun = time.monotonic()
        suites[name], more = await _suite(name, read()[::every])
        questions += more
        turns = sum(one["turns"] for one in suites[name]["ways"].values())
        taken = time.monotonic() - begun
        progress = Console(stderr=True)
        progress.print(
            f"{name}: final states equal; {1000 * taken / turns:.0f} ms a model turn here"
        )
    return {
        "versions": {name: version(name) for name in _PACKAGES} | {"encoding": ENCODING},
        "suites": suites,
        "by_calls": _by_calls(questions),
    }


async def _suite(
    name: str, tasks: Sequence[Task]
) -> tuple[dict[str, Any], list[dict[str, Figures]]]:
    sums = dict.fromkeys(WAYS, Figures())
    questions: list[dict[str, Figures]] = []
    kinds: Counter[str] = Counter()
    for task in tasks:
        truth = traced(task)
        kinds[_hardest(origins([call for calls in truth for call in calls]))] += 1
        found = await work_in_all_ways(task, truth)
        sums = {way: sum(found[way], sums[way]) for way in WAYS}
        questions += [
            {way: found[way][place] for way in COMPARED} for place in range(len(task.turns))
        ]
    suite = {
        "name": name,
        "tasks": len(tasks),
        "questions": len(questions),
        "titles": {key: way.title for key, way in WAYS.items()},
        "ways": {way: attrs.asdict(one) for way, one in sums.items()},
        "origins": dict(sorted(kinds.items())),
    }
    return suite, questions


def _hardest(found: set[Origin]) -> str:
    last = [one for one in Origin if one in found][-1:] or [Origin.KNOWN]
    return last[0].name.lower()


def _by_calls(questions: Sequence[Mapping[str, Figures]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (least, most) in _RANGES.items():
        chosen = [one for one in questions if least <= one["calls"].calls <= most]
        if chosen:
            sums = {way: sum((one[way] for one in chosen), Figures()) for way in COMPARED}
            found[name] = {"questions": len(chosen)} | {
                way: attrs.asdict(one) for way, one in sums.items()
            }
    return found


if __name__ == "__main__":
    _main()
