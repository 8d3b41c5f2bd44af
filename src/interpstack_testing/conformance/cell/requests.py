"""Calls and requests: everything in one crossing, in order, each answered once."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from interpstack.contracts.bridges import BridgeSet
from interpstack.contracts.limits import Limits
from interpstack.contracts.protocol import Cell, GuestError, Settlement
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.kit import EngineKit, bridge_set, poll

__all__ = ["RequestTests"]


class RequestTests(EngineKit, area=Area.REQUESTS):
    """Required of every engine."""

    def test_parallel_requests_cost_two_crossings(self) -> None:
        with self.realm() as realm:
            execution = realm.start(Cell(source=self.guest.parallel, seed=1))
            requests = poll(execution).requests
            assert [request.wire for request in requests] == [{"value": n} for n in range(100)]
            assert {request.bridge for request in requests} == {"kit.echo"}
            ids = [request.id for request in requests]
            assert ids == sorted(set(ids))
            answers = [Settlement(r.id, json.dumps(r.wire["value"])) for r in reversed(requests)]
            execution.settle(answers)
            completion = poll(execution).completion
        assert completion is not None
        assert completion.text == "4950"

    def test_answers_may_come_a_few_at_a_time(self) -> None:
        with self.realm() as realm:
            execution = realm.start(Cell(source=self.guest.parallel, seed=1))
            requests = list(poll(execution).requests)
            while requests:
                some, requests = requests[:30], requests[30:]
                execution.settle([Settlement(r.id, json.dumps(r.wire["value"])) for r in some])
                progress = poll(execution)
                assert (progress.completion is None) == bool(requests)
        assert progress.completion is not None
        assert progress.completion.text == "4950"

    def test_crossings_are_measured(self, record_property: Any) -> None:
        best = float("inf")
        with self.session() as session:
            for _ in range(10):
                usage = session.eval_sync(self.guest.sequence).usage
                best = min(best, usage.wall_seconds / usage.crossings)
        assert usage.crossings == 7
        record_property("figure", f"{best * 1e6:.0f} µs a crossing")

    def test_calls_come_in_order(self) -> None:
        seen = []

        async def note(value: int) -> None:
            seen.append(value)

        with self.session(note=note) as session:
            outcome = session.eval_sync(self.guest.notifications)
        assert (outcome.error, seen) == (None, [0, 1, 2])
        assert outcome.usage.requests == 0

    def test_answers_that_nobody_waits_for_are_ignored(self) -> None:
        with self.realm() as realm:
            execution = realm.start(Cell(source=self.guest.request, seed=1))
            (request,) = poll(execution).requests
            unknown = [Settlement(request.id + 1000, "1"), Settlement(-1, "2")]
            execution.settle([*unknown, Settlement(request.id, "42")])
            completion = poll(execution).completion
            assert completion is not None
            assert completion.text == "42"
            execution.settle([Settlement(request.id, "43")])
            execution.abort("the cell has ended")
            assert not execution.abort("twice").notifications

    def test_answers_of_an_earlier_cell_are_ignored(self) -> None:
        with self.realm() as realm:
            first = realm.start(Cell(source=self.guest.request, seed=1))
            (stale,) = poll(first).requests
            first.abort("gone")
            second = realm.start(Cell(source=self.guest.request, seed=1))
            (request,) = poll(second).requests
            first.settle([Settlement(stale.id, "1")])
            assert poll(second).completion is None
            second.settle([Settlement(request.id, "42"), Settlement(request.id, "43")])
            completion = poll(second).completion
            assert completion is not None
            assert completion.text == "42"

    def test_requests_are_counted_from_1_in_each_cell(self) -> None:
        with self.realm() as realm:
            for _ in range(2):
                execution = realm.start(Cell(source=self.guest.sequence, seed=1))
                for number in (1, 2, 3):
                    (request,) = poll(execution).requests
                    assert request.id == number
                    execution.settle([Settlement(number, json.dumps(request.wire["value"]))])
                execution.abort("enough")

    def test_a_request_can_be_refused(self) -> None:
        with self.realm() as realm:
            execution = realm.start(Cell(source=self.guest.sequence, seed=1))
            (request,) = poll(execution).requests
            error = GuestError("ToolError", "no", data={"tool": "kit.echo"})
            execution.settle([Settlement(request.id, error=error)])
            completion = poll(execution).completion
            assert completion is not None
            assert completion.text == "0 ToolError"

    def test_concurrency_is_bounded(self) -> None:
        running, most = 0, 0

        async def echo(value: int) -> int:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1
            return value

        with self.session(echo=echo, limits=Limits(concurrency=7)) as session:
            assert self.eval(session, self.guest.parallel) == "4950"
        assert most == 7

    def test_bridges_can_be_bound_anew(self) -> None:
        with self.realm() as realm:
            realm.bind(BridgeSet())
            completion = poll(realm.start(Cell(source=self.guest.request, seed=1))).completion
            assert completion is not None
            assert completion.error is not None
            realm.bind(bridge_set())
            execution = realm.start(Cell(source=self.guest.request, seed=1))
            assert [r.bridge for r in poll(execution).requests] == ["kit.echo"]
            execution.abort("enough")

    def test_time_of_the_host_is_not_guest_time(self) -> None:
        def echo(value: int) -> int:
            time.sleep(1.5)
            return value

        with self.session(echo=echo, limits=Limits(cpu_seconds=1)) as session:
            outcome = session.eval_sync(self.guest.request)
        assert (outcome.error, outcome.text) == (None, "42")
