"""Limits that every engine needs; limits on time and memory are tested if declared."""

from __future__ import annotations

from typing import Any

import attrs

from interpstack.contracts.limits import Limits
from interpstack.contracts.protocol import Cell
from interpstack.stack import InterpreterStack
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.kit import EngineKit, bridge_set, hanging, patient, poll

__all__ = ["CpuLimitTests", "LimitTests", "MemoryLimitTests"]

_MIB = 2**20


class LimitTests(EngineKit, area=Area.LIMITS):
    """Required of every engine."""

    def test_wall_limit_trips(self) -> None:
        ends: list[str] = []
        for seconds in (0.3, 3, 30):  # on a busy machine the first may pass before the request
            stack = self.stack(echo=hanging(ends), limits=Limits(wall_seconds=seconds))
            _trips_wall(self, stack, self.guest.request, f"longer than {seconds:g} s in total")
            if ends:
                break
        assert ends == ["cancelled"]

    def test_request_budget_trips(self) -> None:
        with self.session(limits=Limits(requests=3)) as session:
            assert self.eval(session, self.guest.sequence) == "3 CallBudgetExceeded"
            assert self.eval(session, self.guest.request) == "42"

    def test_bridges_that_are_not_counted_draw_on_no_budget(self) -> None:
        bridges = [attrs.evolve(bridge, counted=False) for bridge in bridge_set()]
        stack = InterpreterStack(self.engine, bridges=bridges, limits=Limits(requests=3))
        with stack.session() as session:
            assert self.eval(session, self.guest.parallel) == "4950"

    def test_large_results_are_cut_and_say_so(self) -> None:
        with self.session(limits=Limits(result_chars=100)) as session:
            outcome = session.eval_sync(self.guest.long_text)
            assert outcome.error is None
            assert outcome.text.strip("x") == ""
            assert 100 <= len(outcome.text) < 20_000
            assert outcome.omitted_chars > 0
            assert len(session.render(outcome)) < 1000
            session.eval_sync(self.guest.store)
            self.assert_usable(session)

    def test_there_may_be_no_limit(self) -> None:
        limits = Limits(cpu_seconds=None, wall_seconds=None, memory_bytes=None, requests=None)
        with self.session(limits=limits) as session:
            session.eval_sync(self.guest.store)
            self.assert_usable(session)
            assert self.eval(session, self.guest.parallel) == "4950"


class CpuLimitTests(EngineKit, area=Area.CPU_LIMIT):
    """Tests of engines that declare `Capability.CPU_LIMIT`."""

    def test_cpu_limit_trips(self, record_property: Any) -> None:
        with self.session(limits=Limits(cpu_seconds=1)) as session:
            session.eval_sync(self.guest.store)
            outcome = self.fails(session, self.guest.loop, "Timeout", "computed for more than 1 s")
            self.assert_usable(session)
        late = outcome.usage.wall_seconds - 1
        record_property("figure", f"{max(0.0, late) * 1000:.0f} ms late")

    def test_a_poll_never_gives_time_back(self) -> None:
        for _ in range(5):
            with self.realm() as realm:
                assert poll(realm.start(Cell(source=self.guest.print, seed=1))).cpu_seconds >= 0

    def test_time_is_counted_over_the_whole_cell(self) -> None:
        source = f"{self.guest.request}\n{self.guest.loop}"
        with self.session(limits=Limits(cpu_seconds=1, wall_seconds=20)) as session:
            session.eval_sync(self.guest.store)
            self.fails(session, source, "Timeout", "computed for more than 1 s")
            self.assert_usable(session)

    def test_the_next_cell_has_its_own_time(self) -> None:
        with self.session(limits=Limits(cpu_seconds=1)) as session:
            for _ in range(2):
                self.fails(session, self.guest.loop, "Timeout", "computed")
            session.eval_sync(self.guest.store)
            self.assert_usable(session)

    def test_wall_limit_stops_computing(self) -> None:
        stack = self.stack(limits=Limits(cpu_seconds=20, wall_seconds=1))
        _trips_wall(self, stack, self.guest.loop, "longer than 1 s in total")


class MemoryLimitTests(EngineKit, area=Area.MEMORY_LIMIT):
    """Tests of engines that declare `Capability.MEMORY_LIMIT`."""

    _LIMITS = Limits(memory_bytes=16 * _MIB, cpu_seconds=10, wall_seconds=20)

    def test_memory_limit_trips(self) -> None:
        with self.session(limits=self._LIMITS) as session:
            session.eval_sync(self.guest.store)
            outcome = session.eval_sync(self.sample("hoard"))
            assert outcome.error is not None
            assert outcome.error.name == "OutOfMemory"
            assert outcome.error.message
            # What an engine cannot keep it must tell.
            if outcome.state == "lost":
                session.eval_sync(self.guest.store)
            self.assert_usable(session)

    def test_memory_is_there_again(self) -> None:
        with self.session(limits=self._LIMITS) as session:
            for _ in range(3):
                assert not session.eval_sync(self.sample("hoard")).ok
                assert session.eval_sync(self.guest.long_text).ok

    def test_other_sessions_do_not_suffer(self) -> None:
        stack = self.stack(limits=self._LIMITS)
        with stack.session() as one, stack.session() as other:
            other.eval_sync(self.guest.store)
            assert not one.eval_sync(self.sample("hoard")).ok
            self.assert_usable(other)


def _trips_wall(kit: EngineKit, stack: InterpreterStack, source: str, message: str) -> None:
    """Run out of wall time in one cell; cells before and after it have enough time."""
    with stack.session() as session:
        with patient(stack):
            session.eval_sync(kit.guest.store)
        kit.fails(session, source, "Timeout", message)
        with patient(stack):
            kit.assert_usable(session)
