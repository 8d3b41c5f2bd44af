"""MCP: calls of code beside the same calls by the SDK's own client, and code as a tool.

All sides of a row take turns in one process, each with a server process of its own.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import attrs
from mcp import Client, StdioServerParameters
from rich.table import Table

from interpstack import InterpreterStack, Limits
from interpstack_mcp.api import mcp

__all__ = ["server_results", "server_table"]

_TOOLS = Path(__file__).parents[1] / "support" / "mcp_servers" / "tools_server.py"
_CALLS = 100
_ROUNDS = 60
_CODE = f"""
const calls = Array.from({{length: {_CALLS}}}, (_, n) => mcp.tools.add({{first: n, second: 1}}));
(await Promise.all(calls)).length
"""
_Work = Callable[[], Awaitable[object]]
#: Milliseconds of both sides, and how many times those of the first one the second one takes.
_Figures = tuple[float, float, float]


@attrs.frozen
class _Row:
    """One comparison.

    Attributes:
        title: The work.
        bare: The side to compare with.
        most: The largest ratio; `None` for a figure without a target.
    """

    title: str
    bare: str
    most: float | None


ROWS = {
    "in": _Row(f"{_CALLS} parallel calls of a tool, in code", "the SDK's client", 1.2),
    "out": _Row("one small cell by `run_code`", "one small cell in a session", None),
}


def server_results(cache: str, quick: bool = False) -> list[dict[str, Any]]:
    """Measure both rows.

    Args:
        cache: Directory of compiled guests, filled.
        quick: Few rounds.
    """
    figures = asyncio.run(_measure(3 if quick else _ROUNDS, cache))
    return [_result(row, *figures[case]) for case, row in ROWS.items()]


async def _measure(rounds: int, cache: str) -> dict[str, _Figures]:
    tools = StdioServerParameters(command=sys.executable, args=[str(_TOOLS)])
    code = StdioServerParameters(
        command=sys.executable,
        args=["-m", "interpstack", "mcp", "serve"],
        env={"INTERPSTACK_CACHE_DIR": cache},
    )
    servers = {"mcpServers": {"tools": {"command": sys.executable, "args": [str(_TOOLS)]}}}
    stack = InterpreterStack(plugins=[mcp(servers)], limits=Limits(requests=None))
    async with stack, stack.session() as session, Client(tools) as bare, Client(code) as served:

        async def by_client() -> None:
            calls = (bare.call_tool("add", {"first": n, "second": 1}) for n in range(_CALLS))
            assert len(await asyncio.gather(*calls)) == _CALLS

        async def by_code() -> None:
            outcome = await session.eval(_CODE)
            assert outcome.text == str(_CALLS), outcome

        async def small() -> None:
            assert (await session.eval("6 * 7")).text == "42"

        async def small_served() -> None:
            answer = await served.call_tool("run_code", {"code": "6 * 7"})
            assert answer.structured_content is not None

        return {
            "in": await _in_turn(by_client, by_code, rounds),
            "out": await _in_turn(small, small_served, rounds),
        }


async def _in_turn(bare: _Work, ours: _Work, rounds: int) -> _Figures:
    """Medians of two kinds of work, which take turns, and begin a round in turn.

    The ratio is the median of those of each round, so that what else the machine does, which
    changes from round to round, counts for both.
    """
    times: dict[_Work, list[float]] = {bare: [], ours: []}
    for number in range(rounds + 2):
        for work in (bare, ours) if number % 2 else (ours, bare):
            begun = time.perf_counter()
            await work()
            times[work].append((time.perf_counter() - begun) * 1000)
    first, second = (found[2:] for found in times.values())
    ratios = [two / one for one, two in zip(first, second, strict=True)]
    return statistics.median(first), statistics.median(second), statistics.median(ratios)


def _result(row: _Row, bare: float, ours: float, ratio: float) -> dict[str, Any]:
    return {
        "title": row.title,
        "bare_ms": bare,
        "ours_ms": ours,
        "ratio": ratio,
        "met": row.most is None or ratio <= row.most,
    }


def server_table(results: list[dict[str, Any]]) -> Table:
    """The results as a table."""
    table = Table(title="MCP over stdio", caption="medians of rounds, in which both take turns")
    for name in ("work", "beside", "that, ms", "ours, ms", "ours / that", "target", ""):
        table.add_column(name, justify="left" if name in ("work", "beside") else "right")
    for row, result in zip(ROWS.values(), results, strict=True):
        verdict = "" if row.most is None else "[green]pass[/]" if result["met"] else "[red]miss[/]"
        target = "" if row.most is None else f"at most {row.most:.1f} x"
        figures = (f"{result[name]:.1f}" for name in ("bare_ms", "ours_ms"))
        table.add_row(row.title, row.bare, *figures, f"{result['ratio']:.2f} x", target, verdict)
    return table
