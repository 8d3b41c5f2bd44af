"""Several guards of one cell: the tightest allowance holds, and one refusal is enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import attrs

from interpstack import Bridge, CellGuard, GuestError, Limits, Outcome, Request
from interpstack.cells.guards import Guards


@attrs.define
class Noting(CellGuard):
    name: str
    seen: list[str]
    left: float | None = None
    refuses: bool = False

    def running(self) -> AbstractContextManager[None]:
        return self._running()

    @contextmanager
    def _running(self) -> Iterator[None]:
        self.seen.append(f"{self.name} in")
        yield
        self.seen.append(f"{self.name} out")

    def allowance(self, kind: Any) -> float | None:
        return self.left

    def admit(self, bridge: Bridge, request: Request) -> GuestError | None:
        self.seen.append(f"{self.name} asked")
        return GuestError(self.name, "no") if self.refuses else None

    def amounts(self) -> Mapping[str, float]:
        return {self.name: 1.0}

    def finish(self, outcome: Outcome, limits: Limits) -> Outcome:
        return attrs.evolve(outcome, text=outcome.text + self.name)


def test_the_least_of_all_allowances_holds() -> None:
    guards = Guards((Noting("a", [], 3.0), Noting("b", []), Noting("c", [], 2.0)))
    assert guards.least("cpu_seconds", None) == 2.0
    assert guards.least("cpu_seconds", 1.0) == 1.0
    assert Guards().least("cpu_seconds", None) is None


def test_the_first_refusal_ends_the_asking() -> None:
    seen: list[str] = []
    guards = Guards((Noting("a", seen), Noting("b", seen, refuses=True), Noting("c", seen)))
    bridge = Bridge(name="kit.f", handler=lambda: None)
    refusal = guards.admit(bridge, Request(1, "kit.f", None))
    assert refusal is not None
    assert (refusal.name, seen) == ("b", ["a asked", "b asked"])


def test_guards_surround_each_other_in_their_order() -> None:
    seen: list[str] = []
    with Guards((Noting("a", seen), Noting("b", seen))).running():
        pass
    assert seen == ["a in", "b in", "b out", "a out"]


def test_of_two_guards_with_one_kind_the_larger_amount_is_recorded() -> None:
    class Counted(CellGuard):
        def __init__(self, calls: float) -> None:
            self.calls = calls

        def amounts(self) -> Mapping[str, float]:
            return {"calls": self.calls}

    for order in ((1.0, 3.0), (3.0, 1.0)):
        assert Guards(tuple(map(Counted, order))).amounts() == {"calls": 3.0}


def test_amounts_are_joined_and_outcomes_handed_on() -> None:
    guards = Guards((Noting("a", []), Noting("b", [])))
    assert guards.amounts() == {"a": 1.0, "b": 1.0}
    assert guards.finish(Outcome(text="x"), Limits()).text == "xab"


async def test_a_guard_that_defines_nothing_allows_everything() -> None:
    guards, outcome = Guards((CellGuard(),)), Outcome(text="x")
    for guard in guards:
        await guard.before_call()
    assert guards.exceeded(None, None) is None
    assert guards.finish(outcome, Limits()) is outcome
