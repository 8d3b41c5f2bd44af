"""The memory that a process holds, against a limit."""

from __future__ import annotations

import mmap
import sys

import pytest

from interpstack_workers import memory as module
from interpstack_workers.memory import held_bytes, watch_memory

_MIB = 2**20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")


def test_memory_counts_once_it_is_written_to() -> None:
    before = held_bytes()
    assert before is not None
    with mmap.mmap(-1, 64 * _MIB, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as reserved:
        assert (held_bytes() or 0) < before + 32 * _MIB
        reserved.write(b"x" * 64 * _MIB)
        assert (held_bytes() or 0) > before + 32 * _MIB


def test_who_holds_too_much_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = iter([100, 99, 101, 500])
    monkeypatch.setattr(module, "held_bytes", lambda: next(found))
    calls: list[int] = []
    watch_memory(100, lambda: calls.append(1))
    assert calls == [1]
    assert next(found) == 500


def test_where_the_system_does_not_tell_nothing_is_watched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module.Path, "read_text", lambda path, encoding: "")
    assert held_bytes() is None
    watch_memory(0, lambda: pytest.fail("nothing is known"))
