"""One command to a worker and the messages that follow it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from interpstack import EngineFailure
from interpstack_process.frames import Channel, Closed
from interpstack_process.processes.round_trips import Skipped, WorkerRoundTrip
from interpstack_workers import MalformedMessage, WorkerAnswer

_MAX = 2**24


class Ends:
    """A round trip of a command with number 7, and its worker's end."""

    def __init__(self, ours: socket.socket, theirs: socket.socket) -> None:
        self.worker = Channel(theirs, _MAX)
        self.socket = theirs
        self.heard: list[str] = []
        self.looks = 0
        watch: Any = self._watch
        self.round_trip = WorkerRoundTrip(Channel(ours, _MAX), 7, watch, self.heard.append)

    def _watch(self) -> None:
        self.looks += 1
        if self.looks > 3:
            raise Closed("enough")


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Ends(ours, theirs)


def test_output_and_the_answer_come_in_order_with_and_without_waiting(ends: Ends) -> None:
    for wait in (True, False):
        ends.heard.clear()
        ends.worker.send({"printed": "of before", "number": 6})
        ends.worker.send({"printed": "one", "number": 7})
        ends.worker.send({"done": 1, "number": 7}, b"attached")
        if wait:
            answer = ends.round_trip.wait({"do": "x"}, b"with it")
        else:
            ends.round_trip.start({"do": "x"}, b"with it")
            assert not ends.round_trip.sending
            found = ends.round_trip.receive()
            assert isinstance(found, WorkerAnswer)
            answer = found
        assert answer is not None
        assert (answer.message, answer.attached, ends.heard) == ({"done": 1}, b"attached", ["one"])
        assert ends.worker.receive() == ({"do": "x"}, b"with it")


def test_what_does_not_fit_at_once_is_sent_later(ends: Ends) -> None:
    attached = b"x" * 3_000_000
    ends.round_trip.start({"do": "x"}, attached)
    assert ends.round_trip.sending
    ends.socket.setblocking(False)
    received = b""
    while ends.round_trip.sending or len(received) < len(attached):
        try:
            received += ends.socket.recv(2**20)
        except BlockingIOError:
            assert ends.round_trip.sending
        ends.round_trip.send()
    assert received.endswith(attached)


def test_parts_of_an_answer_are_none(ends: Ends) -> None:
    theirs, ours = socket.socketpair()
    with theirs, ours:
        Channel(ours, _MAX).send({"done": "x" * 40_000, "number": 7})
        data = theirs.recv(2**20)
    ends.round_trip.start({}, b"")
    for part in (data[:5], data[5:100], data[100:-1]):
        ends.socket.sendall(part)
        assert ends.round_trip.receive() is None
    assert ends.round_trip.has_more
    ends.socket.sendall(data[-1:])
    answer = None
    while answer is None:
        answer = ends.round_trip.receive()
    assert isinstance(answer, WorkerAnswer)
    assert answer.message == {"done": "x" * 40_000}
    assert not ends.round_trip.has_more
    assert ends.round_trip.receive() is None


@pytest.mark.parametrize(
    "found",
    [
        [],
        {"printed": 5, "number": 7},
        {"done": 1, "number": 6},
        {"done": 1, "number": True},
        {"done": 1},
        {"error": "no", "number": 7},
        {"skipped": "7"},
        {"skipped": True},
    ],
)
def test_other_messages_are_malformed(ends: Ends, found: Any) -> None:
    ends.worker.send(found)
    with pytest.raises(MalformedMessage):
        ends.round_trip.receive()


def test_skipped_commands_are_reported_by_their_number(ends: Ends) -> None:
    ends.worker.send({"skipped": 8})
    ends.worker.send({"skipped": 7})
    assert [ends.round_trip.receive() for _ in range(2)] == [Skipped(8), Skipped(7)]
    ends.worker.send({"skipped": 7})
    assert ends.round_trip.wait({"do": "x"}, b"") is None
    ends.worker.send({"skipped": 8})
    with pytest.raises(MalformedMessage, match="skipped another command"):
        ends.round_trip.wait({"do": "x"}, b"")


def test_a_refusal_is_raised(ends: Ends) -> None:
    ends.worker.send({"error": ["EngineFailure", "no"], "number": 7})
    with pytest.raises(EngineFailure, match="no"):
        ends.round_trip.receive()


def test_a_worker_that_talks_for_ever_is_watched(ends: Ends) -> None:
    for _ in range(10):
        ends.worker.send({"printed": "more", "number": 7})
    with pytest.raises(Closed, match="enough"):
        ends.round_trip.wait({"do": "x"}, b"")
    assert ends.heard == ["more"] * 3 + ["more"]


def test_the_end_of_the_worker_is_reported(ends: Ends) -> None:
    ends.round_trip.start({}, b"")
    ends.socket.close()
    with pytest.raises(Closed):
        ends.round_trip.receive()
    with pytest.raises(Closed) as unread:
        ends.round_trip.start({}, b"")
    assert unread.value.unread
