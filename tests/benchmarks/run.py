"""The benchmark: this project beside `langchain-quickjs`, measured in the same run.

`python tests/benchmarks/run.py [--json FILE] [--check] [--only CASE … | --engines | --sources |
--servers | --workflows] [--quick]`

A second table follows, with a column for each engine; `--engines` prints it alone. A third one
shows what preparing sources of many shapes costs; `--sources` prints that alone. One has calls of
MCP servers beside those of the SDK's client; `--servers` prints that alone. The last one has
workflows beside those of DBOS and LangGraph; `--workflows` prints that alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from cases import CASES, ROWS, Row
from engines import engine_results, engine_table, missing
from rich.console import Console
from rich.table import Table
from scaling import scaling_results, scaling_table
from servers import server_results, server_table
from sides import Figures, fill, measure
from workflows.table import workflow_results, workflow_table

__all__: list[str] = []

_PEER = "langchain-quickjs"
_Rows = list[dict[str, Any]]
#: The further tables, by their options: what measures each, and what is printed of it.
_TABLES: dict[str, tuple[Callable[[str, bool], _Rows], Callable[[_Rows], list[Any]]]] = {
    "engines": (engine_results, lambda rows: [engine_table(rows), *missing()]),
    "sources": (lambda _, quick: scaling_results(quick), lambda rows: [scaling_table(rows)]),
    "servers": (server_results, lambda rows: [server_table(rows)]),
    "workflows": (workflow_results, lambda rows: [workflow_table(rows)]),
}


def _main() -> int:
    arguments = _arguments()
    peer = _peer_version()
    if peer is None and not arguments.table:
        sys.stderr.write(f"{_PEER} is not installed; run the benchmark with: tox -e bench\n")
        return 2
    console = Console(width=None if sys.stdout.isatty() else 140)
    results: _Rows = []
    others: dict[str, _Rows] = {}
    with tempfile.TemporaryDirectory() as cache:
        fill(cache)
        if not arguments.table:
            figures = _measure(arguments.only, arguments.quick, cache)
            results = [_result(row, figures[row.case]) for row in ROWS if row.case in figures]
            console.print(_table(results, str(peer)))
        for name, (measured, shown) in _TABLES.items():
            if arguments.table == name or not (arguments.table or arguments.only):
                others[name] = measured(cache, arguments.quick)
                console.print(*shown(others[name]), sep="\n")
    if arguments.json:
        report = json.dumps({**_report(results, peer), **others}, indent=2)
        Path(arguments.json).write_text(report + "\n", "utf-8")
    missed = [one for rows in (results, *others.values()) for one in rows if not one["met"]]
    return 1 if missed and arguments.check else 0


def _peer_version() -> str | None:
    try:
        return version(_PEER)
    except PackageNotFoundError:
        return None


def _measure(only: list[str] | None, quick: bool, cache: str) -> dict[str, Figures]:
    """Figures by case; none for a case that failed."""
    progress = Console(stderr=True)
    figures: dict[str, Figures] = {}
    for case in CASES:
        if only and case.name not in only:
            continue
        progress.print(f"measuring {case.name} …", style="dim")
        try:
            figures[case.name] = measure(case, cache, quick)
        except RuntimeError as error:
            progress.print(str(error), style="red", markup=False)
            figures[case.name] = {}
    return figures


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    names = [case.name for case in CASES]
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file, too")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--only", action="append", choices=names, help="run this case; repeatable")
    for name in _TABLES:
        text = f"print the table of {name} alone"
        parser.add_argument(f"--{name}", action="store_const", const=name, dest="table", help=text)
    parser.add_argument("--quick", action="store_true", help="one repetition of everything")
    return parser.parse_args()


def _result(row: Row, figures: Figures) -> dict[str, Any]:
    values = {side: found[row.figure] for side, found in figures.items()}
    targets = [{"target": t.text, "met": bool(values) and t.met(values)} for t in row.targets]
    return {
        "title": row.title,
        "case": row.case,
        "figure": row.figure,
        **values,
        "ratio": values["peer"] / values["ours"] if values.get("peer") and values["ours"] else None,
        "of_bare": values["ours"] / values["bare"] if values.get("bare") else None,
        "targets": targets,
        "met": bool(values) and all(target["met"] for target in targets),
        "shown": {side: row.show(value) for side, value in values.items()},
    }


def _table(results: list[dict[str, Any]], peer: str) -> Table:
    title = f"interpstack {version('interpstack')} and {_PEER} {peer}: medians"
    table = Table(title=title, caption="bare: the same work without an interpreter")
    table.add_column("work")
    for name in ("interpstack", "peer", "bare", "peer / ours", "ours / bare", "target"):
        table.add_column(name, justify="right")
    table.add_column("")
    for result in results:
        shown = result["shown"]
        targets = ", ".join(target["target"] for target in result["targets"])
        table.add_row(
            result["title"],
            shown.get("ours", ""),
            shown.get("peer", ""),
            shown.get("bare", ""),
            _times(result["ratio"]),
            _times(result["of_bare"]),
            targets,
            _verdict(result),
        )
    return table


def _verdict(result: dict[str, Any]) -> str:
    if not result["shown"]:
        return "[red]failed[/]"
    if not result["targets"]:
        return ""
    return "[green]pass[/]" if result["met"] else "[red]miss[/]"


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:,.{0 if ratio >= 100 else 1}f} x"


def _report(results: list[dict[str, Any]], peer: str | None) -> dict[str, Any]:
    rows = [{k: v for k, v in result.items() if k != "shown"} for result in results]
    return {
        "interpstack": version("interpstack"),
        "peer": peer and f"{_PEER} {peer}",
        "python": platform.python_version(),
        "machine": platform.platform(),
        "cpus": os.cpu_count(),
        "rows": rows,
    }


if __name__ == "__main__":
    sys.exit(_main())
