"""Mends a project until its tests pass: `python host.py FOLDER`.

The fixer is a function that knows one kind of fault, so no model is needed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from interpstack_commands import LocalSandbox
from interpstack_workflows.api import WorkflowResult, WorkflowRunner

SCRIPT = Path(__file__).with_name("fix.workflow.js")
_UNKNOWN = re.compile(r"name '(\w+)' is not defined")
_PLACE = re.compile(r'File "[^"]*?([\w-]+\.py)", line')


class Fixer:
    """Corrects misspelt names: the output of the tests says which, the file has the right one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    async def __call__(self, prompt: str) -> dict[str, Any]:
        output: str = json.loads(prompt.partition("\n")[2])["output"]
        found = _UNKNOWN.search(output)
        if found is None:
            raise LookupError("the output names no misspelt name")
        path = _PLACE.findall(output[: found.start()])[-1]
        names = set(re.findall(r"[A-Za-z_]\w*", (self._folder / path).read_text("utf-8")))
        near = get_close_matches(found[1], names - {found[1]}, 1)
        if not near:
            raise LookupError(f"{path} has no name like {found[1]}")
        return {"path": path, "find": found[1], "replace": near[0], "why": found[0]}


class Editor:
    """Changes files of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    async def __call__(self, prompt: str) -> str:
        change = json.loads(prompt)
        path = (self._folder / change["path"]).resolve()
        if not path.is_relative_to(self._folder):
            raise ValueError(f"{change['path']!r} is outside the project")
        text = path.read_text("utf-8")
        # After a crash the same change may come again: then it is there already.
        if change["find"] in text:
            path.write_text(text.replace(change["find"], change["replace"]), "utf-8")
        elif change["replace"] not in text:
            raise ValueError(f"{change['path']} has no {change['find']!r}")
        return "done"


async def mend(folder: Path, attempts: int = 3) -> WorkflowResult:
    """Mend a project."""
    # No shell, no environment but this variable, and one program.
    sandbox = LocalSandbox(
        folder, commands=[sys.executable], env={"PYTHONDONTWRITEBYTECODE": "1"}, seconds=60
    )
    args = {"command": sys.executable, "args": ["-m", "unittest"], "attempts": attempts}
    async with WorkflowRunner(
        agents={"fixer": Fixer(folder), "editor": Editor(folder)},
        sandboxes={"local/project": sandbox},
    ) as runner:
        return await runner.run(SCRIPT, args, budget={"agents": 2 * attempts})


if __name__ == "__main__":
    usage = argparse.ArgumentParser(description="Mend a project until its tests pass.")
    usage.add_argument("folder", type=Path, help="the folder of the project, which is changed")
    project = usage.parse_args().folder
    if not project.is_dir():
        usage.error(f"there is no folder {project}")
    mended = asyncio.run(mend(project))
    print(json.dumps(mended.result or mended.error, indent=2))
