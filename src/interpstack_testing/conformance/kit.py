"""Shared code of the test modules: the engine, sessions on it, and the rules of the kit."""

from __future__ import annotations

import abc
import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final

import attrs
import pytest

from interpstack.contracts.bridges import Bridge, BridgeRegistry, BridgeSet
from interpstack.contracts.engine import Engine, Execution, Realm
from interpstack.contracts.limits import Limits
from interpstack.contracts.outcome import Outcome
from interpstack.contracts.protocol import Cell, Progress
from interpstack.plugins import installed
from interpstack.sessions.session import Session
from interpstack.stack import InterpreterStack
from interpstack_testing.conformance import rules
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.handlers import PATIENCE, hanging
from interpstack_testing.conformance.tripping import trip_limits
from interpstack_testing.guests import Attack, GuestSamples

__all__ = [
    "CPU_SECONDS",
    "PATIENCE",
    "EngineKit",
    "bridge_set",
    "finish",
    "hanging",
    "patient",
    "poll",
]

#: Guest time of a poll that the tests make themselves.
CPU_SECONDS: Final = 5.0


class EngineKit(abc.ABC):
    """Base class of the kit's modules of tests; see `EngineConformance`."""

    #: Samples in the engine's guest language.
    guest: ClassVar[GuestSamples]
    #: What the engine cannot do, by test name, with `[parameter]` for one case of a test; and why.
    gaps: ClassVar[Mapping[str, str]] = {}
    #: Gaps that do not show every time, such as one of memory that is sometimes free.
    varying: ClassVar[Mapping[str, str]] = {}
    #: Gaps that are not tried, since they end the process that runs the tests, or stay in it.
    fatal: ClassVar[Mapping[str, str]] = {}
    #: Of `GuestSamples.attacks`, one in so many is tried: for a suite that is run often. Those with
    #: gaps are, too; and with `INTERPSTACK_ATTACKS=all` in the environment all are.
    attacks_one_in: ClassVar[int] = 1
    #: The number of an attack that is tried then; each later run may begin at another one.
    attacks_from: ClassVar[int] = 0
    #: The engine under test, for all tests of the class.
    engine: ClassVar[Engine]

    def __init_subclass__(cls, area: Area | None = None, kit: bool = False) -> None:
        super().__init_subclass__()
        if area is not None:
            for function in rules.own_tests(rules.kit(cls)):
                function.area = area
        elif not kit:
            rules.check_overrides(cls, EngineKit)
            rules.mark_gaps(cls, EngineKit)

    @abc.abstractmethod
    def make_engine(self) -> Engine:
        """The engine under test, new. One serves all tests of the class, and is then closed."""

    def forged(self, data: bytes, change: Callable[[bytes], bytes]) -> bytes:
        """An image's data after a change that its checksum does not show.

        Engines whose images carry a checksum replace this: an attacker who can write to a store can
        make a right checksum, too.

        Args:
            data: The data of an image.
            change: Returns the replacement of some bytes.
        """
        return change(data)

    # -- pytest ----------------------------------------------------------------------------

    @classmethod
    def setup_class(cls) -> None:
        cls.engine = cls().make_engine()
        trip_limits(cls())

    @classmethod
    def teardown_class(cls) -> None:
        cls.engine.close()

    def setup_method(self, method: Any) -> None:
        area: Area | None = getattr(method, "area", None)
        if area is not None and not area.applies(self.engine, self.guest.dialect):
            pytest.skip(f"the engine does not declare {area.value}")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if not hasattr(metafunc.function, "area"):
            return
        rules.check_skips(metafunc.definition)
        if not isinstance(getattr(self, "guest", None), GuestSamples):
            raise TypeError(f"{type(self).__name__} needs `guest = …`, a Guest with samples")
        tables: dict[str, Mapping[str, Any]] = {
            "attack": self.attacks(),
            "sent": self.guest.sends,
            "reach": {text: text for text in self.guest.reach},
            "squat": {text: text for text in self.guest.squats},
        }
        for name in tables.keys() & set(metafunc.fixturenames):
            rules.parametrize(metafunc, name, tables[name], type(self))

    def attacks(self) -> Mapping[str, Attack]:
        """The attacks that are tried."""
        if self.attacks_one_in == 1 or os.environ.get("INTERPSTACK_ATTACKS") == "all":
            return self.guest.attacks
        marks = rules.gap_marks(type(self))
        return {
            name: attack
            for number, (name, attack) in enumerate(self.guest.attacks.items())
            if (number - self.attacks_from) % self.attacks_one_in == 0
            or f"test_hostile_guest[{rules.case(name)}]" in marks
        }

    # -- for tests -------------------------------------------------------------------------

    def sample(self, name: str) -> str:
        """A sample that not every guest needs."""
        text = getattr(self.guest, name)
        if text is None:
            pytest.fail(f"the guest gives no sample {name!r}, which what the engine declares needs")
        return str(text)

    def stack(self, *more: Bridge, **handlers: Any) -> InterpreterStack:
        """A stack on the engine under test. Its sessions are closed, the stack is not.

        Args:
            *more: Bridges in addition to those of the kit.
            **handlers: `echo`, `note`, `give` and `take`; the rest is for the stack.
        """
        names = ("echo", "note", "give", "take")
        bridges = [*bridge_set(**{k: handlers.pop(k) for k in names if k in handlers}), *more]
        plugins = list(handlers.pop("plugins", ()))
        if "console" in installed():
            plugins.append("console")
        else:
            bridges.append(_CONSOLE)
        return InterpreterStack(self.engine, plugins, bridges=bridges, **handlers)

    @contextmanager
    def session(self, *more: Bridge, **handlers: Any) -> Iterator[Session]:
        """A session of a stack of its own, closed at the end."""
        with self.stack(*more, **handlers).session() as session:
            yield session

    @contextmanager
    def realm(self, limits: Limits | None = None, **handlers: Any) -> Iterator[Realm]:
        """A realm without a session around it."""
        realm = self.engine.open(limits or Limits(), bridge_set(**handlers))
        try:
            yield realm
        finally:
            realm.close()

    def eval(self, session: Session, source: str) -> str:
        """The text of a cell that must succeed."""
        outcome = session.eval_sync(source)
        assert outcome.error is None, outcome.error
        return outcome.text

    def fails(self, session: Session, source: str, name: str, message: str) -> Outcome:
        """The outcome of a cell that must fail."""
        outcome = session.eval_sync(source)
        assert outcome.error is not None, f"expected {name}; got {outcome.text[:200]!r}"
        assert outcome.error.name == name, outcome.error
        assert message in outcome.error.message
        return outcome

    def assert_usable(self, session: Session) -> None:
        """Check that the variables of `GuestSamples.store` still exist."""
        assert self.eval(session, self.guest.recall) == "42"

    def run(self, main: Any) -> Any:
        """Run a coroutine, which may not hang."""
        return asyncio.run(asyncio.wait_for(main, PATIENCE))


