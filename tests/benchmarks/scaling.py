"""How long preparing a source takes, by its shape and size, and how long the host stands still.

A cell is prepared before it runs: in a thread, beside the event loop. For each shape of source,
at 16 KiB and at 256 KiB: the seconds of computing a MiB, how much dearer a MiB is at the larger
size, and the most that the process computes between two turns of an event loop that has nothing
else to do: so other work of the machine does not count.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from rich.table import Table

from interpstack_javascript import cells
from interpstack_javascript.cells import SourceError
from interpstack_testing.guests.javascript.exhausting import sources as javascript
from interpstack_testing.guests.python import sources as python

__all__ = ["scaling_results", "scaling_table"]

_KIB = 1024
_SIZES = (16 * _KIB, 256 * _KIB)
_MIB = 1024 * _KIB
#: Targets: seconds a MiB, how much dearer a MiB of the large size is, seconds of standstill.
_MOST_SECONDS = 1.0
_MOST_GROWTH = 2.5
_MOST_STANDSTILL = 0.05
#: Seconds at the small size below which growth says nothing.
_NOISE = 0.004

Prepare = Callable[[str], float]


def _seconds(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def _javascript(source: str) -> float:
    return _parsed(source, None)


def _typescript(source: str) -> float:
    return _parsed(source, "typescript")


def _parsed(source: str, language: str | None) -> float:
    cells.load("let a", language)

    def work() -> None:
        with contextlib.suppress(SourceError):
            cells.prepared(source, language)

    return _seconds(work)


def _monty(source: str) -> float:
    from interpstack_monty.preparation.cells import RefusedSource, prepare

    def work() -> None:
        with contextlib.suppress(RefusedSource):
            prepare(source, 1000)

    return _seconds(work)


#: What is prepared: its title, its shapes, what comes first in each source, and how.
_KINDS: tuple[tuple[str, Mapping[str, str], str, Prepare], ...] = (
    ("JavaScript", javascript.SHAPES, "let a=1;", _javascript),
    ("JavaScript with await", javascript.SHAPES, "await 1;", _javascript),
    ("TypeScript", javascript.SHAPES, "let a:number=1;", _typescript),
    ("Python", python.SHAPES, "a=1\n", _monty),
)


def scaling_results(quick: bool) -> list[dict[str, Any]]:
    """A row for each kind and shape of source."""
    return [row for kind in _KINDS for row in _rows(*kind, quick=quick)]


def _rows(
    title: str, shapes: Mapping[str, str], before: str, prepare: Prepare, *, quick: bool
) -> list[dict[str, Any]]:
    prepare(before)  # loads what it needs
    return [
        {"kind": title, "shape": name, **_figures(shape, before, prepare, 1 if quick else 3)}
        for name, shape in shapes.items()
    ]


def _figures(shape: str, before: str, prepare: Prepare, repeat: int) -> dict[str, Any]:
    per_mib, standstill = [], 0.0
    for size in _SIZES:
        source = before + shape * (size // len(shape))
        taken = [asyncio.run(_beside_a_loop(prepare, source)) for _ in range(repeat)]
        per_mib.append(min(seconds for seconds, _ in taken) * _MIB / size)
        standstill = max(standstill, min(stood for _, stood in taken))
    noise = _NOISE * _MIB / _SIZES[0]
    growth = max(per_mib[1], noise) / max(per_mib[0], noise)
    return {
        "small": per_mib[0],
        "large": per_mib[1],
        "growth": growth,
        "standstill": standstill,
        "met": max(per_mib[1], growth * _MOST_SECONDS / _MOST_GROWTH) <= _MOST_SECONDS
        and standstill <= _MOST_STANDSTILL,
    }


async def _beside_a_loop(prepare: Prepare, source: str) -> tuple[float, float]:
    """Seconds of computing, and the longest time the loop stood still meanwhile."""
    work = asyncio.get_running_loop().run_in_executor(None, prepare, source)
    longest = 0.0
    while not work.done():
        began = time.process_time()
        await asyncio.sleep(0.001)
        longest = max(longest, time.process_time() - began)
    return await work, longest


def scaling_table(results: list[dict[str, Any]]) -> Table:
    """The rows as a table."""
    table = Table(
        title="preparing a source: seconds of computing a MiB",
        caption=f"targets: {_MOST_SECONDS:g} s a MiB, {_MOST_GROWTH:g} times dearer, "
        f"{1000 * _MOST_STANDSTILL:g} ms of standstill",
    )
    table.add_column("language")
    table.add_column("shape")
    for name in ("16 KiB", "256 KiB", "dearer", "event loop stands still"):
        table.add_column(name, justify="right")
    table.add_column("")
    for row in results:
        table.add_row(
            row["kind"],
            row["shape"],
            f"{row['small']:.3f} s",
            f"{row['large']:.3f} s",
            f"{row['growth']:.1f} x",
            f"{1000 * row['standstill']:.0f} ms",
            "[green]pass[/]" if row["met"] else "[red]miss[/]",
        )
    return table
