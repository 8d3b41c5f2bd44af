"""The end of a cell: unawaited requests, late ones, cancellation, deadlock."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import pytest

from interpstack.contracts.engine import Capability, Execution
from interpstack.contracts.limits import Limits
from interpstack.contracts.protocol import TIMER, Cell, Settlement
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.kit import EngineKit, finish, hanging, poll

__all__ = ["EndTests"]

#: Seconds in which a cancelled cell must be over, and the longer time it might compute.
_CANCELLED: Final = 12.0
_COMPUTES: Final = 20.0


class EndTests(EngineKit, area=Area.ENDS):
    """Required of every engine."""

    def test_unawaited_request_finishes_before_the_answer(self) -> None:
        finished = []

        async def echo(value: Any) -> None:
            await asyncio.sleep(0.05)
            finished.append(value)

        with self.session(echo=echo) as session:
            assert self.eval(session, self.guest.unawaited) == "left"
            assert len(finished) == 1

    def test_a_failure_that_the_code_does_not_wait_for_is_reported(self) -> None:
        async def echo(value: Any) -> None:
            await asyncio.sleep(0.05)
            raise ValueError("the account\nis closed")

        with self.session(echo=echo) as session:
            outcome = session.eval_sync(self.guest.unawaited)
            assert (outcome.text, outcome.error) == ("left", None)
            (notice,) = [one for one in outcome.notices if "did not wait for" in one]
            assert notice.startswith("A call that the cell did not wait for failed: kit.echo (")
            assert "the account is closed)." in notice
            assert session.eval_sync(self.guest.store).notices == ()

    def test_a_call_that_failed_before_the_end_is_reported(self) -> None:
        async def give() -> str:
            await failed.wait()
            return "given"

        async def echo(value: Any) -> None:
            failed.set()
            raise ValueError("the account is closed")

        failed = asyncio.Event()
        if self.guest.unawaited_first is None:
            pytest.skip("this guest language begins calls when they are awaited")
        with self.session(echo=echo, give=give) as session:
            outcome = session.eval_sync(self.guest.unawaited_first)
            assert (outcome.text, outcome.error) == ("left", None)
            (notice,) = outcome.notices
            assert "did not wait for" in notice
            assert "the account is closed" in notice
            assert session.eval_sync(self.guest.store).notices == ()

    def test_a_rejection_that_no_code_handles_is_reported(self) -> None:
        if self.guest.rejected is None:
            pytest.skip("this guest language has no promises")
        with self.session() as session:
            outcome = session.eval_sync(self.guest.rejected)
            assert (outcome.text, outcome.error) == ("left", None)
            (notice,) = outcome.notices
            assert "promise that the cell did not wait for was rejected: Error: lost" in notice
            assert session.eval_sync(self.guest.store).notices == ()

    def test_a_rejection_that_code_handles_later_is_not_reported(self) -> None:
        async def echo(value: Any) -> None:
            raise ValueError("the account is closed")

        if self.guest.handled is None:
            pytest.skip("this guest language has no promises")
        with self.session(echo=echo) as session:
            outcome = session.eval_sync(self.guest.handled)
            assert (outcome.text, outcome.error, outcome.notices) == ("left", None, ())

    def test_unawaited_request_is_cancelled_where_the_stack_says_so(self) -> None:
        ends: list[str] = []
        with self.session(echo=hanging(ends), unawaited="cancel") as session:
            outcome = session.eval_sync(self.guest.unawaited)
            assert (outcome.text, outcome.error) == ("left", None)
            notice = "A call that the cell did not wait for was cancelled: kit.echo."
            assert any(one.startswith(notice) for one in outcome.notices)
            session.eval_sync(self.guest.store)
            self.assert_usable(session)
        assert ends in ([], ["cancelled"])  # empty if it was cancelled before it began

    def test_request_after_the_end_is_refused_in_the_guest(self) -> None:
        seen = []

        async def echo(value: int) -> int:
            await asyncio.sleep(0.02)
            seen.append(value)
            return value

        with self.session(echo=echo) as session:
            assert session.eval_sync(self.guest.after_end).ok
            assert "cell had ended" in self.eval(session, self.guest.after_end_recall)
        assert seen == [1]

    def test_timers_end_with_their_cell(self) -> None:
        if self.guest.repeat is None:
            pytest.skip("this guest language has no timers")
        with self.realm() as realm:
            execution = realm.start(Cell(source=self.guest.repeat, seed=1))
            requests = poll(execution).requests
            timers = [Settlement(one.id) for one in requests if one.bridge == TIMER]
            assert timers
            execution.settle([Settlement(r.id, "1") for r in requests if r.bridge != TIMER])
            assert poll(execution).completion is not None
            execution.settle(timers)
            for progress in (poll(execution), execution.abort("the cell has ended")):
                assert not progress.notifications
                assert not progress.requests

    def test_timers_that_the_cell_does_not_wait_for_are_reported(self) -> None:
        if self.guest.timers is None:
            pytest.skip("this guest language has no timers")
        with self.session() as session:
            outcome = session.eval_sync(self.guest.timers)
            assert (outcome.text, outcome.error) == ("left", None)
            (notice,) = outcome.notices
            assert notice.startswith("2 timers were still pending when the cell ended, and did not")
            assert session.eval_sync(self.guest.store).notices == ()

    def test_deadlock_is_reported_at_once(self) -> None:
        with self.session() as session:
            session.eval_sync(self.guest.store)
            self.fails(session, self.guest.deadlock, "Deadlock", "nothing can settle")
            self.assert_usable(session)

    def test_cancellation_while_the_guest_waits(self) -> None:
        ends: list[str] = []
        hangs, begun = hanging(ends), asyncio.Event()

        async def echo(value: Any) -> None:
            begun.set()
            await hangs(value)

        self.run(self._cancel(self.guest.request, echo, begun))
        assert ends == ["cancelled"]

    def test_cancellation_while_the_guest_computes(self) -> None:
        if Capability.CPU_LIMIT not in self.engine.capabilities:
            pytest.skip("the engine does not declare cpu-limit")
        self.run(self._cancel(self.guest.loop, None))

    def test_cancellation_does_not_wait_for_the_time_limit(self) -> None:
        if Capability.CPU_LIMIT not in self.engine.capabilities:
            pytest.skip("the engine does not declare cpu-limit")
        with self.realm() as realm:
            execution = realm.start(Cell(source=self.guest.store, seed=1))
            interrupts = type(execution).interrupt is not Execution.interrupt
            poll(execution)
            execution.abort("the cell has ended")
        if not interrupts:
            pytest.skip("the engine does not interrupt guests before their CPU limit")
        cancelled = self._cancel(self.guest.loop, None, cpu_seconds=_COMPUTES)
        self.run(asyncio.wait_for(cancelled, _CANCELLED))

    def test_an_interruption_before_the_poll_counts(self) -> None:
        """The poll may still wait for a thread when its caller is cancelled."""
        if Capability.CPU_LIMIT not in self.engine.capabilities:
            pytest.skip("the engine does not declare cpu-limit")
        limit = 60.0
        with self.realm(limits=Limits(cpu_seconds=limit, wall_seconds=None)) as realm:
            execution = realm.start(Cell(source=self.guest.loop, seed=1))
            if type(execution).interrupt is Execution.interrupt:
                pytest.skip("the engine does not interrupt guests before their CPU limit")
            execution.interrupt()
            progress = execution.poll(0.0, limit)
            execution.abort("cancelled")
            assert progress.exhausted
            assert progress.cpu_seconds < limit / 2
            finish(realm, self.guest.store)
            assert finish(realm, self.guest.recall) == "42"

    def test_cells_of_a_session_run_in_order(self) -> None:
        seen: list[int] = []

        async def echo(value: int) -> int:
            seen.append(value)
            await asyncio.sleep(0.01)
            return value

        async def main() -> None:
            async with self.stack(echo=echo).session() as session:
                cells = (self.guest.request, self.guest.error, self.guest.request)
                outcomes = await asyncio.gather(*(session.eval(cell) for cell in cells))
            assert [outcome.ok for outcome in outcomes] == [True, False, True]

        self.run(main())
        assert seen == [42, 42]

    async def _cancel(
        self,
        source: str,
        echo: Any,
        begun: asyncio.Event | None = None,
        cpu_seconds: float = 5.0,
    ) -> None:
        handlers = {"echo": echo} if echo else {}
        limits = Limits(cpu_seconds=cpu_seconds)
        async with self.stack(limits=limits, **handlers).session() as session:
            await session.eval(self.guest.store)
            running = asyncio.ensure_future(session.eval(source))
            await (asyncio.sleep(0.2) if begun is None else begun.wait())
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert (await session.eval(self.guest.recall)).text == "42"
