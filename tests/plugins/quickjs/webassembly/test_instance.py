"""Instances that go from one realm to the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interpstack import BridgeSet, Cell, EngineFailure, Execution, Image, Limits, Realm
from interpstack_javascript.guest_files import guest_path
from interpstack_quickjs import guest_memory as guests
from interpstack_quickjs import live_guest as module
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_quickjs.heap.base import base_heaps
from interpstack_quickjs.webassembly import instance as instances
from interpstack_quickjs.webassembly.instance import Instance, Spares
from interpstack_quickjs.webassembly.runtime import guest_runtime

_NOW = 1_700_000_000.0


@pytest.fixture
def spares(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spares]:
    """Room for one instance, and nothing of other tests."""
    made = Spares(1)
    monkeypatch.setattr(module, "spares", made)
    yield made
    while instance := made.take(2**32):
        instance.close()


def _open(limits: Limits | None = None, image: Image | None = None) -> Realm:
    return QuickJSEngine().open(limits or Limits(), BridgeSet(), image)


def _start(realm: Realm, source: str) -> tuple[Execution, str]:
    execution = realm.start(Cell(source=source, seed=7))
    completion = execution.poll(_NOW, 20.0).completion
    assert completion is not None
    assert completion.error is None, completion.error
    return execution, completion.text


def test_the_next_realm_gets_the_instance_and_nothing_else(spares: Spares) -> None:
    images, instances = [], []
    for _ in range(3):
        realm = _open()
        _start(realm, "globalThis.n = (globalThis.n ?? 0) + 1; const text = 'x'.repeat(1000); n")
        images.append(realm.image().data)
        instances.append(_instance(realm))
        realm.close()
    assert images[0] == images[1] == images[2]
    assert instances[0] is instances[1] is instances[2]


def test_of_the_instances_in_reserve_the_newest_is_used_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "spares", Spares(2))
    realms = [_open(), _open()]
    first, second = map(_instance, realms)
    for realm in realms:
        realm.close()
    again = [_open(), _open()]
    assert [_instance(realm) for realm in again] == [second, first]
    for realm in again:
        realm.close()


@pytest.mark.parametrize("how", ["put back", "reset", "zeros"])
def test_instances_are_wiped(spares: Spares, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    if how == "zeros":
        monkeypatch.setattr(guests, "template_of", lambda memory: None)
    elif how == "reset":
        monkeypatch.setattr(instances, "_MOST_KEPT", 0)
    realm = _open()
    _start(realm, "const secret = 'hunter2-' + 'hunter2'")
    instance = realm.live.guest._instance  # type: ignore[attr-defined]
    assert b"hunter2-hunter2" in _memory(instance)
    realm.close()
    assert _memory(instance) in (bytes(instance.memory_bytes), base_heaps.get(()).heap.memory)
    assert spares.take(2**32) is instance
    spares.give(instance)


def test_an_image_that_has_grown_goes_into_a_smaller_instance(spares: Spares) -> None:
    realm = _open()
    _start(realm, "const large = new Uint8Array(5e6).fill(7); 0")
    image = realm.image()
    realm.close()  # too large for the next
    assert spares.take(2**32) is None
    _open().close()
    restored = _open(image=image)
    assert _start(restored, "large[4999999] + large.length")[1] == "5000007"
    restored.close()


def test_limits_are_those_of_the_next_realm(spares: Spares) -> None:
    _open(Limits(memory_bytes=None)).close()
    small = _open(Limits(memory_bytes=8 * 2**20))
    progress = small.start(Cell(source="const a = []; for (;;) a.push('x'.repeat(1e5) + a.length)"))
    assert progress.poll(_NOW, 20.0).failure is not None
    small.close()
    _open(Limits(memory_bytes=4 * 2**20)).close()
    large = _open(Limits(memory_bytes=None))
    assert _start(large, "new Uint8Array(3e7).length")[1] == "30000000"
    large.close()


def test_who_closed_a_realm_reaches_nobody_elses(spares: Spares) -> None:
    realm = _open()
    execution, _ = _start(realm, "1")
    realm.close()
    realm.close()
    other = _open()
    execution.interrupt()
    assert _start(other, "let i = 0; while (i < 1e6) i++; i")[1] == "1000000"
    with pytest.raises(EngineFailure, match="was closed"):
        realm.image()
    other.close()


def test_no_more_are_kept_than_wanted(spares: Spares) -> None:
    realms = [_open() for _ in range(3)]
    for realm in realms:
        realm.close()
    assert spares.take(0) is None
    kept = spares.take(2**32)
    assert kept is not None
    assert spares.take(2**32) is None
    spares.give(kept)


def test_instances_have_no_state_but_memory_and_stack_pointer() -> None:
    """Whatever else could change would have to be put back, too."""
    changeable = [kind for kind in _globals(guest_path().read_bytes()) if kind[1]]
    assert changeable == [(0x7F, 1)]  # one 32-bit integer
    assert Instance(guest_runtime()).memory_bytes <= 3 * 2**20


def _instance(realm: Realm) -> Instance:
    return realm.live.guest._instance  # type: ignore[attr-defined,no-any-return]


def _memory(instance: Instance) -> bytes:
    return bytes(instance.memory.read(instance.store))


def _globals(wasm: bytes) -> list[tuple[int, int]]:
    """Type and mutability of a module's globals."""
    at, found = 8, []
    while at < len(wasm):
        section, (size, body) = wasm[at], _number(wasm, at + 1)
        if section == 6:
            count, place = _number(wasm, body)
            for _ in range(count):
                found.append((wasm[place], wasm[place + 1]))
                assert wasm[place + 2] == 0x41, "only constants are read here"
                _, place = _number(wasm, place + 3)
                place += 1
        at = body + size
    return found


def _number(wasm: bytes, at: int) -> tuple[int, int]:
    """A LEB128 number, and where it ends; of a negative one, some positive number."""
    value = shift = 0
    while True:
        byte = wasm[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
