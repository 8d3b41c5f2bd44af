"""Tests of interpstack_process.processes.workers; a thread stands for the process."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from typing import Any

import psutil
import pytest

from interpstack import ConfigurationError, EngineFailure, ImageError
from interpstack_process.frames import Channel, Closed
from interpstack_process.processes import workers as module
from interpstack_process.processes.launch import WorkerConfig
from interpstack_process.processes.turns import ThreadAsker
from interpstack_process.processes.workers import WorkerProcess
from interpstack_process.worker import INTERRUPT
from interpstack_workers import Command, WorkerDied

#: The id of no process on any system.
NOBODY = 2**30
CONFIG = WorkerConfig(
    python="", environment={}, message={"engine": "x"}, max_bytes=2**20, grace_seconds=0.2
)
Talk = Callable[["Process"], None]


class Process:
    """What the host sees of a process, and the other ends of its sockets."""

    pid = NOBODY

    def __init__(self, commands: int, control: int, talk: Talk) -> None:
        self.commands = Channel(socket.socket(fileno=os.dup(commands)), 2**20)
        self.control = socket.socket(fileno=os.dup(control))
        self.stderr = BytesIO(b"Traceback\nOSError: no library\n")
        self.returncode = 0
        self.status = 0
        self.hangs = False
        self.number: int | None = None
        self._thread = threading.Thread(target=self._run, args=(talk,))
        self._thread.start()

    def _run(self, talk: Talk) -> None:
        with suppress(Closed):  # the host may end it at any moment
            talk(self)
        self.end()

    def end(self) -> None:
        self.commands.close()
        self.control.close()

    def wait(self, seconds: float) -> int:
        if self.hangs:
            raise subprocess.TimeoutExpired("worker", seconds)
        return self.status

    def receive(self) -> dict[str, Any]:
        found, _ = self.commands.receive()
        self.number = found.get("number")
        return dict(found)

    def answer(self, **message: Any) -> None:
        self.commands.send({"number": self.number, **message})


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Talk], Any]]:
    """Start a worker that talks like this."""
    made: list[Any] = []

    def launched(talk: Talk) -> Any:
        def launch(config: WorkerConfig, commands: int, control: int) -> Any:
            return Process(commands, control, talk)

        monkeypatch.setattr(module, "launch", launch)
        ended: list[Any] = []
        worker: Any = WorkerProcess(CONFIG, ended.append)
        worker.told_of_end = ended
        made.append(worker)
        return worker

    yield launched
    for worker in made:
        worker.end("was ended by the test")
        worker.join()
        worker.process._thread.join()


def _ready(process: Process) -> None:
    assert process.receive() == {"engine": "x"}
    process.answer(ready=NOBODY)


def _answering(*answers: dict[str, Any]) -> Talk:
    """Greet, answer commands, and wait for the end."""

    def talk(process: Process) -> None:
        _ready(process)
        for answer in answers:
            process.receive()
            process.answer(**answer)
        process.control.recv(1)

    return talk


def test_a_command_has_a_number_and_its_answer(start: Any) -> None:
    seen: list[dict[str, Any]] = []

    def talk(process: Process) -> None:
        _ready(process)
        for _ in range(2):
            seen.append(process.receive())
            process.answer(done=len(seen))
        process.control.recv(1)

    worker = start(talk)
    worker.realms |= {7, 8}
    worker.leave(7)
    assert not worker.busy
    assert [worker.ask(Command({"do": "x"}, seconds=5.0)).message["done"] for _ in range(2)] == [
        1,
        2,
    ]
    assert [one["number"] for one in seen] == [1, 2]
    assert [one["leave"] for one in seen] == [[7], []]
    assert seen[0]["within"] == 5.2  # with its grace
    assert (worker.realms, worker.ready) == ({8}, True)


def test_output_comes_before_the_answer(start: Any) -> None:
    def talk(process: Process) -> None:
        _ready(process)
        process.receive()
        process.answer(printed="hi", number=1)
        process.answer(printed="of an earlier command", number=0)
        process.answer(done=1)
        process.control.recv(1)

    worker = start(talk)
    worker.realms.add(7)
    heard: list[str] = []
    worker.ask(Command({"do": "x"}, seconds=5.0, hear=heard.append))
    assert heard == ["hi"]


@pytest.mark.parametrize(
    "kind", [ConfigurationError, EngineFailure, ImageError, NotImplementedError]
)
def test_refusals_of_the_engine_leave_the_worker_alive(start: Any, kind: type[Exception]) -> None:
    worker = start(_answering({"error": [kind.__name__, "no"]}, {"done": 5}))
    with pytest.raises(kind, match="no"):
        worker.ask(Command({"do": "x"}, seconds=5.0))
    assert worker.ask(Command({"do": "x"}, seconds=5.0)).message == {"done": 5}


@pytest.mark.parametrize(
    "answer",
    [
        {"error": "no"},
        {"error": ["SystemExit", "no"]},
        {"error": ["EngineFailure", 5]},
        {"error": ["EngineFailure", "x" * 20_001]},
        {"printed": 5, "number": 1},
        {"done": 1, "number": 0},
        {"done": 1, "number": 2},
        {"done": 1, "number": True},
        {"done": 1, "number": None},
    ],
)
def test_answers_of_another_form_end_the_worker(start: Any, answer: dict[str, Any]) -> None:
    worker = start(_answering(answer))
    worker.realms.add(7)
    with pytest.raises(WorkerDied, match="was killed because it sent") as died:
        worker.ask(Command({"do": "x"}, seconds=5.0))
    assert not died.value.unread
    assert (worker.ended, worker.told_of_end) == (True, [worker])
    with pytest.raises(WorkerDied) as again:
        worker.ask(Command({"do": "x"}, seconds=5.0))
    assert again.value.unread
    assert str(again.value) == str(died.value)


def test_a_second_answer_is_not_taken_for_that_of_the_next_command(start: Any) -> None:
    def talk(process: Process) -> None:
        _ready(process)
        process.receive()
        process.answer(done="first")
        process.answer(done="again")
        process.receive()
        process.answer(done="second")
        process.control.recv(1)

    worker = start(talk)
    assert worker.ask(Command({"do": "x"}, seconds=5.0)).message == {"done": "first"}
    with pytest.raises(WorkerDied, match="was killed because it sent an answer to another command"):
        worker.ask(Command({"do": "x"}, seconds=5.0))


def test_an_answer_that_does_not_come_ends_the_worker(start: Any) -> None:
    worker = start(_answering())
    with pytest.raises(WorkerDied, match="did not answer within") as died:
        worker.ask(Command({"do": "x"}, seconds=0.01))
    assert died.value.late


def test_a_worker_that_fails_to_start_says_the_last_it_wrote(start: Any) -> None:
    def talk(process: Process) -> None:
        process.commands.close()
        process.control.recv(1)  # so that nobody notices before the first command

    worker = start(talk)
    with pytest.raises(WorkerDied, match=r"while it started \(OSError: no library\)") as died:
        worker.ask(Command({"do": "x"}, seconds=5.0))
    assert died.value.unread


def test_another_greeting_is_refused(start: Any) -> None:
    def talk(process: Process) -> None:
        process.answer(hello=1)
        process.control.recv(1)

    worker = start(talk)
    with pytest.raises(WorkerDied, match="a message that is not a greeting"):
        worker.ask(Command({"do": "x"}, seconds=5.0))


def test_a_worker_that_uses_the_control_connection_is_ended(start: Any) -> None:
    def talk(process: Process) -> None:
        process.control.send(b"x")
        process.control.recv(1)

    worker = start(talk)
    worker.join()
    assert worker.reason == "the worker process was killed because it used the control connection"


def test_an_interruption_names_the_command(start: Any) -> None:
    found: list[bytes] = []

    def talk(process: Process) -> None:
        _ready(process)
        process.receive()
        found.append(process.control.recv(INTERRUPT.size, socket.MSG_WAITALL))
        process.answer(done=1)
        process.control.recv(1)

    worker = start(talk)
    worker.ask(Command({"do": "x"}, seconds=5.0, interrupted=lambda: True))
    assert found == [INTERRUPT.pack(1)]


def test_a_command_waits_for_those_of_others_unless_it_is_interrupted(start: Any) -> None:
    worker = start(_answering({"done": 1}))
    other = ThreadAsker()
    worker.turns.take(other)
    assert worker.busy
    assert worker.ask(Command({"do": "x"}, seconds=5.0, interrupted=lambda: True)) is None
    worker.turns.give_back(other)
    assert not worker.busy
    assert worker.ask(Command({"do": "x"}, seconds=5.0)).message == {"done": 1}


async def test_a_ready_worker_is_asked_on_event_loops(start: Any) -> None:
    worker = start(_answering(*({"done": n} for n in range(4)), {"error": ["ImageError", "no"]}))
    assert worker.submit(Command({"do": "x"}, seconds=5.0)) is None  # it must greet first
    assert worker.ask(Command({"do": "x"}, seconds=5.0)).message == {"done": 0}
    asked = [
        asyncio.wrap_future(worker.submit(Command({"do": "x"}, seconds=5.0))) for _ in range(3)
    ]
    assert [(await one).message["done"] for one in asked] == [1, 2, 3]
    with pytest.raises(ImageError, match="no"):
        await asyncio.wrap_future(worker.submit(Command({"do": "x"}, seconds=5.0)))
    assert await asyncio.to_thread(worker.submit, Command({"do": "x"}, seconds=5.0)) is None
    assert not worker.busy
    worker.end("was killed")
    with pytest.raises(WorkerDied) as died:
        await asyncio.wrap_future(worker.submit(Command({"do": "x"}, seconds=5.0)))
    assert died.value.unread


def test_a_command_that_cannot_be_sent_ends_the_worker(start: Any) -> None:
    worker = start(_answering())
    with pytest.raises(TypeError):
        worker.ask(Command({"do": object()}, seconds=5.0))
    assert "a command could not be sent" in worker.reason


def test_a_process_that_does_not_end_is_reported(start: Any) -> None:
    worker = start(_answering())
    worker.process.hangs = True
    worker.end(None)
    assert worker.reason == "the worker process cannot be ended"
    worker.process.hangs = False


def test_a_disowned_worker_is_not_touched(start: Any) -> None:
    worker = start(_answering())
    worker.disown()
    worker.end("was killed")
    assert worker.reason == "the worker process belongs to another process"
    assert worker.told_of_end == []
    with suppress(OSError):  # it is closed, if the worker's thread was quick
        worker.process.control.shutdown(socket.SHUT_RDWR)  # else it would wait for ever


def test_no_process_leaves_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> Any:
        raise EngineFailure("no worker process can be started: no memory")

    monkeypatch.setattr(module, "launch", fail)
    before = psutil.Process().num_fds()
    with pytest.raises(EngineFailure, match="no memory"):
        WorkerProcess(CONFIG, lambda worker: None)
    assert psutil.Process().num_fds() == before
