"""Isolation: between realms, and between the guest and the host.

The isolation class is a claim. These tests check its testable parts; a stronger class must pass
more tests. `docs/how-to/test-your-engine.md` lists the parts that are taken on trust.
"""

from __future__ import annotations

import math
import os
import secrets
import time
from pathlib import Path

import pytest

from interpstack.contracts.engine import Capability, Isolation
from interpstack.contracts.limits import Limits
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.bounds.idle import comes_to_rest
from interpstack_testing.conformance.bounds.memory import resident_bytes
from interpstack_testing.conformance.kit import EngineKit

__all__ = ["IsolationTests"]

#: Classes for untrusted code.
_SANDBOXES = (Isolation.WASM, Isolation.PROCESS, Isolation.REMOTE)
#: Classes whose guests do not run in this process.
_ELSEWHERE = (Isolation.PROCESS, Isolation.REMOTE)
_MIB = 2**20


class IsolationTests(EngineKit, area=Area.ISOLATION):
    """Required of every engine, as far as its class promises it."""

    def test_sessions_are_isolated(self) -> None:
        stack = self.stack()
        with stack.session() as one, stack.session() as other:
            one.eval_sync(self.guest.store)
            assert not other.eval_sync(self.guest.recall).ok
            self.assert_usable(one)

    def test_builtins_are_not_shared(self) -> None:
        self._claims_more_than(Isolation.NONE)
        if self.guest.pollute is None:
            pytest.skip("nothing is shared in this language")
        with self.session() as one, self.session() as other:
            one.eval_sync(self.guest.pollute)
            assert self.eval(other, self.sample("polluted")) == "clean"
        with self.session() as later:
            assert self.eval(later, self.sample("polluted")) == "clean"

    def test_sandboxes_have_limits(self) -> None:
        """Code that can use all time or memory of the host is not isolated from it."""
        if self.engine.isolation in _SANDBOXES:
            needed = {Capability.CPU_LIMIT, Capability.MEMORY_LIMIT}
            assert needed <= self.engine.capabilities

    def test_what_is_the_hosts_is_out_of_reach(
        self, reach: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._claims_more_than(Isolation.NONE)
        secret = secrets.token_hex(8)
        name, path = f"KIT_{secrets.token_hex(4)}", tmp_path / "secret.txt"
        monkeypatch.setenv(name, secret)
        path.write_text(secret, "utf-8")
        source = reach.replace("{name}", name).replace("{path}", path.as_posix())
        with self.session(limits=Limits(cpu_seconds=2, wall_seconds=20)) as session:
            outcome = session.eval_sync(source)
        assert secret not in outcome.text, f"guest code reads the host's: {reach}"
        assert secret not in outcome.console
        assert outcome.error is None or secret not in outcome.error.message

    def test_guests_compute_elsewhere(self) -> None:
        """A process of its own uses none of this one's time while the guest computes."""
        if self.engine.isolation not in _ELSEWHERE:
            pytest.skip(f"{self.engine.isolation.value} guests run in this process")
        spent = math.inf
        for _ in range(3):  # something else in this process may compute meanwhile
            if spent >= 0.5:
                comes_to_rest()
                spent = min(spent, self._computed_here())
        assert spent < 0.5, f"1 s of the guest cost this process {spent:.2f} s"

    def test_guests_keep_their_memory_elsewhere(self) -> None:
        if self.engine.isolation not in _ELSEWHERE:
            pytest.skip(f"{self.engine.isolation.value} guests live in this process")
        with self.session(limits=Limits(memory_bytes=64 * _MIB)) as session:
            session.eval_sync(self.guest.store)
            before = resident_bytes()
            assert self.eval(session, self.sample("hold")) == "held"
            grown = resident_bytes() - before
        assert grown < 12 * _MIB, f"24 MiB of the guest took {grown} bytes of this process"

    def test_guests_cannot_end_the_host(self) -> None:
        """Not tried on an engine that reaches the host: this process would be gone."""
        self._claims_more_than(Isolation.NONE)
        assert self.guest.reach, "a claim of isolation needs the guest's samples `reach`"
        assert self.guest.exits, "a claim of isolation needs the guest's samples `exits`"
        self._assert_closed()
        pid = os.getpid()
        for source in self.guest.exits:
            with self.session(limits=Limits(cpu_seconds=2, wall_seconds=20)) as session:
                session.eval_sync(source)
                assert os.getpid() == pid
                session.eval_sync(self.guest.store)
                self.assert_usable(session)

    def _computed_here(self) -> float:
        """CPU seconds of this process while a guest computes for one."""
        with self.session(limits=Limits(cpu_seconds=1.0)) as session:
            session.eval_sync(self.guest.store)
            before = time.process_time()
            self.fails(session, self.guest.loop, "Timeout", "computed")
            return time.process_time() - before

    def _assert_closed(self) -> None:
        """No attempt to read this process's environment succeeds."""
        name, secret = f"KIT_{secrets.token_hex(4)}", secrets.token_hex(8)
        os.environ[name] = secret
        try:
            with self.session(limits=Limits(cpu_seconds=2, wall_seconds=20)) as session:
                for attempt in self.guest.reach:
                    outcome = session.eval_sync(attempt.replace("{name}", name))
                    assert secret not in outcome.text, "guest code reads this process's memory"
        finally:
            del os.environ[name]

    def _claims_more_than(self, isolation: Isolation) -> None:
        if self.engine.isolation is isolation:
            pytest.skip(f"isolation class {isolation.value} promises nothing")
