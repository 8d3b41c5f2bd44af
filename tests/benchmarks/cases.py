"""What is measured, and the row of the table that each figure becomes.

A *case* is one workload. Its sides (`ours`, `peer`, `bare`) run in processes of their own and
take turns, so that noise of the machine hits all of them. One repetition yields figures by
name; a *row* shows one of them with its target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shown import count, mb, ms, number_of_bytes, times, us

__all__ = ["CASES", "ROWS", "Case", "Row", "Target"]


@dataclass(frozen=True)
class Case:
    """One workload.

    Attributes:
        name: The function that runs it, in `ours.py`, `peer.py` and `bare.py`.
        rounds: Repetitions of each side.
        ours_per_round: Our repetitions in one round, where the peer's take very long.
        bare: Whether there is a side without an interpreter.
        peer: Whether there is a side of the peer.
        fresh: One process for each repetition instead of one for all; see `start.py`.
        cached: For fresh processes, whether an earlier one has filled the cache.
    """

    name: str
    rounds: int
    ours_per_round: int = 1
    bare: bool = False
    peer: bool = True
    fresh: bool = False
    cached: bool = True

    @property
    def sides(self) -> tuple[str, ...]:
        return ("ours", *(["peer"] if self.peer else []), *(["bare"] if self.bare else []))


@dataclass(frozen=True)
class Target:
    """A bound for one figure: of `ours`, of `peer/ours` or of `ours/bare`."""

    of: str
    bound: float
    text: str

    def met(self, figures: dict[str, float]) -> bool:
        if self.of == "ours":
            return figures["ours"] <= self.bound
        if self.of == "peer/ours":
            return figures["peer"] >= self.bound * figures["ours"]
        return figures["ours"] <= self.bound * figures["bare"]


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    title: str
    case: str
    figure: str
    show: Callable[[float], str]
    targets: tuple[Target, ...] = ()


def _faster(times: float) -> Target:
    return Target("peer/ours", times, f"≥ {times:g} x")


def _at_most(bound: float, text: str) -> Target:
    return Target("ours", bound, f"≤ {text}")


def _of_bare(times: float) -> Target:
    return Target("ours/bare", times, f"≤ {times:g} x bare")


CASES = (
    Case("first_start", 3, fresh=True, cached=False),
    Case("later_start", 7, fresh=True),
    Case("imports", 7, fresh=True),
    Case("one_plus_one", 15),
    Case("console_lines", 15),
    Case("rows_100", 4, ours_per_round=5),
    Case("rows_1000", 2, ours_per_round=8),
    Case("parallel_calls", 9, bare=True),
    Case("sequential_calls", 9, bare=True),
    Case("durable_parallel", 25, peer=False),
    Case("durable_sequential", 15, peer=False),
    Case("checked", 5, peer=False),
    Case("checked_types", 5, peer=False),
    Case("traced", 5, peer=False),
    Case("rows_argument", 2, ours_per_round=8, bare=True),
    Case("agent_turn", 15, bare=True),
    Case("thread_turn", 9, bare=True),
    Case("stored", 1),
    Case("large_state", 2),
    Case("idle_sessions", 1),
)

ROWS = (
    Row("first process, nothing cached: import and first result", "first_start", "s", ms),
    Row("later process, cached: import and first result", "later_start", "s", ms, (_faster(10),)),
    Row("import of the package", "imports", "s", ms, (_at_most(0.15, "150 ms"),)),
    Row(
        "… engine and agent packages imported by it",
        "imports",
        "heavy",
        count,
        (_at_most(0, "0"),),
    ),
    Row("1+1 in a warm interpreter", "one_plus_one", "s", ms, (_faster(1.5),)),
    Row("200 lines of console.log", "console_lines", "s", ms, (_faster(20),)),
    Row("result of 100 rows", "rows_100", "s", ms),
    Row("result of 1,000 rows", "rows_1000", "s", ms, (_faster(300),)),
    Row(
        "100 parallel tool calls in one eval",
        "parallel_calls",
        "s",
        ms,
        (_faster(5), _of_bare(1.6)),
    ),
    Row("100 sequential tool calls in one eval", "sequential_calls", "s", ms, (_faster(2.5),)),
    Row(
        "recording 100 parallel calls: an eval durable over not durable",
        "durable_parallel",
        "ratio",
        times,
        (_at_most(1.3, "1.3 x"),),
    ),
    Row(
        "recording 100 sequential calls: added to each call",
        "durable_sequential",
        "added",
        ms,
        (_at_most(0.002, "2 ms"),),
    ),
    Row(
        "check of calls before a cell runs: added to 1+1 in a warm session",
        "checked",
        "bare",
        us,
        (_at_most(20e-6, "20 µs"),),
    ),
    Row(
        "… to a cell of 2 KB with 20 calls, which ran before",
        "checked",
        "known",
        ms,
        (_at_most(0.0005, "0.5 ms"),),
    ),
    Row("… to one that is new", "checked", "new", ms, (_at_most(0.0025, "2.5 ms"),)),
    Row(
        "check of types: added to a new cell of 2 KB with 20 calls",
        "checked_types",
        "new",
        ms,
        (_at_most(0.06, "60 ms"),),
    ),
    Row(
        "plugin otel without an SDK, over no plugin: agent turn with one eval",
        "traced",
        "api_turn",
        times,
        (_at_most(1.03, "1.03 x"),),
    ),
    Row("… eval of 1+1 in a warm session", "traced", "api_bare", times),
    Row("… eval with 100 calls that do nothing", "traced", "api_calls", times),
    Row(
        "plugin otel, SDK whose exporter does nothing: agent turn with one eval",
        "traced",
        "sdk_turn",
        times,
        (_at_most(1.03, "1.03 x"),),
    ),
    Row("… eval of 1+1 in a warm session (1 span)", "traced", "sdk_bare", times),
    Row("… … the same spans made by hand", "traced", "hand_bare", times),
    Row("… eval with 100 calls that do nothing (103 spans)", "traced", "sdk_calls", times),
    Row("… … the same spans made by hand", "traced", "hand_calls", times),
    Row("… added to it for each span", "traced", "sdk_span", us),
    Row("… … by the same spans made by hand", "traced", "hand_span", us),
    Row("1,000 rows as a tool argument", "rows_argument", "s", ms, (_faster(300),)),
    Row("agent turn with one eval, fresh thread", "agent_turn", "s", ms, (_faster(5),)),
    Row("agent turn: restore, eval, persist", "thread_turn", "s", ms, (_faster(15),)),
    Row("stored state of a small session", "stored", "state", number_of_bytes, (_faster(100),)),
    Row("stored for each further turn", "stored", "turn", number_of_bytes, (_faster(1),)),
    Row(
        "get_state values after 1+1",
        "stored",
        "values",
        number_of_bytes,
        (_at_most(16384, "16,384 B"),),
    ),
    Row("turn of 1+1 with 50,000 rows in a variable", "large_state", "s", ms),
    Row("… stored", "large_state", "bytes", number_of_bytes, (_at_most(20000, "20,000 B"),)),
    Row(
        "memory of 1,000 idle sessions", "idle_sessions", "bytes", mb, (_at_most(100e6, "100 MB"),)
    ),
    Row("… threads they hold", "idle_sessions", "threads", count, (_at_most(0, "0"),)),
)
