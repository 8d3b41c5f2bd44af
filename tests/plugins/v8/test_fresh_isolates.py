"""New isolates come with the bridges and the values of their realm."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")

from interpstack import Bridge, BridgeRegistry, BridgeSet, Limits
from interpstack_javascript.modules import ModuleTable
from interpstack_v8.fresh_isolates import FreshIsolates


async def _nothing(value: Any) -> None:
    return None


def _fresh() -> FreshIsolates:
    return FreshIsolates(Limits(), BridgeSet(), ModuleTable(), 2.0)


def test_one_comes_with_bridges_and_values() -> None:
    fresh = _fresh()
    fresh.bind(BridgeRegistry([Bridge(name="host.a", handler=_nothing)]).freeze())
    isolate = fresh.open()
    try:
        assert fresh.fill(isolate, '{"n":5}')
        names = json.loads(isolate.enter("say", '["names"]', seconds=5.0).text)
        members = json.loads(isolate.enter("say", '["members", []]', seconds=5.0).text)
        assert names == ["n"]
        assert "host" in members
    finally:
        isolate.close()


def test_bridges_are_offered_when_they_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh, entered = _fresh(), []
    isolate = fresh.open()
    try:
        monkeypatch.setattr(isolate, "enter", lambda *given, seconds: entered.append(given))
        fresh.offer(isolate)
        assert not entered
        fresh.bind(BridgeRegistry([Bridge(name="host.b", handler=_nothing)]).freeze())
        fresh.offer(isolate)
        fresh.offer(isolate)
        assert len(entered) == 1
    finally:
        isolate.close()


def test_values_that_are_too_much_are_reported() -> None:
    isolate = (fresh := _fresh()).open()
    isolate.close()
    assert not fresh.fill(isolate, '{"n":5}')
