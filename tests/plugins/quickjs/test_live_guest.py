"""One guest of QuickJS: told its bridges, read without a trace, and replaced."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
from quickjs_realms import open_realm, run, text_of

from interpstack import (
    Bridge,
    BridgeRegistry,
    Cell,
    EngineFailure,
)
from interpstack_quickjs import live_guest as module
from interpstack_quickjs.guest_memory import OutOfRoom
from interpstack_quickjs.live_guest import LiveGuest


def test_stale_bridges_are_gone_after_binding_others() -> None:
    realm = open_realm()
    run(realm, "globalThis.kept = host.get; 0")
    realm.bind(
        BridgeRegistry([Bridge(name="tools.x", handler=lambda value: value, raw=True)]).freeze()
    )
    assert text_of(realm, "[typeof host, typeof tools.x, Object.keys(globalThis)]") == (
        '["undefined", "function", ["kept"]]'
    )
    execution = realm.start(Cell(source="kept(1)"))
    assert execution.poll(0.0, 1.0).requests[0].bridge == "host.get"  # for the host to refuse
    realm.close()


def test_a_state_is_as_it_was_after_its_values_are_read() -> None:
    realms = [open_realm(), open_realm()]
    for realm in realms:
        run(realm, "let n = 1; const rows = Array.from({length: 50}, (_, i) => ({i})); 0")
        realm.image()
    assert realms[0].values()["n"] == 1
    for realm in realms:
        execution = realm.start(Cell(source="n = 2; rows.length = 0; await host.get(n)"))
        execution.poll(0.0, 1.0)
        execution.undo()
    assert [text_of(realm, "[n, rows.length]") for realm in realms] == ["[1, 50]"] * 2
    assert realms[0].image().data == realms[1].image().data
    for realm in realms:
        realm.close()


def test_a_state_that_has_not_changed_has_the_image_that_was_made() -> None:
    realm = open_realm()
    run(realm, "let n = 1; 0")
    first = realm.image()
    assert realm.values()["n"] == 1
    assert realm.image() is first
    run(realm, "n += 1; 0")
    second = realm.image()
    realm.bind(BridgeRegistry([Bridge(name="host.other", handler=print, raw=True)]).freeze())
    third = realm.image()
    execution = realm.start(Cell(source="n = 9; await host.other(n)"))
    execution.poll(0.0, 1.0)
    waiting = realm.image()
    assert len({one.data for one in (first, second, third, waiting)}) == 4
    execution.undo()
    again = realm.image()
    realm.close()
    for image, text in ((first, "1"), (second, "2"), (third, "2"), (again, "2")):
        opened = open_realm(image=image)
        assert text_of(opened, "n") == text
        opened.close()


def test_large_images_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_REPEATED", 1000)
    realm = open_realm()
    run(realm, "let text = 'x'.repeat(1e5); 0")
    first = weakref.ref(realm.image())
    gc.collect()
    assert first() is None
    realm.close()


@pytest.mark.parametrize("size", [10, 500_000])
def test_reading_values_leaves_nothing_behind(size: int) -> None:
    realm = open_realm()
    code = "globalThis.ran = 0; let c = new Proxy({a: 1}, {ownKeys: () => [['a', ran++][0]]});"
    assert text_of(realm, f"{code} let big = 'x'.repeat({size}); 0") == "0"
    weight, stored = realm.live.guest.memory_bytes, len(realm.image().data)
    assert realm.values()["c"] == {"a": 1}
    assert realm.live.guest.memory_bytes == weight
    assert abs(len(realm.image().data) - stored) < 1000
    assert text_of(realm, "[ran, big.length, c.a]") == f"[0, {size}, 1]"
    realm.close()


def _live(realm: Any) -> LiveGuest:
    assert isinstance(realm.live, LiveGuest)
    return realm.live


def test_a_guest_that_was_stopped_during_a_command_is_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    realm = open_realm()
    run(realm, "const keep = 1; 0")
    live = _live(realm)
    guest, dispatch = live.guest, LiveGuest.dispatch

    def fails(self: LiveGuest, *command: Any) -> str:
        if command[0] == "load":
            raise OutOfRoom("the kernel could not load")
        return dispatch(self, *command)

    with monkeypatch.context() as patch:
        patch.setattr(LiveGuest, "dispatch", fails)
        with pytest.raises(EngineFailure, match="was stopped while it did 'load'"):
            live.change("load", {"a": 1})
    assert live.guest is not guest
    assert text_of(realm, "[keep, typeof a]") == '[1, "undefined"]'
    realm.close()


def test_a_command_that_the_kernel_does_not_know_is_an_error() -> None:
    realm = open_realm()
    with pytest.raises(EngineFailure, match="was stopped while it did 'no such command'"):
        _live(realm).change("no such command")
    assert text_of(realm, "1 + 1") == "2"
    realm.close()


def test_a_realm_that_has_run_nothing_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    realm = open_realm()
    live = _live(realm)
    assert live.start() is live.base.heap
    run(realm, "1")
    before = live.start()
    assert before is not live.base.heap
    assert live.start() is before  # nothing has run since
    realm.close()


def test_an_instance_goes_to_the_next_realm_unless_it_has_grown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[Any] = []
    reserve = SimpleNamespace(give=given.append, take=lambda size, template: None)
    monkeypatch.setattr(module, "spares", reserve)
    small, large = open_realm(), open_realm()
    run(large, "const big = new Uint8Array(8e6); 0")
    for realm in (small, small, large):
        realm.close()
    assert len(given) == 1
    given[0].close()


def test_the_running_cell_is_in_the_image() -> None:
    realm = open_realm()
    live = _live(realm)
    live.runs("cell 3")
    again = open_realm(live.image())
    assert _live(again).running == "cell 3"
    live.runs(None)
    assert _live(open_realm(live.image())).running is None
    live.restore(live.base.heap)
    assert live.running is None
    for each in (realm, again):
        each.close()


def test_scratch_memory_is_used_again_for_the_same_size() -> None:
    scratch = module._Scratch()
    first = scratch.take(65536)
    assert scratch.take(65536) is first
    assert scratch.take(131072) is not first
    assert scratch.take(2**24 + 1) is None
