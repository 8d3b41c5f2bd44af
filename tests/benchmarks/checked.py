"""What the checks add to a cell: the same cells with it and without, taking turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, Literal

from interpstack import InterpreterStack, Session, bridge

__all__ = ["added"]

_CELLS = 60


@bridge("tools.find")
async def find(q: str, limit: int = 3, tags: list[str] | None = None) -> list[str]:
    return [q]


def _with_calls(number: int) -> str:
    """A cell of 2 KB with 20 calls, of which one runs."""
    calls = "".join(
        f"  if (which === {n}) found.push(...await tools.find({{q: 'term {n}', limit: {n}}}));\n"
        for n in range(20)
    )
    notes = "".join(f"const note{n} = `note ${{{n}}}`;\n" for n in range(12))
    return f"const which = 7, run = {number}, found = [];\n{notes}{{\n{calls}}}\nfound.length"


async def added(
    check: Literal["names", "types"] = "names",
) -> Callable[[], Awaitable[dict[str, float]]]:
    """Measures seconds that a check adds to one cell of each kind."""
    checked = InterpreterStack("quickjs", bridges=[find], check=check).session("bench")
    plain = InterpreterStack("quickjs", bridges=[find], check="off").session("bench")
    numbers = count()

    async def once() -> dict[str, float]:
        return {
            "bare": await _added(checked, plain, lambda: "1 + 1"),
            "known": await _added(checked, plain, lambda: _with_calls(0)),
            "new": await _added(checked, plain, lambda: _with_calls(next(numbers))),
        }

    await once()
    return once


async def _added(checked: Session, plain: Session, source: Callable[[], str]) -> float:
    spent: dict[Any, list[float]] = {checked: [], plain: []}
    for turn in range(2 * _CELLS):
        session = (checked, plain)[turn % 2]
        code = source()
        begun = time.perf_counter()
        outcome = await session.eval(code)
        spent[session].append(time.perf_counter() - begun)
        if outcome.error is not None:
            raise RuntimeError(outcome.error.message)
    return statistics.median(spent[checked]) - statistics.median(spent[plain])
