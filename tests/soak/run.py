"""The soak: hours of mixed load in minutes; nothing is lost, wrong, or left behind.

`PYTHONPATH=tests/support python tests/soak/run.py --seconds S [--engine NAME …] [--database DSN]
[--seed N] [--json FILE]`

All loads run at once in this process: on each engine, conversations whose cells count, fail, are
cancelled, sleep and grow, and an agent whose calls wait for an approval; on the example server,
turns by HTTP, if there is a database for it. Every effect is noted outside of the interpreters.
Now and then all loads stop between two steps, and the figures of the processes are noted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import attrs
from agents import AgentLoad
from example_servers import Servers
from gates import Gate, Log, Tally
from rich.console import Console
from rich.table import Table
from samples import MIB, Sample, details, growth, take
from server import ServerLoad
from sessions import SessionLoad

__all__: list[str] = []

_ENGINES = ("quickjs", "process:quickjs", "monty", "v8")
#: Samples of a run, and the fewest seconds between two.
_SAMPLES, _LEAST_PAUSE = 60, 0.5
#: Seconds to wait for all steps to end, for a sample or at the end.
_PATIENCE = 300.0
#: Seconds of a run that is long enough to begin with as many conversations as agents remember.
_LONG = 60.0
_FIGURES = ("first", "median", "rise", "least", "most")
_CAPTION = (
    "rise: of the trend over the second half; at least: of that, beyond the scatter of the samples"
)


def _main() -> int:
    arguments = _arguments()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        report = asyncio.run(_soak(arguments, folder, stack))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(report, indent=2) + "\n", "utf-8")
    _print(report)
    grew = [one for one in report["growth"] if not one["flat"]]
    bad = report["lost"] or report["wrong"] or (grew and not arguments.no_growth)
    return 1 if bad else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--engine", action="append", choices=_ENGINES, help="repeatable")
    parser.add_argument("--database", help="of PostgreSQL, for the example server")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", metavar="FILE", help="write the report to a file, too")
    parser.add_argument(
        "--no-growth", action="store_true", help="exit with 0 though figures grew: short runs do"
    )
    return parser.parse_args()


async def _soak(arguments: argparse.Namespace, folder: Path, stack: ExitStack) -> dict[str, Any]:
    gate, log, tally = Gate(), Log(folder), Tally(arguments.seed)
    engines = arguments.engine or list(_ENGINES)
    loads: list[Any] = [SessionLoad(engine, gate, log, tally) for engine in engines]
    fills = arguments.seconds >= _LONG
    agents = [AgentLoad(engine, folder, gate, log, tally, fills=fills) for engine in engines]
    pid = None
    if arguments.database:
        servers = stack.enter_context(Servers.at(arguments.database, folder))
        server = servers.start(workers=2)
        await asyncio.to_thread(server.wait)
        pid = server.process.pid
        loads.append(ServerLoad(server.url, gate, log, tally))
    async with asyncio.TaskGroup() as group:
        for agent in agents:
            group.create_task(agent.run())
        for agent in agents:
            await agent.warm.wait()
        for load in loads:
            group.create_task(load.run())
        samples, more = await _watch(gate, arguments.seconds, pid)
    if pid is not None:
        await asyncio.to_thread(server.end)
    log.close()
    lost, strange = log.differences()
    return {
        "seconds": arguments.seconds,
        "steps": dict(sorted(tally.steps.items())),
        "lost": len(lost),
        "wrong": tally.wrong_count + len(strange),
        "faults": [*lost[:10], *strange[:10], *tally.wrong],
        "samples": [{kind: attrs.asdict(s) for kind, s in one.items()} for one in samples],
        "more": dict(more),
        "growth": [{**attrs.asdict(g), "flat": g.flat} for g in growth(samples)],
    }


async def _watch(
    gate: Gate, seconds: float, pid: int | None
) -> tuple[list[dict[str, Sample]], Counter[str]]:
    """Take samples until the time is over, then end all loads.

    Returns:
        The samples, and what this process holds more of at the end than at half time.
    """
    samples: list[dict[str, Sample]] = []
    begun = time.monotonic()
    pause = max(_LEAST_PAUSE, seconds / _SAMPLES)
    progress = Console(stderr=True)
    half: Counter[str] | None = None
    try:
        while not samples or time.monotonic() < begun + seconds:
            await asyncio.sleep(pause)
            async with asyncio.timeout(_PATIENCE), gate.closed():
                samples.append(await asyncio.to_thread(take, pid))
                held = await asyncio.to_thread(details)
            if half is None and time.monotonic() >= begun + seconds / 2:
                half = held
            shown = ", ".join(f"{kind} {s.memory / MIB:.0f} MiB" for kind, s in samples[-1].items())
            progress.print(f"after {time.monotonic() - begun:.0f} s: {shown}", style="dim")
    finally:
        gate.ended = True
    return samples, held - (half or held)


def _print(report: dict[str, Any]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 120)
    steps = Table(title=f"{sum(report['steps'].values()):,} steps in {report['seconds']:g} s")
    steps.add_column("load")
    steps.add_column("steps", justify="right")
    for kind, count in report["steps"].items():
        steps.add_row(kind, f"{count:,}")
    held = Table(title="between two steps", caption=_CAPTION)
    held.add_column("processes")
    held.add_column("held")
    for name in ("at first", "second half", "rise", "at least", "at most", ""):
        held.add_column(name, justify="right")
    for one in report["growth"]:
        unit = MIB if one["figure"] == "memory" else 1
        figures = (f"{one[name] / unit:,.1f}" for name in _FIGURES)
        name = "MiB" if unit == MIB else one["figure"]
        verdict = "[green]flat[/]" if one["flat"] else "[red]grows[/]"
        held.add_row(one["kind"], name, *figures, verdict)
    console.print(steps, held)
    if report["more"]:
        console.print("more in this process than at half time:", report["more"])
    console.print(f"{report['lost']} lost, {report['wrong']} wrong")
    for found in report["faults"]:
        console.print(found, markup=False)


if __name__ == "__main__":
    sys.exit(_main())
