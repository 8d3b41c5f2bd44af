"""One run of the workflow over a folder, shown while it goes on."""

from __future__ import annotations

import asyncio
from importlib.resources import files
from pathlib import Path
from typing import Any

import attrs
from langchain_core.language_models import BaseChatModel
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from interpstack_cli.api import printable
from interpstack_demo.tally import Tally
from interpstack_demo.workflow.agents import Librarian, Reader, Writer
from interpstack_workflows.api import LiveProgress, WorkflowResult, WorkflowRunner

__all__ = ["WorkflowModels", "run_workflow"]

_SCRIPT = "inventory.workflow.js"


@attrs.frozen
class WorkflowModels:
    """The models of the workflow's agents.

    Attributes:
        reader: Writes the code that counts.
        writer: Writes the report.
    """

    reader: BaseChatModel
    writer: BaseChatModel


def run_workflow(
    folder: Path, models: WorkflowModels, console: Console
) -> tuple[Tally, WorkflowResult]:
    """Run the workflow, showing its tree while it changes.

    Args:
        folder: Whose files the agents may read.
        models: The models of the agents.
        console: Prints progress, report and summary.

    Returns:
        Counts of what the agents did, and the result of the run, which may have failed.
    """
    tally = Tally()
    console.print(Text.assemble(("Folder ", "bold"), printable(str(folder))))
    with LiveProgress(console) as live:
        result = asyncio.run(_run(folder, models, tally, live))
    if result.status == "completed":
        _show(result, tally, console)
    return tally, result


async def _run(
    folder: Path, models: WorkflowModels, tally: Tally, live: LiveProgress
) -> WorkflowResult:
    source = files("interpstack_demo.workflow").joinpath(_SCRIPT).read_text("utf-8")
    agents = {
        "librarian": Librarian(folder, tally),
        "reader": Reader(folder, models.reader, tally),
        "writer": Writer(models.writer, tally),
    }
    async with WorkflowRunner(agents=agents, events=live) as runner:
        return await runner.run(source)


def _show(result: WorkflowResult, tally: Tally, console: Console) -> None:
    console.print(Markdown(printable(result.result["report"])))
    for one in tally.left_out:
        console.print(Text(printable(f"Left out: {one}"), "yellow"))
    for shelf in result.result["failed"]:
        line = f"Not counted: {shelf['files']} files of {shelf['shelf']}: {shelf['message']}"
        console.print(Text(printable(line), "red"))
    console.print(_summary(result, tally))


def _summary(result: WorkflowResult, tally: Tally) -> Table:
    totals: dict[str, Any] = result.result["totals"]
    usage = result.usage
    tokens = usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
    calls: dict[str, Any] = result.census["agents"]
    rows = {
        "files": totals["files"],
        "lines": totals["lines"],
        "characters": totals["chars"],
        **{f"calls of {name}": sum(calls[name].values()) for name in sorted(calls)},
        "model turns": tally.model_turns,
        "evals": tally.evals,
        "inner calls": tally.inner_calls,
        "characters read by code": tally.chars_read,
        "tokens": tokens,
    }
    table = Table(title="What was counted, and what it took", show_header=False)
    table.add_column("")
    table.add_column("", justify="right")
    for title, number in rows.items():
        table.add_row(title, f"{number:,}")
    return table
