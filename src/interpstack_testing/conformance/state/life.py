"""The life of realms and engines: closed in any state, opened a thousand times."""

from __future__ import annotations

import gc
import time
from collections import Counter
from typing import Any

from interpstack.contracts.engine import Capability
from interpstack.contracts.limits import Limits
from interpstack.contracts.protocol import Cell
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.bounds.memory import open_files, resident_bytes, threads
from interpstack_testing.conformance.kit import EngineKit, finish, poll

__all__ = ["LifeTests"]

_CYCLES = 1000
#: Seconds after which fewer cycles must do.
_CYCLE_SECONDS = 15.0
#: What memory may grow by over all cycles, once the first ones have warmed everything up.
_GROWTH_BYTES = 16 * 2**20
#: Seconds that an engine has to end in the background what closed realms had.
_END_SECONDS = 5.0


class LifeTests(EngineKit, area=Area.LIFE):
    """Required of every engine."""

    def test_the_declaration_is_complete(self) -> None:
        engine = self.engine
        assert engine.name
        assert engine.name == engine.name.strip().lower()
        assert engine.language == self.guest.language
        assert isinstance(engine.capabilities, frozenset)
        assert all(isinstance(item, Capability) for item in engine.capabilities)

    def test_closing_twice_is_allowed(self) -> None:
        with self.realm() as realm:
            finish(realm, self.guest.store)
            realm.close()
        engine = self.make_engine()
        engine.close()
        engine.close()

    def test_realms_close_in_the_middle_of_a_cell(self) -> None:
        with self.realm() as realm:
            poll(realm.start(Cell(source=self.guest.parallel, seed=1)))
        with self.realm() as realm:
            execution = realm.start(Cell(source=self.guest.request, seed=1))
            poll(execution)
            execution.abort("closing")
        with self.session() as session:
            session.eval_sync(self.guest.store)
            self.assert_usable(session)

    def test_realms_close_under_memory_pressure(self) -> None:
        if Capability.MEMORY_LIMIT not in self.engine.capabilities:
            return
        limits = Limits(memory_bytes=16 * 2**20, cpu_seconds=10, wall_seconds=20)
        for _ in range(3):
            with self.session(limits=limits) as session:
                assert not session.eval_sync(self.sample("hoard")).ok
        with self.session(limits=limits) as session:
            session.eval_sync(self.guest.store)
            self.assert_usable(session)

    def test_realms_come_and_go_without_growth(self, record_property: Any) -> None:
        for _ in range(20):
            self._cycle()
        gc.collect()
        before = resident_bytes(), open_files(), threads()
        begun, done = time.monotonic(), 0
        while done < _CYCLES and time.monotonic() - begun < _CYCLE_SECONDS:
            self._cycle()
            done += 1
        seconds = time.monotonic() - begun
        gc.collect()
        grown = resident_bytes() - before[0]
        assert grown < _GROWTH_BYTES, f"grown by {grown} bytes"
        until = time.monotonic() + _END_SECONDS
        while len(open_files()) - len(before[1]) > 2 and time.monotonic() < until:
            time.sleep(0.05)
        files = open_files()
        assert len(files) - len(before[1]) <= 2, f"files stay open: {_more(files, before[1])}"
        assert threads() - before[2] <= 2, "threads stay"
        record_property("figure", f"{done} cycles, {seconds / done * 1000:.1f} ms each")

    def _cycle(self) -> None:
        with self.realm() as realm:
            finish(realm, self.guest.store)


def _more(found: list[str], before: list[str]) -> list[str]:
    """The files that were not open before."""
    return sorted((Counter(found) - Counter(before)).elements())
