"""Base heaps: one for each set of sources, stored and read back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from interpstack import EngineFailure, GuestSource
from interpstack_quickjs.guest_memory import WORKSPACE_BYTES
from interpstack_quickjs.heap import base as module
from interpstack_quickjs.heap.base import Base, BaseHeaps, _dump, _parse, base_heaps


@pytest.fixture
def base() -> Base:
    return base_heaps.get(())


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The cache of this test, and no templates."""
    files: dict[str, bytes] = {}
    read: Callable[[str], Any] = lambda name: memoryview(files[name]) if name in files else None  # noqa: E731
    monkeypatch.setattr(module, "read_cached", read)
    monkeypatch.setattr(module, "write_cached", lambda name, data: files.update({name: data}))
    monkeypatch.setattr(module, "keep_template", lambda memory: None)
    return files


def test_the_same_sources_have_one_heap(base: Base) -> None:
    assert base_heaps.get([]) is base
    assert len(base.id) == 32


def test_a_heap_is_built_once_and_read_from_the_cache_later(
    base: Base, stored: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = BaseHeaps().get(())
    assert built == base  # to the last byte, whoever builds it
    assert len(stored) == 1
    monkeypatch.delattr(module, "_build")
    assert BaseHeaps().get(()) == base


def test_other_sources_make_another_heap_with_another_name(
    base: Base, stored: dict[str, bytes]
) -> None:
    source = GuestSource("javascript", "test:one", "(api) => { globalThis.one = 1 }")
    heaps = BaseHeaps()
    made = heaps.get([source])
    assert made.id != base.id
    renamed = attrs.evolve(source, name="test:two")
    heaps.get([renamed])
    assert len(stored) == 2


def test_a_source_that_fails_is_named_with_its_message(stored: dict[str, bytes]) -> None:
    bad = GuestSource("javascript", "test:bad", "(api) => { throw new TypeError('no such api') }")
    with pytest.raises(EngineFailure, match="a guest source failed: no such api"):
        BaseHeaps().get([bad])
    broken = attrs.evolve(bad, source="(api) => {")
    with pytest.raises(EngineFailure, match="test:bad does not evaluate: SyntaxError"):
        BaseHeaps().get([broken])
    assert stored == {}


def test_the_stored_form_comes_back(base: Base) -> None:
    assert _parse(memoryview(_dump(base))) == base
    assert len(_dump(base)) < base.heap.size  # the stack is not stored


@pytest.mark.parametrize("length", [0, 63, 65536])
def test_a_form_that_was_cut_short_is_built_anew(base: Base, length: int) -> None:
    assert _parse(memoryview(_dump(base)[:length])) is None


def test_wiping_leaves_what_the_guest_holds(base: Base) -> None:
    memory = bytearray(base.heap.memory)
    space = base.heap.workspace.address
    kept = space + WORKSPACE_BYTES + 8
    memory[space : space + 4] = b"left"
    memory[kept] ^= 0xFF
    base.wipe(memory)
    assert memory[space : space + WORKSPACE_BYTES] == base.heap.memory[space:][:WORKSPACE_BYTES]
    assert memory[kept] == base.heap.memory[kept] ^ 0xFF
