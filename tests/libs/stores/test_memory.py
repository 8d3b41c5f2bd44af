"""Memory copies what it is given."""

from __future__ import annotations

from interpstack_stores import MemoryStore


def test_a_caller_cannot_change_a_saved_state() -> None:
    store, data = MemoryStore(), bytearray(b"state")
    store.claim("a", "one", 9)
    store.save("a", "one", data, 0)  # type: ignore[arg-type]
    data[0] = 0
    assert store.claim("a", "two", 0) == b"state"
