"""States as bytes: bound to their session, and refused when damaged, foreign or of another form."""

from __future__ import annotations

import pytest

from interpstack import Image, SessionState
from interpstack_sessions.packing import pack, unpack
from interpstack_state import StateRejected

STATE = SessionState(image=Image("fake", "base", bytes(range(256)) * 9), values={"a": [1, "é"]})


@pytest.mark.parametrize(
    "state",
    [
        STATE,
        SessionState(image=STATE.image),
        SessionState(values={}),
        SessionState(values={"a": 1}),
    ],
)
def test_what_is_packed_comes_back(state: SessionState) -> None:
    assert unpack("talk", pack("talk", state)) == state


def test_every_changed_byte_is_noticed() -> None:
    data = pack("talk", STATE)
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1
        with pytest.raises(StateRejected, match="the saved state of session 'talk'"):
            unpack("talk", bytes(changed))
    for damaged in (b"", data[:-1], data[:20], data + b"\0", b"isk" + data[3:]):
        with pytest.raises(StateRejected, match="it is kept in the store"):
            unpack("talk", damaged)


def test_a_state_of_another_session_is_refused() -> None:
    with pytest.raises(StateRejected, match="belongs to another session"):
        unpack("other", pack("talk", STATE))


def test_another_form_is_named() -> None:
    data = pack("talk", STATE)
    with pytest.raises(StateRejected, match="has form 9, and this version reads form 1"):
        unpack("talk", data[:3] + b"\x09" + data[4:])


def test_a_state_of_which_nothing_would_be_left_is_refused() -> None:
    values = {"text": "x" * (17 * 2**20)}
    with pytest.raises(StateRejected, match="too large to be stored"):
        pack("talk", SessionState(values=values))
