"""Conformance tests for plugins that offer bridges."""

from __future__ import annotations

import abc
import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Final

import attrs
import pytest

from interpstack.contracts.bridges import Bridge, BridgeSet
from interpstack.contracts.limits import Limits
from interpstack.contracts.offer import HostOffer
from interpstack.sessions.session import Session
from interpstack.stack import InterpreterStack
from interpstack.values.decoding import UNDEFINED, MapValue, decode
from interpstack.values.encoding import encode
from interpstack_testing.caller import CallerEngine
from interpstack_testing.conformance import rules

__all__ = ["BridgeConformance", "BridgeUse"]

#: What a hostile guest may send to any bridge.
_GARBAGE: Final[Mapping[str, Any]] = {
    "undefined": UNDEFINED,
    "null": None,
    "number": 7,
    "text": "x" * 10_000,
    "list": [[], {}, None],
    "empty object": {},
    "wrong fields": {"text": 7, "omitted": "x", "": None, "__proto__": {}, "self": 1},
    "many fields": {f"field{n}": n for n in range(1000)},
    "map": MapValue([({}, [])]),
    "bytes": b"\x00\xff",
    "surrogate": "\ud800",
    "nested": [[[[[[[[[[{"a": {"a": {"a": 1}}}]]]]]]]]]],
}
_HOST_PATHS: Final = re.compile(r"/usr/|/home/|site-packages|\.py\b|Traceback")
_MESSAGE_CHARS: Final = 10_000
_PATIENCE_SECONDS: Final = 30.0


@attrs.frozen(kw_only=True)
class BridgeUse:
    """An example of the use of one bridge.

    Attributes:
        name: The dotted name of the bridge.
        input: The guest's input; any value that can cross.
        answer: The expected answer; not compared if omitted.
        wrong: Inputs that must be refused with a `TypeError`.
        fails: Inputs on which the bridge fails, with a part of the message.
    """

    name: str
    input: Any = attrs.field(factory=dict)
    answer: Any = ...
    wrong: Sequence[Any] = ()
    fails: Sequence[tuple[Any, str]] = ()


