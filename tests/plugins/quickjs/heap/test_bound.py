"""Realms that begin with the heap of a realm which was told the same."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import Bridge, BridgeRegistry, BridgeSet, Cell, Limits, Realm
from interpstack_javascript.exchange import bind_arguments
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_quickjs.heap import bound
from interpstack_quickjs.heap.base import base_heaps
from interpstack_quickjs.heap.bound import BoundHeaps, bound_heaps, digest_of, offer_digest
from interpstack_quickjs.live_guest import LiveGuest


def _offer(*names: str) -> BridgeSet:
    bridges = [Bridge(name=name, handler=lambda value: value, raw=True) for name in names]
    return BridgeRegistry(bridges).freeze()


def _run(realm: Realm, source: str) -> Any:
    execution = realm.start(Cell(source=source, seed=1))
    progress = execution.poll(0.0, 5.0)
    execution.abort("done")
    assert progress.completion is not None, progress
    assert progress.completion.error is None, progress.completion.error
    return progress.completion.text


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that guests get."""
    commands: list[str] = []
    dispatch = LiveGuest.dispatch

    def noted(live: LiveGuest, *command: Any) -> str:
        commands.append(command[0])
        return dispatch(live, *command)

    monkeypatch.setattr(LiveGuest, "dispatch", noted)
    return commands


def test_the_third_realm_with_an_offer_need_not_be_given_it(found: list[str]) -> None:
    engine, offer, images = QuickJSEngine(), _offer("bound.first", "bound.second"), []
    for number in range(4):
        realm = engine.open(Limits(), offer)
        assert found.count("bind") == min(number + 1, 2)
        assert _run(realm, "let a = 41; [typeof bound.first, a + 1]") == '["function", 42]'
        images.append(realm.image())
        realm.close()
    assert images == images[:1] * 4  # to the last byte


def test_another_offer_or_other_limits_are_reported(found: list[str]) -> None:
    engine, offer = QuickJSEngine(), _offer("bound.third")
    for _ in range(3):
        engine.open(Limits(), offer).close()
    found.clear()
    for limits, other in ((Limits(timers=7), offer), (Limits(), _offer("bound.fourth"))):
        realm = engine.open(limits, other)
        assert found.pop() == "bind"
        assert _run(realm, "typeof bound.third") == str(
            "function" if other is offer else "undefined"
        )
        realm.close()


def test_a_realm_with_a_known_offer_can_be_undone_and_bound_anew() -> None:
    engine, offer = QuickJSEngine(), _offer("bound.fifth")
    for _ in range(3):
        engine.open(Limits(), offer).close()
    realm = engine.open(Limits(cpu_seconds=0.2), offer)
    execution = realm.start(Cell(source="var lost = 1; for (;;);", seed=1))
    assert execution.poll(0.0, 0.05).exhausted
    execution.undo()
    assert _run(realm, "typeof lost + typeof bound.fifth") == "undefinedfunction"
    realm.bind(_offer("bound.sixth"))
    assert _run(realm, "typeof bound?.fifth + typeof bound.sixth") == "undefinedfunction"
    realm.close()


def test_no_guest_changes_the_heap_of_the_next_one() -> None:
    engine, offer = QuickJSEngine(), _offer("bound.seventh")
    for _ in range(4):
        realm = engine.open(Limits(), offer)
        assert _run(realm, "typeof leak") == "undefined"
        _run(realm, "globalThis.leak = 'x'.repeat(1e6); Array.prototype.leak = 1")
        realm.close()
    base = base_heaps.get(())
    known = bound_heaps.get(base, digest_of(bind_arguments(offer, Limits())))
    assert known is not None
    assert known.memory is base.heap.memory
    assert sum(len(data) for _, data in known.differences) < 2**16


def test_only_the_heaps_of_the_offers_used_last_are_remembered() -> None:
    heaps, base = BoundHeaps(), base_heaps.get(())
    for _ in range(2):
        heaps.note(base, "kept", lambda: base.heap)
    for number in range(31):
        heaps.note(base, str(number), lambda: base.heap)
        assert heaps.get(base, str(number)) is None  # seen once
    assert heaps.get(base, "kept") is base.heap
    heaps.note(base, "one more", lambda: base.heap)
    assert heaps.get(base, "kept") is base.heap
    for number in range(40):
        heaps.note(base, f"other {number}", lambda: base.heap)
    assert heaps.get(base, "kept") is None


def test_values_that_were_read_leave_no_trace(found: list[str]) -> None:
    engine, images, texts = QuickJSEngine(), [], []
    for reads in (0, 1, 3):
        realm = engine.open(Limits(), _offer("bound.eighth"))
        _run(realm, "let seen = [1], trap = {toJSON() { seen.push(2); return 3; }}")
        first = realm.image()
        for _ in range(reads):
            assert realm.names() == ["seen", "trap"]
            assert realm.values()["seen"] == [1]
            assert list(realm.members(["seen"]))[:1] == ["length"]
        images += [first, realm.image()]
        realm.load({"more": 1})
        texts.append(_run(realm, "[seen, more, Math.random()]"))
        realm.values()
        execution = realm.start(Cell(source="seen.push(4); for (;;);", seed=1))
        assert execution.poll(0.0, 0.05).exhausted
        execution.undo()
        texts.append(_run(realm, "[seen, more, Math.random()]"))
        realm.close()
    assert images == images[:1] * 6
    assert texts == texts[:1] * 6
    assert "values" in found


def test_the_digest_of_an_offer_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[BridgeSet] = []

    def arguments(bridges: BridgeSet, limits: Limits) -> list[Any]:
        asked.append(bridges)
        return bind_arguments(bridges, limits)

    monkeypatch.setattr(bound, "bind_arguments", arguments)
    one, same, other = _offer("bound.eighth"), _offer("bound.eighth"), _offer("bound.ninth")
    digest = offer_digest(one, Limits())
    assert digest == digest_of(bind_arguments(one, Limits()))
    assert [offer_digest(one, Limits()) for _ in range(3)] == [digest] * 3
    assert len(asked) == 1
    assert offer_digest(same, Limits()) == digest
    assert len({digest, offer_digest(one, Limits(timers=7)), offer_digest(other, Limits())}) == 3
    assert offer_digest(one, Limits()) == digest
    for number in range(40):
        offer_digest(_offer(f"bound.other{number}"), Limits())
    assert len(bound._digests) <= 32