@contextmanager
def patient(stack: InterpreterStack) -> Iterator[None]:
    """Give the cells that run meanwhile all the time that a busy machine takes.

    Realms keep the limits that they were opened with.
    """
    tight = stack.limits
    cpu_seconds = None if tight.cpu_seconds is None else max(tight.cpu_seconds, PATIENCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            stack, "limits", attrs.evolve(tight, cpu_seconds=cpu_seconds, wall_seconds=None)
        )
        yield


def bridge_set(echo: Any = None, note: Any = None, give: Any = None, take: Any = None) -> BridgeSet:
    """The bridges that samples use."""
    registry = BridgeRegistry()
    for name, handler in (("echo", echo), ("take", take), ("note", note)):
        awaited = name != "note"
        registry.bridge(Bridge(name=f"kit.{name}", handler=handler or _same, awaited=awaited))
    registry.bridge(Bridge(name="kit.give", handler=give or _nothing))
    return registry.freeze()


def poll(execution: Execution) -> Progress:
    """One poll with time enough."""
    return execution.poll(time.time(), CPU_SECONDS)


def finish(realm: Realm, source: str) -> str:
    """The text of a cell without requests that must succeed."""
    execution = realm.start(Cell(source=source, seed=1))
    completion = poll(execution).completion
    assert completion is not None
    assert completion.error is None, completion.error
    execution.abort("the cell has ended")
    return completion.text


async def _same(value: Any) -> Any:
    return value


async def _nothing() -> None:
    return None


def _print(value: Any, context: Any) -> None:
    context.write_console(value["text"], value["omitted"])


_CONSOLE: Final = Bridge(name="console", handler=_print, raw=True, awaited=False, hidden=True)
