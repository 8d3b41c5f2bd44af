"""Frames between two ends of a socket, one of which may be hostile."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interpstack_process.frames import Channel, Closed
from interpstack_workers import MalformedMessage

_MAX = 2**20


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Channel(ours, _MAX), theirs


def frame(text: bytes, attached: bytes = b"") -> bytes:
    return struct.pack("<QQ", len(text), len(attached)) + text + attached


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(message=_PLAIN, attached=st.binary(max_size=2000))
def test_what_is_sent_arrives(message: Any, attached: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Channel(ours, _MAX).send(message, attached)
        assert Channel(theirs, _MAX).receive() == (message, attached)


def test_more_than_a_socket_holds_arrives(ends: Any) -> None:
    channel, theirs = ends
    sent = [{"text": "x" * 500_000}, b"y" * 400_000]
    sender = threading.Thread(target=Channel(theirs, _MAX).send, args=sent)
    sender.start()
    assert list(channel.receive()) == sent
    sender.join()


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"\xff" * 16, "a frame of 36893488147419103230 bytes; at most 1048576"),
        (struct.pack("<QQ", 2**20, 1), "a frame of 1048577 bytes"),
        (struct.pack("<QQ", 1, 2**20), "a frame of 1048577 bytes"),
        (frame(b""), "text that is not JSON"),
        (frame(b"{"), "text that is not JSON"),
        (frame("é".encode()), "text that is not JSON"),
        (frame(b"[" * 200_000), "text that is not JSON"),
        (frame(b"9" * 10_000), "text that is not JSON"),
    ],
)
def test_nonsense_is_malformed(ends: Any, data: bytes, found: str) -> None:
    channel, theirs = ends
    theirs.sendall(data)
    with pytest.raises(MalformedMessage, match=found):
        channel.receive()


@pytest.mark.parametrize("cut", [0, 5, 16, 20])
def test_an_end_in_the_middle_is_reported(ends: Any, cut: int) -> None:
    channel, theirs = ends
    theirs.sendall(frame(json.dumps({"a": 1}).encode(), b"attached")[:cut])
    theirs.close()
    with pytest.raises(Closed) as caught:
        channel.receive()
    assert not caught.value.unread


def test_sending_to_nobody_is_reported(ends: Any) -> None:
    channel, theirs = ends
    theirs.close()
    with pytest.raises(Closed) as caught:
        channel.send({"a": 1})
    assert caught.value.unread


class Enough(Exception):
    pass


def enough() -> None:
    raise Enough


def test_waiting_ends_when_the_check_says_so(ends: Any) -> None:
    channel, _ = ends
    with pytest.raises(Enough):
        channel.receive(enough)
    with pytest.raises(Enough):
        channel.send({"a": "x" * 5_000_000}, b"", enough)


def test_a_channel_that_another_thread_has_closed_is_closed() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        channel = Channel(ours, 100)
        channel.close()
        with pytest.raises(Closed) as sending:
            channel.send({})
        with pytest.raises(Closed) as receiving:
            channel.receive()
    assert (sending.value.unread, receiving.value.unread) == (True, False)


def test_frames_that_come_together_are_received_one_by_one(ends: Any) -> None:
    channel, theirs = ends
    theirs.sendall(frame(b"1", b"one") + frame(b"[2]") + frame(b"3")[:16])
    assert channel.receive() == (1, b"one")
    assert channel.receive(lambda: None) == ([2], b"")
    theirs.close()
    with pytest.raises(Closed):
        channel.receive()


def test_waits_end_after_a_slice_only_where_there_is_a_check(ends: Any) -> None:
    channel, theirs = ends
    looks: list[int] = []

    def look() -> None:
        looks.append(1)
        if len(looks) == 3:
            raise KeyError("enough")

    for _ in range(2):
        looks.clear()
        with pytest.raises(KeyError):
            channel.receive(look)
        sender = threading.Timer(0.2, theirs.sendall, [frame(b"5")])
        sender.start()
        assert channel.receive() == (5, b"")
        sender.join()
