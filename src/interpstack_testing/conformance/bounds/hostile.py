"""Hostile guests: every cell ends, and harms neither the host nor the session."""

from __future__ import annotations

import re
from typing import Any

import attrs
import pytest

from interpstack.contracts.bridges import Bridge, BridgeRegistry, BridgeSet
from interpstack.contracts.engine import Capability
from interpstack.contracts.limits import Limits
from interpstack.contracts.outcome import Outcome
from interpstack.contracts.protocol import Cell
from interpstack.sessions.session import Session
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.bounds.idle import comes_to_rest
from interpstack_testing.conformance.kit import PATIENCE, EngineKit, patient
from interpstack_testing.guests import ANY_ERROR, VALUE, Attack

__all__ = ["HostileTests"]

#: What a model reads, whatever a guest puts into its texts.
_ENVELOPE = re.compile(
    r"(<notice>[^<>]*</notice>\n)*(<stdout>\n[^<>]*\n</stdout>\n)?"
    r'(<result( kind="handle")?>[^<>]*</result>|<error type="[^<>"\n]*">[^<>]*</error>)'
)
#: Characters of any text that leaves a guest.
_MOST_CHARS = 2**18
_HOST_PATHS = re.compile(r"/usr/|/home/|site-packages|\.py\b|\.wasm\b")


class HostileTests(EngineKit, area=Area.HOSTILE):
    """Required of every engine, with the attacks that its guest language has."""

    def test_hostile_guest(self, attack: Attack) -> None:
        if attack.needs is not None and attack.needs not in self.engine.capabilities:
            pytest.skip(f"the engine does not declare {attack.needs.value}")
        if attack.language not in (None, *self.engine.languages()):
            pytest.skip(f"the engine does not run {attack.language}")
        stack = self.stack(_ECHO, limits=_limits(attack))
        with stack.session() as session:
            with patient(stack):
                for source in (self.guest.prepare, attack.before):
                    if source is not None:
                        self.eval(session, source)
            outcome = session.eval_sync(Cell(source=attack.source, language=attack.language))
            _assert_ends(attack, outcome)
            assert attack.noticed or outcome.notices == ()
            _assert_bounded(session, outcome)
            with patient(stack):
                self._assert_sound(session, attack, outcome)
        if attack.needs is Capability.CPU_LIMIT:
            assert comes_to_rest(), "the guest was given up and computes on"

    def _assert_sound(self, session: Session, attack: Attack, outcome: Outcome) -> None:
        """The session is unharmed by an attack."""
        if outcome.state == "lost":
            session.eval_sync(self.guest.prepare or self.guest.store)
        for source, shown in attack.then:
            assert self.eval(session, source) == shown, source
        for source, shown in self.guest.health if attack.healthy else ():
            assert self.eval(session, source) == shown, source

    def test_names_taken_before_the_host_offers_them(self, squat: str) -> None:
        realm = self.engine.open(Limits(cpu_seconds=2), _offer("host.a"))

        def run(source: str) -> str:
            execution = realm.start(Cell(source=source, seed=1))
            completion = execution.poll(0.0, 2.0).completion
            execution.abort("done")
            assert completion is not None
            assert completion.error is None, completion.error
            return completion.text

        run(self.guest.store)
        run(squat)
        for names in (("host.a", "tools.echo"), ("tools.other",), ("host.a",)):
            realm.bind(_offer(*names))
            assert run(self.guest.recall) == "42"
        realm.close()

    def test_answers_that_no_encoding_takes(self) -> None:
        if "surrogate" not in self.guest.kinds:
            pytest.skip("texts of this guest have no lone surrogates")

        async def echo(value: Any) -> Any:
            raise ValueError("bad \ud800")

        with self.session(echo=echo) as session:
            outcome = session.eval_sync(self.guest.request)
            assert outcome.error is not None
            assert outcome.error.message.startswith("bad ")
            session.render(outcome).encode()


def _limits(attack: Attack) -> Limits:
    """Limits of an attack; attacks that must not time out get enough time for a busy machine."""
    cpu_seconds = attack.limits.cpu_seconds
    if cpu_seconds is None or {"Timeout", ANY_ERROR} & set(attack.ends):
        return attack.limits
    return attrs.evolve(attack.limits, cpu_seconds=max(cpu_seconds, PATIENCE), wall_seconds=None)


def _assert_ends(attack: Attack, outcome: Outcome) -> None:
    if outcome.error is None:
        assert VALUE in attack.ends, f"it must fail; it shows {outcome.text[:200]!r}"
        text = outcome.text.encode("utf-8", "backslashreplace").decode()
        assert attack.shows is None or text == attack.shows
    else:
        assert {outcome.error.name, ANY_ERROR} & set(attack.ends), outcome.error
        assert attack.message is None or outcome.error.message == attack.message
        assert not _HOST_PATHS.search(outcome.error.stack), outcome.error.stack
    assert attack.console is None or outcome.console == attack.console


def _assert_bounded(session: Session, outcome: Outcome) -> None:
    assert sum(map(len, outcome.notices)) <= 4000
    assert len(outcome.text) <= _MOST_CHARS
    assert len(outcome.console) <= 4000
    if outcome.error is not None:
        error = outcome.error
        assert len(error.name) + len(error.message) + len(error.stack) <= _MOST_CHARS
    shown = session.render(outcome)
    shown.encode()  # a host may store it anywhere
    assert len(shown) < 8 * 4000
    assert _ENVELOPE.fullmatch(shown), shown


async def _echo(value: Any) -> Any:
    if value == "fail":
        raise ValueError("as wanted")
    return value


_ECHO = Bridge(name="host.echo", handler=_echo, raw=True)


def _offer(*names: str) -> BridgeSet:
    return BridgeRegistry([Bridge(name=n, handler=_echo, raw=True) for n in names]).freeze()
