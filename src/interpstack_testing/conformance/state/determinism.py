"""Determinism: seed, clock and settlements decide a run, and nothing else does."""

from __future__ import annotations

from typing import Any

from interpstack.contracts.protocol import Cell, Settlement
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.kit import CPU_SECONDS, EngineKit

__all__ = ["DeterminismTests"]


class DeterminismTests(EngineKit, area=Area.DETERMINISM):
    """Tests of engines that declare `Capability.DETERMINISM`."""

    def test_same_seed_gives_the_same_run(self) -> None:
        with self.session() as session:
            cells = [Cell(source=self.guest.chance, seed=seed) for seed in (7, 7, 8)]
            texts = [session.eval_sync(cell).text for cell in cells]
        assert texts[0] == texts[1] != texts[2]

    def test_seeds_of_any_size_count(self) -> None:
        with self.session() as session:
            cells = [Cell(source=self.guest.chance, seed=seed) for seed in (1, 2**100 + 1, 2**127)]
            texts = {session.eval_sync(cell).text for cell in cells}
        assert len(texts) == 3

    def test_without_a_seed_runs_differ(self) -> None:
        with self.session() as session:
            assert self.eval(session, self.guest.chance) != self.eval(session, self.guest.chance)

    def test_the_clock_is_the_hosts(self) -> None:
        texts = [self._at(now) for now in (1e9, 1e9, 1e9 + 0.5)]
        assert texts[0] == texts[1] != texts[2]

    def test_waiting_for_a_moment_ends(self) -> None:
        first, second = self._waited(), self._waited()
        assert first == second  # the host's own clock counts for nothing
        readings, text = first
        assert 10 < readings["value"] < 100_000
        assert text == "later"

    def _waited(self) -> tuple[Any, str]:
        with self.realm() as realm:
            execution = realm.start(Cell(source=self.sample("wait"), seed=1))
            (request,) = execution.poll(1e9, CPU_SECONDS).requests
            execution.settle([Settlement(request.id, "0")])
            completion = execution.poll(1e9 + 0.25, CPU_SECONDS).completion
            assert completion is not None
            assert completion.error is None, completion.error
            return request.wire, completion.text

    def _at(self, now: float) -> str:
        with self.realm() as realm:
            execution = realm.start(Cell(source=self.guest.clock, seed=1))
            completion = execution.poll(now, CPU_SECONDS).completion
            assert completion is not None
            assert completion.error is None
            return completion.text
