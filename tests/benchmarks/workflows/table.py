"""The table of workflows: this project beside DBOS and LangGraph."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rich.console import Console
from rich.table import Table
from sides import Figures, measure

from workflows.cases import CASES, OTHERS, ROWS, WorkflowRow

__all__ = ["workflow_results", "workflow_table"]


def workflow_results(cache: str, quick: bool = False) -> list[dict[str, Any]]:
    """Measure every row.

    Args:
        cache: Directory of compiled guests, filled.
        quick: One round for each case.
    """
    progress = Console(stderr=True)
    found: dict[str, Figures] = {}
    for case in CASES:
        progress.print(f"measuring workflows: {case.name} …", style="dim")
        try:
            figures = measure(case, cache, quick)
            found[case.name] = {side.rpartition(".")[2]: one for side, one in figures.items()}
        except RuntimeError as error:
            progress.print(str(error), style="red", markup=False)
            found[case.name] = {}
    return [_result(row, found[row.case]) for row in ROWS]


def _result(row: WorkflowRow, figures: Figures) -> dict[str, Any]:
    values = {side: one[row.figure] for side, one in figures.items()}
    others = [values[side] for side in OTHERS if side in values]
    ours = values.get("ours")
    return {
        "title": row.title,
        "case": row.case,
        "figure": row.figure,
        "sides": values,
        "ratio": min(others) / ours if others and ours else None,
        "met": ours is not None and row.met(ours, others),
    }


def workflow_table(results: list[dict[str, Any]]) -> Table:
    """The results as a table."""
    table = Table(
        title=f"workflows on SQLite: {', '.join(map(_named, ('interpstack', *OTHERS.values())))}",
        caption="medians; DBOS resumes from the start of its function, without its queue",
    )
    table.add_column("work")
    for name in ("interpstack", *OTHERS.values(), "best of these / ours", "target", ""):
        table.add_column(name, justify="right")
    for row, result in zip(ROWS, results, strict=True):
        sides = result["sides"]
        cells = [row.show(sides[side]) if side in sides else "" for side in ("ours", *OTHERS)]
        ratio = "" if result["ratio"] is None else f"{result['ratio']:.1f} x"
        verdict = "" if not row.target else "[green]pass[/]" if result["met"] else "[red]miss[/]"
        table.add_row(row.title, *cells, ratio, row.target, verdict)
    return table


def _named(distribution: str) -> str:
    try:
        return f"{distribution} {version(distribution)}"
    except PackageNotFoundError:
        return f"{distribution} (not installed)"
