"""Limits on requests, which must refuse the same ones in every run of a cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from interpstack import Bridge, BridgeSet, CellGuard, GuestError, Limits, Request, Settlement
from interpstack.cells.counts import RequestCounts
from interpstack.cells.guards import Guards

_BRIDGES = BridgeSet(
    {
        bridge.name: bridge
        for bridge in (
            Bridge(name="a.free", handler=print, raw=True, counted=False),
            Bridge(name="a.note", handler=print, raw=True, awaited=False),
            Bridge(name="a.tool", handler=print, raw=True),
            Bridge(name="a.twice", handler=print, raw=True, budget=2),
        )
    }
)


class _Guard(CellGuard):
    """Notes what it is told, and refuses requests named in `refused`."""

    def __init__(self, *refused: int) -> None:
        self.refused = refused
        self.noted: list[Any] = []

    def admit(self, bridge: Bridge, request: Request) -> GuestError | None:
        self.noted.append(("admit", bridge.name, request.id))
        return GuestError("Refused", "no") if request.id in self.refused else None

    def replayed(self, bridge: Bridge | None, request: Request, settlement: Settlement) -> None:
        self.noted.append(("replayed", bridge and bridge.name, request.id))

    def resumed(self, bridges: BridgeSet, made: Mapping[str, int]) -> None:
        self.noted.append(("resumed", dict(made)))


def _counts(most: int | None = 3, guard: CellGuard | None = None) -> RequestCounts:
    guards = Guards() if guard is None else Guards((guard,))
    return RequestCounts(_BRIDGES, Limits(requests=most), guards)


def _refusals(counts: RequestCounts, *names: str, order: Any = None) -> list[str]:
    """The errors of requests that are asked for in order, and answered in another one."""
    requests = [Request(number, name, None) for number, name in enumerate(names, 1)]
    for request in requests:
        counts.number(request)
    found = {}
    for at in order or range(len(requests)):
        request = requests[at]
        error = counts.refuse(request, _BRIDGES.get(request.bridge))
        found[at] = error.name if error else ""
    return [found[at] for at in range(len(requests))]


def test_one_request_more_than_the_limit_is_refused() -> None:
    assert _refusals(_counts(3), *["a.tool"] * 4) == ["", "", "", "CallBudgetExceeded"]
    assert _refusals(_counts(None), *["a.tool"] * 300) == [""] * 300


def test_requests_are_refused_in_the_order_of_asking_whoever_comes_first() -> None:
    order = [3, 1, 0, 2]
    assert _refusals(_counts(3), *["a.tool"] * 4, order=order) == [
        *("", "", ""),
        "CallBudgetExceeded",
    ]
    assert _refusals(_counts(9), *["a.twice"] * 4, order=order)[2:] == ["CallBudgetExceeded"] * 2


def test_bridges_with_a_budget_of_their_own_stop_there() -> None:
    names = ["a.twice", "a.tool", "a.twice", "a.twice"]
    assert _refusals(_counts(9), *names) == ["", "", "", "CallBudgetExceeded"]


def test_bridges_that_are_not_counted_leave_the_limit_alone() -> None:
    counts = _counts(1)
    assert _refusals(counts, "a.free", "a.free", "a.tool", "a.tool")[2:] == [
        "",
        "CallBudgetExceeded",
    ]
    assert (counts.made, counts.limited) == (4, 2)
    assert counts.by_bridge == {"a.free": 2, "a.tool": 2}


@pytest.mark.parametrize("name", ["a.gone", "a.note"])
def test_what_is_not_offered_to_be_awaited_is_refused_and_counted(name: str) -> None:
    guard = _Guard()
    counts = _counts(2, guard)
    assert _refusals(counts, name, name, name) == ["ToolError"] * 2 + ["CallBudgetExceeded"]
    assert guard.noted == []  # no guard is asked for what no limit lets in


def test_timers_and_imports_are_no_requests() -> None:
    counts = _counts(1)
    for number, name in enumerate(("timer", "module"), 1):
        counts.number(Request(number, name, None))
    assert (counts.made, counts.by_bridge) == (0, {})
    assert _refusals(counts, "a.tool") == [""]


def test_a_guard_has_the_last_word() -> None:
    guard = _Guard(2)
    assert _refusals(_counts(9, guard), "a.tool", "a.tool", "a.tool") == ["", "Refused", ""]
    assert [noted[2] for noted in guard.noted] == [1, 2, 3]


def test_a_request_is_counted_once_however_often_it_is_numbered() -> None:
    counts, request = _counts(1), Request(1, "a.tool", None)
    for _ in range(3):
        counts.number(request)
    assert counts.made == 1
    assert counts.refuse(request, _BRIDGES.get("a.tool")) is None


def test_a_request_that_an_earlier_run_let_in_is_refused_by_no_limit() -> None:
    counts = _counts(1)
    assert _refusals(counts, "a.tool") == [""]
    late = Request(2, "a.twice", None)
    counts.let_in(late)
    assert counts.refuse(late, _BRIDGES.get("a.twice")) is None
    assert counts.made == 2  # it is counted all the same, for the requests after it
    third = Request(3, "a.tool", None)
    counts.number(third)
    error = counts.refuse(third, _BRIDGES.get("a.tool"))
    assert error is not None
    assert error.data == {"tool": "a.tool"}


def test_replayed_requests_are_reported_to_guards_once() -> None:
    guard = _Guard()
    counts, request = _counts(3, guard), Request(1, "a.tool", None)
    counts.number(request)
    for _ in range(2):
        counts.replayed(request, Settlement(1, "2"))
    counts.replayed(Request(9, "timer", None), Settlement(9))
    assert guard.noted == [("replayed", "a.tool", 1)]


def test_counting_goes_on_after_a_suspended_run() -> None:
    guard = _Guard()
    counts = _counts(4, guard)
    counts.restore({"a.twice": 2, "a.free": 5, "a.gone": 1})
    assert (counts.made, counts.limited) == (8, 3)
    assert guard.noted == [("resumed", {"a.twice": 2, "a.free": 5, "a.gone": 1})]
    assert _refusals(counts, "a.twice", "a.tool") == ["CallBudgetExceeded"] * 2
