"""Patches: what texts have in common, and damaged patches."""

from __future__ import annotations

import random
import secrets
import struct

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from interpstack_agents import RecordRejected
from interpstack_persistence.patches import apply_patch, make_patch
from interpstack_persistence.payloads import compress_after, decompress, expanded_bytes
from interpstack_persistence.recent_payloads import RecentPayloads

_BEFORE = secrets.token_bytes(3 * 2**18)


def edited(text: bytes, seed: int, edits: int) -> bytes:
    """A text after some insertions, deletions and changes of up to 300 bytes."""
    rng, result = random.Random(seed), bytearray(text)
    for _ in range(edits):
        at, length = rng.randrange(len(result)), rng.choice([1, 4, 8, 40, 300])
        new = rng.choice([b"", rng.randbytes(length), bytes(length)])
        result[at : at + rng.choice([0, length])] = new
    return bytes(result)


@pytest.mark.parametrize("seed", range(20))
def test_a_patch_is_small_and_makes_the_same_text(seed: int) -> None:
    text = edited(_BEFORE, seed, edits=20)
    patch = make_patch(_BEFORE, text)
    assert patch is not None
    assert apply_patch(_BEFORE, patch, len(text)) == text
    assert len(patch) < 12_000


@given(st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=100))
def test_any_texts_have_a_right_patch_or_none(one: bytes, other: bytes, both: bytes) -> None:
    before, text = one + both + other, other + both * 3 + one
    patch = make_patch(before, text)
    assert patch is None or apply_patch(before, patch, len(text)) == text


@pytest.mark.parametrize(
    "text",
    [b"", _BEFORE[:1], _BEFORE[: 2**17], _BEFORE + secrets.token_bytes(2**18), _BEFORE[2**10 :]],
    ids=["empty", "byte", "start", "longer", "end"],
)
def test_texts_begin_and_end_anywhere(text: bytes) -> None:
    patch = make_patch(_BEFORE, text)
    assert patch is not None
    assert apply_patch(_BEFORE, patch, len(text)) == text


def test_texts_with_little_in_common_have_none() -> None:
    assert make_patch(_BEFORE, secrets.token_bytes(len(_BEFORE))) is None
    everywhere = bytearray(_BEFORE)
    everywhere[::100] = bytes(len(everywhere[::100]))
    assert make_patch(_BEFORE, bytes(everywhere)) is None


# -- damage --------------------------------------------------------------------------------

_RUN = struct.pack("<III", 4, 1, 0)


@pytest.mark.parametrize(
    "patch",
    [
        b"", b"\x01", struct.pack("<I", 2**32 - 1), struct.pack("<I", 2) + _RUN,
        struct.pack("<I", 1) + _RUN, struct.pack("<I", 1) + _RUN + b"xy",
        struct.pack("<IIII", 1, 2**32 - 1, 1, 0) + b"x", struct.pack("<IIII", 1, 4, 1, 9) + b"x",
        struct.pack("<I", 0),
    ],
    ids=["empty", "cut", "runs", "run", "new", "rest", "long", "skip", "size"],
)  # fmt: skip
def test_damaged_patches_are_refused(patch: bytes) -> None:
    with pytest.raises(ValueError, match=r"it is cut short|its parts do not fit together"):
        apply_patch(b"before", patch, 5)


def test_a_whole_patch_is_accepted() -> None:
    assert apply_patch(b"before", struct.pack("<I", 1) + _RUN + b"x", 5) == b"befox"


def packed(patch: bytes, size: int) -> bytes:
    return b"IPP1" + struct.pack("<Q", size) + zstandard.compress(patch)


def test_a_damaged_patch_in_a_record_is_refused() -> None:
    with pytest.raises(RecordRejected, match="in its patch, its parts do not fit together"):
        decompress(packed(struct.pack("<I", 1) + _RUN + b"x", 6), b"before")
    with pytest.raises(RecordRejected, match="the stored state is damaged"):
        decompress(b"IPP1" + bytes(3), b"before")


def test_a_patch_that_makes_too_much_is_not_applied() -> None:
    """Its size counts with that of its runs, which may copy the same bytes again and again."""
    data = packed(struct.pack("<I", 0), 2**40)
    assert expanded_bytes(data) > 2**40
    with pytest.raises(RecordRejected, match="expands to more than"):
        decompress(data, b"before")


def test_a_large_payload_is_patched() -> None:
    text = edited(_BEFORE, seed=1, edits=3)
    data = compress_after(_BEFORE, text)
    assert data is not None
    assert data.startswith(b"IPP1")
    assert len(data) < 2000
    assert decompress(data, _BEFORE) == text


# -- payloads that are kept ------------------------------------------------------------------


def test_the_payload_of_the_last_record_is_kept() -> None:
    recent = RecentPayloads()
    recent.replace(b"", b"1", _BEFORE)
    recent.replace(b"1", b"2", _BEFORE + b"2")
    assert (recent.get(b"1"), recent.get(b"2")) == (None, _BEFORE + b"2")


def test_kept_payloads_have_a_bound_together() -> None:
    recent = RecentPayloads()
    for number in range(5):
        recent.replace(b"", bytes([number]), bytes(10 * 2**20))
    assert [recent.get(bytes([number])) is not None for number in range(5)] == [
        False, False, True, True, True,
    ]  # fmt: skip
    recent.replace(b"", b"short", b"x")
    assert recent.get(b"short") is None
    recent.replace(b"", b"huge", bytes(40 * 2**20))
    assert recent.get(b"huge") is None
