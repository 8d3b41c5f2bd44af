"""States as bytes, their compression, and what damaged ones are."""

from __future__ import annotations

import struct
from typing import Any

import pytest
import zstandard

from interpstack import Image, SessionState
from interpstack_agents import RecordRejected
from interpstack_persistence.payloads import (
    compress,
    compress_after,
    decompress,
    pack_payload,
    unpack_payload,
)

IMAGE = Image("quickjs", "base", b"\x00\x01" * 100)


@pytest.mark.parametrize(
    "state",
    [
        SessionState(),
        SessionState(image=IMAGE),
        SessionState(values={}),
        SessionState(values={"a": [1, {"$": "undefined"}]}),
        SessionState(image=IMAGE, values={"é": "x"}),
    ],
)
def test_states_come_back(state: SessionState) -> None:
    payload, notice = pack_payload(state, None)
    assert (unpack_payload(payload), notice) == (state, "")


def test_what_is_too_large_is_left_out_and_reported() -> None:
    payload, notice = pack_payload(SessionState(image=IMAGE, values={"a": 1}), 100)
    assert unpack_payload(payload) == SessionState(values={"a": 1})
    assert "more than the 100 that are stored" in notice
    payload, _ = pack_payload(SessionState(image=IMAGE, values={"a": "x" * 200}), 20)
    assert unpack_payload(payload) == SessionState()


@pytest.mark.parametrize(
    "payload",
    [b"", b"\x00" * 11, struct.pack("<III", 5, 0, 2**32 - 1), struct.pack("<III", 2, 0, 0) + b"[]",
     struct.pack("<III", 0, 0, 2) + b"[]", struct.pack("<III", 0, 0, 1) + b"{"],
    ids=["empty", "short", "cut", "names", "values", "json"],
)  # fmt: skip
def test_damaged_payloads_are_refused(payload: bytes) -> None:
    with pytest.raises(RecordRejected, match="the stored state is damaged"):
        unpack_payload(payload)


@pytest.mark.parametrize("size", [0, 1000, 2**18])
def test_differences_from_another_payload_are_small(size: int) -> None:
    before = bytes(range(256)) * (size // 256)
    payload = before + b"new"
    packed = compress_after(before, payload) if before else compress(payload)
    assert packed is not None
    assert decompress(packed, before) == payload
    assert len(packed) < 100


def test_what_expands_without_end_is_refused_before_it_does() -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(2**28 + 1))
    with pytest.raises(RecordRejected, match="expands to more than"):
        decompress(bomb, b"")
    unknown: Any = zstandard.ZstdCompressor(write_content_size=False).compress(b"x")
    with pytest.raises(RecordRejected):
        decompress(unknown, b"")
    with pytest.raises(RecordRejected, match="damaged"):
        decompress(b"nothing", b"")