@rules.kit
class BridgeConformance(abc.ABC):
    """The tests of a plugin that offers bridges.

    ```python
    class TestWeather(BridgeConformance):
        uses = (BridgeUse(name="weather.today", input={"city": "Oslo"}, wrong=[{"city": 7}]),)

        def make_plugins(self):
            return ["weather"]
    ```

    Bridges are called over the protocol, without guest code. Declare missing abilities of the
    plugin in `gaps`, as for `EngineConformance`.
    """

    #: One for each bridge that guests see, in every offer that `make_offer` gives.
    uses: ClassVar[Sequence[BridgeUse]]
    #: What the plugin cannot do, by test name, and why.
    gaps: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        rules.check_overrides(cls, BridgeConformance)
        rules.mark_gaps(cls, BridgeConformance)

    @abc.abstractmethod
    def make_plugins(self) -> Iterable[Any]:
        """The plugins under test, as `InterpreterStack(plugins=…)` takes them."""

    def make_offer(self) -> HostOffer:
        """The host's offer; each call returns a new offer with the same contents."""
        return HostOffer()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        rules.check_skips(metafunc.definition)
        if "use" in metafunc.fixturenames:
            rules.parametrize(metafunc, "use", {use.name: use for use in self.uses}, type(self))

    # -- the offer -------------------------------------------------------------------------

    def test_every_bridge_that_guests_see_has_a_use(self) -> None:
        visible = {bridge.name for bridge in self._offered() if not bridge.hidden}
        assert visible == {use.name for use in self.uses}

    def test_bridges_have_an_owner(self) -> None:
        """Messages about clashes name the owner."""
        assert [b.name for b in self._offered() if b.owner in ("", "host")] == []

    def test_every_turn_registers_the_same(self) -> None:
        first, second = self._offered(), self._offered()
        assert [bridge.name for bridge in first] == [bridge.name for bridge in second]
        assert first.sources == second.sources == self._offered(HostOffer()).sources

    def test_the_prompt_tells_of_it(self, use: BridgeUse) -> None:
        """The last part of the bridge's name, because a prompt may name the namespace only once."""
        with self._stack() as stack:
            prompt = stack.prompt(self.make_offer())
        last = use.name.rpartition(".")[2]
        assert re.search(rf"(?<!\w){re.escape(last)}(?!\w)", prompt)

    def test_the_prompt_is_silent_about_hidden_bridges(self) -> None:
        with self._stack() as stack:
            prompt = stack.prompt(self.make_offer())
        hidden = [b.name for b in self._offered() if b.hidden and "." in b.name]
        assert [name for name in hidden if name in prompt] == []

    # -- the effects of calls --------------------------------------------------------------

    def test_a_use_is_answered(self, use: BridgeUse) -> None:
        with self._session() as session:
            (result,) = _call(session, (use.name, use.input))
        assert "error" not in result, result
        if use.answer is not ... and "answer" in result:
            assert decode(result["answer"]) == use.answer

    def test_wrong_input_is_refused(self, use: BridgeUse) -> None:
        with self._session() as session:
            for value in use.wrong:
                (result,) = _call(session, (use.name, value))
                error = result.get("error")
                assert error is not None, f"{use.name} takes {value!r:.200}"
                assert error["name"] == "TypeError", error
                assert use.name in error["message"], error
                _assert_clean(error)
            self._assert_works(session, use)

    def test_failures_are_reported_to_the_guest(self, use: BridgeUse) -> None:
        with self._session() as session:
            for value, message in use.fails:
                (result,) = _call(session, (use.name, value))
                error = result.get("error")
                assert error is not None, f"{use.name} does not fail for {value!r:.200}"
                assert message in error["message"]
                assert error.get("tool") == use.name, "errors name the bridge in `tool`"
                _assert_clean(error)
            self._assert_works(session, use)

    def test_garbage_does_no_harm(self) -> None:
        """Guests send anything to any bridge; hidden ones are called by guests that broke out."""
        names = [bridge.name for bridge in self._offered()]
        with self._session() as session:
            for name in names:
                for value in _GARBAGE.values():
                    (result,) = _call(session, (name, value))
                    if "error" in result:
                        _assert_clean(result["error"])
            for use in self.uses:
                self._assert_works(session, use)

    def test_budgets_hold(self, use: BridgeUse) -> None:
        budget = self._bridge(use).budget
        if budget is None or not self._bridge(use).awaited:
            return
        with self._session(limits=Limits(requests=None)) as session:
            results = _call(session, *[(use.name, use.input)] * (budget + 1))
        refused = [result["error"]["name"] for result in results if "error" in result]
        assert refused == ["CallBudgetExceeded"]

    def test_uses_side_by_side(self, use: BridgeUse) -> None:
        count = min(8, self._bridge(use).budget or 8)
        with self._session() as session:
            results = _call(session, *[(use.name, use.input)] * count)
        assert [result for result in results if "error" in result] == []

    def test_a_cancelled_cell_leaves_nothing_behind(self, use: BridgeUse) -> None:
        async def main() -> None:
            async with self._stack().session() as session:
                session.bind(self.make_offer())
                running = asyncio.ensure_future(session.eval(_source((use.name, use.input))))
                await asyncio.sleep(0)
                running.cancel()
                await asyncio.wait([running])
                outcome = await session.eval(_source((use.name, use.input)))
                assert "error" not in json.loads(outcome.text)[0]

        asyncio.run(asyncio.wait_for(main(), _PATIENCE_SECONDS))

    # -- inside ----------------------------------------------------------------------------

    def _stack(self, limits: Limits | None = None) -> InterpreterStack:
        return InterpreterStack(CallerEngine(), list(self.make_plugins()), limits=limits)

    @contextmanager
    def _session(self, limits: Limits | None = None) -> Iterator[Session]:
        with self._stack(limits) as stack, stack.session() as session:
            session.bind(self.make_offer())
            yield session

    def _offered(self, offer: HostOffer | None = None) -> BridgeSet:
        with self._stack() as stack:
            return stack.bridge_set(offer or self.make_offer())

    def _bridge(self, use: BridgeUse) -> Bridge:
        bridge = self._offered().get(use.name)
        assert bridge is not None, f"{use.name} is not offered"
        return bridge

    def _assert_works(self, session: Session, use: BridgeUse) -> None:
        (result,) = _call(session, (use.name, use.input))
        assert "error" not in result, result


def _source(*calls: tuple[str, Any]) -> str:
    return json.dumps([[name, encode(value)] for name, value in calls])


def _call(session: Session, *calls: tuple[str, Any]) -> list[dict[str, Any]]:
    outcome = session.eval_sync(_source(*calls))
    assert outcome.error is None, outcome.error
    results: list[dict[str, Any]] = json.loads(outcome.text)
    return results


def _assert_clean(error: Mapping[str, Any]) -> None:
    """Check that an error has a name and a message, and reveals nothing of the host."""
    assert error["name"]
    assert error["message"]
    assert len(error["message"]) <= _MESSAGE_CHARS
    assert not _HOST_PATHS.search(error["message"] + error["stack"]), error
