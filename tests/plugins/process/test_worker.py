"""Tests of interpstack_process.worker: the loops of a worker, in threads of this process."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from interpstack_process import worker as module
from interpstack_process.frames import Channel, Closed
from interpstack_process.worker import INTERRUPT, OUT_OF_MEMORY, CommandStream


class Ended(BaseException):
    """In place of the end of the process."""


@pytest.fixture(autouse=True)
def statuses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """With which statuses the process would have ended."""
    seen: list[int] = []

    def end(status: int) -> None:
        seen.append(status)
        raise Ended

    fakes = {"_exit": end, "dup2": lambda old, new: None, "getpid": os.getpid}
    system = SimpleNamespace(**{**vars(os), **fakes})
    monkeypatch.setattr(module, "os", system)
    return seen


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


class _Running:
    """An execution that notes interruptions."""

    def __init__(self) -> None:
        self.interrupted = 0

    def interrupt(self) -> None:
        self.interrupted += 1


def test_only_the_named_command_is_interrupted(pair: Any, statuses: list[int]) -> None:
    ours, theirs = pair
    running = _Running()
    commands = CommandStream()
    commands.serve(SimpleNamespace(running=(7, running)))  # type: ignore[arg-type]
    assert commands.begin(7)
    for number in (6, 7):
        ours.send(INTERRUPT.pack(number))
    ours.send(b"half")
    ours.shutdown(socket.SHUT_WR)
    with pytest.raises(Ended):
        module._listen(theirs, Channel(theirs, 100), commands)
    assert (running.interrupted, statuses) == (1, [0])
    ours.settimeout(0)
    with pytest.raises(BlockingIOError):
        ours.recv(1)


def test_a_command_that_has_not_begun_is_skipped_and_the_host_learns_it_once(pair: Any) -> None:
    ours, theirs = pair
    commands = CommandStream()
    running = _Running()
    assert not commands.stop(0)  # nothing serves yet
    for now in (None, (1, running)):
        commands.serve(SimpleNamespace(running=now))  # type: ignore[arg-type]
        assert not commands.stop(0)
    assert commands.begin(1)
    ours.send(INTERRUPT.pack(3) * 2)
    ours.shutdown(socket.SHUT_WR)
    with pytest.raises(Ended):
        module._listen(theirs, Channel(theirs, 100), commands)
    assert [commands.begin(number) for number in (2, 3, 4)] == [True, False, True]
    assert running.interrupted == 0
    theirs.close()
    found = Channel(ours, 100)
    assert found.receive() == ({"skipped": 3}, b"")
    with pytest.raises(Closed):
        found.receive()


def test_a_host_that_has_ended_hears_nothing(pair: Any, statuses: list[int]) -> None:
    ours, theirs = pair
    ours.send(INTERRUPT.pack(3))
    ours.close()
    with pytest.raises(Ended):
        module._listen(theirs, Channel(theirs, 100), CommandStream())
    assert statuses == [0]


@pytest.mark.parametrize(
    ("error", "status", "found"),
    [
        (Closed("gone"), 0, ""),
        (MemoryError(), OUT_OF_MEMORY, ""),
        (OSError("no library"), 1, "OSError: no library"),
        (SystemExit(5), 1, "SystemExit"),
    ],
)
def test_the_status_says_why_a_worker_has_ended(
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
    statuses: list[int],
    error: BaseException,
    status: int,
    found: str,
) -> None:
    def fail(*given: Any) -> None:
        raise error

    channel: Any = None
    monkeypatch.setattr(module, "_answer_all", fail)
    with pytest.raises(Ended):
        module._serve(channel, {}, CommandStream())
    assert statuses == [status]
    assert found in capsys.readouterr().err


def test_commands_are_answered_until_the_host_is_gone(
    pair: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    alarms: list[float] = []
    fakes = {**vars(signal), "setitimer": lambda which, seconds: alarms.append(seconds)}
    monkeypatch.setattr(module, "signal", SimpleNamespace(**fakes))
    host, worker = (Channel(each, 2**20) for each in pair)
    command = {"do": "leave", "realm": 1, "bridges": None, "leave": [], "number": 1}
    host.send({**command, "within": 2.0})
    host.send({**command, "number": 2, "within": None})
    host.send({**command, "number": 3, "within": 1.0, "leave": [1]})
    host.send({**command, "number": 4, "within": None})
    pair[0].shutdown(socket.SHUT_WR)
    commands = CommandStream()
    commands.stop(3)
    config = {"engine": ["interpstack_testing.fake:FakeEngine"], "options": {}, "keep": True}
    with pytest.raises(Closed):
        module._answer_all(worker, config, commands)
    assert [host.receive()[0] for _ in range(4)] == [
        {"ready": os.getpid()},
        {"done": None, "number": 1},
        {"done": None, "number": 2},
        {"done": None, "number": 4},
    ]
    assert alarms == [7.0, 0, 0, 0, 0, 0]


def test_an_engine_that_is_not_there_ends_the_worker(pair: Any) -> None:
    worker = Channel(pair[1], 2**20)
    config = {"engine": ["interpstack_testing.fake:NoSuchEngine"], "options": {}, "keep": True}
    with pytest.raises(AttributeError, match="NoSuchEngine"):
        module._answer_all(worker, config, CommandStream())
