"""Console output: complete, in order, bounded, and delivered after any end of the cell."""

from __future__ import annotations

import asyncio
from typing import Any

from interpstack.contracts.engine import Capability
from interpstack.contracts.limits import Limits
from interpstack.sessions.session import Session
from interpstack.sync import run_sync
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.kit import PATIENCE, EngineKit, hanging

__all__ = ["ConsoleTests"]


class ConsoleTests(EngineKit, area=Area.CONSOLE):
    """Required of every engine."""

    def test_output_comes_with_its_cell(self) -> None:
        with self.session() as session:
            assert session.eval_sync(self.guest.print).console == "heard 7"
            session.eval_sync(self.guest.store)
            assert session.eval_sync(self.guest.recall).console == ""
            assert session.eval_sync(self.guest.print).console == "heard 7"

    def test_output_is_bounded_and_says_how_much_is_missing(self) -> None:
        with self.session(limits=Limits(console_chars=500)) as session:
            outcome = session.eval_sync(self.guest.print_much)
        assert (outcome.error, outcome.text) == (None, "printed")
        assert 0 < len(outcome.console) <= 500
        assert len(outcome.console) + outcome.console_omitted_chars >= 20_000

    def test_output_before_an_error_is_kept(self) -> None:
        with self.session() as session:
            outcome = session.eval_sync(f"{self.guest.print}\n{self.guest.error}")
        assert outcome.error is not None
        assert outcome.console == "heard 7"

    def test_output_before_a_deadlock_is_kept(self) -> None:
        with self.session() as session:
            outcome = session.eval_sync(f"{self.guest.print}\n{self.guest.deadlock}")
        assert outcome.error is not None
        assert outcome.error.name == "Deadlock"
        assert outcome.console == "heard 7"

    def test_output_before_a_timeout_is_kept(self) -> None:
        limits, source = Limits(wall_seconds=2), self.guest.request
        if Capability.CPU_LIMIT in self.engine.capabilities:
            limits, source = Limits(cpu_seconds=1), self.guest.loop
        with self.session(echo=hanging([]), limits=limits) as session:
            outcome = session.eval_sync(f"{self.guest.print}\n{source}")
        assert outcome.error is not None
        assert outcome.error.name == "Timeout"
        assert outcome.console == "heard 7"

    def test_who_listens_gets_the_same_output_in_order(self) -> None:
        printed, waits = self.guest.print, self.guest.request
        for source in (
            printed,
            f"{printed}\n{waits}\n{printed}\n{waits}\n{printed}",
            f"{printed}\n{self.guest.error}",
            self.guest.print_much,
        ):
            parts: list[str] = []
            with self.session(limits=Limits(console_chars=5000)) as session:
                outcome = run_sync(session.eval(source, on_console=parts.append))
            assert "".join(parts).removesuffix("\n") == outcome.console.removesuffix("\n")

    def test_who_listens_gets_the_output_of_a_cancelled_cell(self) -> None:
        parts: list[str] = []
        begun = asyncio.Event()

        async def echo(value: Any) -> None:
            begun.set()
            await asyncio.sleep(PATIENCE)

        async def leave(session: Session) -> None:
            source = f"{self.guest.print}\n{self.guest.request}"
            running = asyncio.ensure_future(session.eval(source, on_console=parts.append))
            await asyncio.wait_for(begun.wait(), PATIENCE)
            running.cancel()
            await asyncio.wait({running}, timeout=PATIENCE)

        with self.session(echo=echo) as session:
            run_sync(leave(session))
        assert "".join(parts).removesuffix("\n") == "heard 7"

    def test_who_listens_and_raises_does_no_harm(self) -> None:
        """The code does not notice, and the engine continues."""
        for kind in (ValueError, GeneratorExit, asyncio.CancelledError):

            def tell(part: str, kind: type[BaseException] = kind) -> None:
                raise kind("no room")

            with self.session() as session:
                session.eval_sync(self.guest.store)
                outcome = run_sync(session.eval(self.guest.print, on_console=tell))
                assert (outcome.error, outcome.console) == (None, "heard 7")
                assert [type(item) for item in outcome.attachments] == [kind]
                self.assert_usable(session)

    def test_output_of_sessions_is_not_mixed(self) -> None:
        with self.session() as one, self.session() as other:
            one.eval_sync(self.guest.print)
            other.eval_sync(self.guest.store)
            assert other.eval_sync(self.guest.recall).console == ""
