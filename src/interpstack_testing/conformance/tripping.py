"""Trips every limit once before anything else is tried.

These tests detect a limit that has silently stopped working; hostile cells run only on an engine
whose limits work.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Final, Protocol

from interpstack.contracts.engine import Capability, Engine
from interpstack.contracts.errors import ConfigurationError
from interpstack.contracts.limits import Limits
from interpstack.sessions.session import Session
from interpstack_testing.conformance.handlers import hanging
from interpstack_testing.guests.guest import GuestSamples

__all__ = ["Kit", "trip_limits"]

#: Seconds that end a cell whose own limit does not.
_BACKSTOP: Final = 10.0
_MIB: Final = 2**20


class Kit(Protocol):
    """The parts of the kit that the trips use."""

    engine: ClassVar[Engine]
    guest: ClassVar[GuestSamples]

    def session(self, *more: Any, **handlers: Any) -> AbstractContextManager[Session]:
        """A session of a stack of its own, closed at the end."""

    def sample(self, name: str) -> str:
        """A sample that not every guest needs."""


def trip_limits(kit: Kit) -> None:
    """Trip each limit of the engine once.

    Raises:
        AssertionError: One of them is not active; says which.
    """
    capabilities = kit.engine.capabilities
    trips: dict[str, Callable[[Kit], bool]] = {
        "wall_seconds": _wall,
        "requests": _requests,
        "value_bytes": _value_bytes,
        "source_bytes": _source_bytes,
        "result_chars": _result_chars,
        "console_chars": _console_chars,
    }
    if Capability.CPU_LIMIT in capabilities:
        trips["cpu_seconds"] = _cpu
    if Capability.MEMORY_LIMIT in capabilities:
        trips["memory_bytes"] = _memory
    inactive = [name for name, trip in trips.items() if not trip(kit)]
    if inactive:
        raise AssertionError(
            f"engine {kit.engine.name!r} does not hold to: {', '.join(inactive)}; nothing else is "
            "tested before it does"
        )


def _ends_with(kit: Kit, source: str, name: str, limits: Limits, **handlers: Any) -> bool:
    with kit.session(limits=limits, **handlers) as session:
        error = session.eval_sync(source).error
        return error is not None and error.name == name


def _cpu(kit: Kit) -> bool:
    limits = Limits(cpu_seconds=0.2, wall_seconds=_BACKSTOP)
    with kit.session(limits=limits) as session:
        outcome = session.eval_sync(kit.guest.loop)
    ended = outcome.error is not None and outcome.error.name == "Timeout"
    return ended and outcome.usage.wall_seconds < _BACKSTOP


def _wall(kit: Kit) -> bool:
    limits = Limits(wall_seconds=0.2)
    return _ends_with(kit, kit.guest.request, "Timeout", limits, echo=hanging([]))


def _memory(kit: Kit) -> bool:
    limits = Limits(memory_bytes=16 * _MIB, cpu_seconds=_BACKSTOP, wall_seconds=_BACKSTOP)
    return _ends_with(kit, kit.sample("hoard"), "OutOfMemory", limits)


def _requests(kit: Kit) -> bool:
    with kit.session(limits=Limits(requests=2)) as session:
        return session.eval_sync(kit.guest.sequence).text == "2 CallBudgetExceeded"


def _value_bytes(kit: Kit) -> bool:
    async def echo(value: Any) -> None:
        """Answer with less than the limit: the guest itself must refuse to send more."""

    with kit.session(echo=echo, limits=Limits(value_bytes=10_000)) as session:
        sent = session.eval_sync(kit.guest.send_much)
        return not sent.ok and sent.usage.requests == 0


def _source_bytes(kit: Kit) -> bool:
    with kit.session(limits=Limits(source_bytes=2)) as session:
        try:
            session.eval_sync(kit.guest.recall)
        except ConfigurationError:
            return True
    return False


def _result_chars(kit: Kit) -> bool:
    limits = Limits(result_chars=100)
    with kit.session(limits=limits) as session:
        outcome = session.eval_sync(kit.guest.long_text)
        shown = session.render(outcome)
    return outcome.ok and len(shown) < 1000 and len(outcome.text) < 20_000


def _console_chars(kit: Kit) -> bool:
    with kit.session(limits=Limits(console_chars=100)) as session:
        outcome = session.eval_sync(kit.guest.print_much)
    return 0 < len(outcome.console) <= 100 and outcome.console_omitted_chars > 0
