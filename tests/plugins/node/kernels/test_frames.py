"""Frames of a kernel that is not trusted."""

from __future__ import annotations

import struct

import pytest

from interpstack_node.kernels.frames import Frame, Frames, MalformedFrame, packed


def _frame(kind: str, text: bytes) -> bytes:
    return struct.pack("<BI", ord(kind), len(text)) + text


def test_frames_arrive_in_any_pieces() -> None:
    frames, sent = Frames(1000), _frame("D", "größer".encode()) + _frame("Z", b"")
    taken = []
    for number in range(len(sent)):
        frames.add(sent[number : number + 1])
        while (frame := frames.take()) is not None:
            taken.append(frame)
    assert taken == [Frame("D", "größer".encode()), Frame("Z", b"")]
    assert taken[0].text == "größer"


@pytest.mark.parametrize(
    ("received", "found"),
    [
        (_frame("?", b""), "no known kind"),
        (b"GET / HTTP/1.1\r\n", "no known kind"),
        (struct.pack("<BI", ord("D"), 2**32 - 1), "at most 1000"),
        (_frame("D", b"x" * 996), "an answer of more than 1000 bytes"),
    ],
)
def test_nonsense_is_refused(received: bytes, found: str) -> None:
    frames = Frames(1000)
    with pytest.raises(MalformedFrame, match=found):
        _take(frames, received)


def _take(frames: Frames, received: bytes) -> None:
    frames.add(received)
    frames.take()


def test_small_frames_without_end_are_refused() -> None:
    frames = Frames(1000)
    taking = (_take(frames, _frame("P", b"x")) for _ in range(300))
    with pytest.raises(MalformedFrame, match="more than 1000 bytes"):
        list(taking)


def test_what_belongs_to_no_answer_is_refused() -> None:
    frames = Frames(1000)
    frames.add(_frame("Z", b"") + b"Z")
    assert frames.take() is not None
    with pytest.raises(MalformedFrame, match="more than was asked for"):
        frames.begin()


def test_text_that_is_none() -> None:
    with pytest.raises(MalformedFrame, match="not UTF-8"):
        _ = Frame("D", b"\xff").text


def test_what_is_sent_is_utf_8() -> None:
    assert packed("c", "ü\ud800") == _frame("c", b"\xc3\xbc\\ud800")
