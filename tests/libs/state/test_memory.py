"""A store in memory is one object's; the rest is in the conformance kit."""

from __future__ import annotations

from interpstack_state import MemoryStore


def test_two_stores_share_nothing() -> None:
    one, other = MemoryStore(), MemoryStore()
    one.claim("a", "one", 9)
    one.save("a", "one", b"state", 9)
    assert other.claim("a", "two", 9) is None
    assert [(found.key, found.size) for found in other.blobs()] == [("a", 0)]
    assert one.claim("a", "one", 9) == b"state"
