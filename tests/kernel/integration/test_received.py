"""What an engine gives is checked, whatever it says of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import attrs
import pytest

from interpstack import Bridge, Cell, Execution, InterpreterStack, Limits, Notification, Progress
from interpstack_testing import FakeEngine
from interpstack_testing.fake import FakeRealm


def _nested(levels: int) -> Any:
    made: Any = 1
    for _ in range(levels):
        made = [made]
    return made


def _doubled(levels: int) -> Any:
    made: Any = []
    for _ in range(levels):
        made = [made, made]
    return made


class _LyingRealm(FakeRealm):
    """Passes `wire` for every input, and says that it is plain."""

    wire: Any = None

    def start(self, cell: Cell) -> Execution:
        execution = super().start(cell)
        poll = execution.poll

        def lying(now: float, cpu_seconds: float | None) -> Progress:
            progress = poll(now, cpu_seconds)
            return attrs.evolve(
                progress,
                requests=[attrs.evolve(r, wire=self.wire, plain=True) for r in progress.requests],
                notifications=[
                    Notification(c.bridge, self.wire)
                    for c in progress.notifications
                    if c.bridge == "kit.note"
                ],
            )

        execution.poll = lying  # type: ignore[method-assign]
        return execution

    def values(self) -> Any:
        return {"given": self.wire, "kept": 1}


class _LyingEngine(FakeEngine):
    wire: Any = None

    def open(self, limits: Any, bridges: Any, image: Any = None) -> Any:
        realm = _LyingRealm(limits, bridges)
        realm.wire = self.wire
        return realm


_LIMITS = Limits(value_bytes=10_000, console_chars=1_000)
_REFUSED = {
    "deep": (_nested(900), "nested deeper than 200"),
    "deeper": (_nested(100_000), "nested deeper than 200"),
    "large": ("x" * 20_000, "more than 10000 bytes"),
    "wide": ("\u6f22" * 5_000, "more than 10000 bytes"),
    "many": ([[]] * 10_000, "more than 10000 bytes"),
    "doubled": (_doubled(60), "more than 10000 bytes"),
    "unknown tag": ({"a": [{"$": "nothing"}]}, "unknown kind of value"),
    "malformed tag": ({"$": "bigint", "v": "zz"}, "malformed"),
}


@pytest.fixture
def engine() -> _LyingEngine:
    return _LyingEngine()


def _session(engine: _LyingEngine, seen: list[Any]) -> Any:
    async def take(value: Any) -> str:
        seen.append(value)
        return "taken"

    async def note(value: Any) -> None:
        seen.append(value)

    bridges = [
        Bridge(name="kit.take", handler=take, raw=True),
        Bridge(name="kit.note", handler=note, raw=True, awaited=False),
    ]
    return InterpreterStack(engine, bridges=bridges, limits=_LIMITS).session("lied to")


@pytest.mark.parametrize(("wire", "message"), _REFUSED.values(), ids=_REFUSED.keys())
async def test_input_that_no_guest_may_send_is_refused(
    engine: _LyingEngine, wire: Any, message: str
) -> None:
    seen: list[Any] = []
    engine.wire = wire
    session = _session(engine, seen)
    outcome = await session.eval("await kit.take(1)")
    assert outcome.error is not None
    assert message in outcome.error.message
    outcome = await session.eval("kit.note(1)\n'on'")
    assert outcome.text == "on"
    assert [type(error).__name__ for error in outcome.attachments] == ["UnsupportedValue"]
    assert seen == []


@pytest.mark.parametrize(
    ("wire", "value"),
    [
        ({"$": "date", "v": 0}, datetime(1970, 1, 1, tzinfo=UTC)),
        ({"a": [{"$": "object", "v": [["$", 1]]}]}, {"a": [{"$": 1}]}),
        ([2**60], [float(2**60)]),
        ({"a": [1]}, {"a": [1]}),
    ],
    ids=str,
)
async def test_tags_never_reach_a_handler(engine: _LyingEngine, wire: Any, value: Any) -> None:
    seen: list[Any] = []
    engine.wire = wire
    assert (await _session(engine, seen).eval("await kit.take(1)")).text == "taken"
    assert repr(seen) == repr([value])


async def test_values_that_are_too_deep_are_lost_alone(engine: _LyingEngine) -> None:
    engine.wire = _nested(5000)
    session = _session(engine, [])
    for _ in range(2):
        outcome, state = await session.eval_with_state("1")
        assert outcome.ok
        assert state is not None
        assert state.values == {"given": {"$": "lost", "v": "it is nested too deep"}, "kept": 1}
