"""Tests of interpstack_process.processes.loop_asker; a socket stands for the worker process."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from interpstack import EngineFailure
from interpstack_process.frames import Channel, Closed
from interpstack_process.processes.loop_asker import LoopAsker, Watches, running_loop
from interpstack_process.processes.round_trips import WorkerRoundTrip
from interpstack_process.processes.timeouts import CommandDeadline
from interpstack_process.processes.turns import CommandQueue, ThreadAsker
from interpstack_workers import MalformedMessage, WorkerAnswer, WorkerDied

_MAX = 2**24


class Worker:
    """Both sides of a connection, with commands by number."""

    def __init__(self, ours: socket.socket, theirs: socket.socket) -> None:
        self.turns, self.watches = CommandQueue(), Watches()
        self.channel, self.theirs = Channel(ours, _MAX), Channel(theirs, _MAX)
        self.ended = False
        self.heard: list[str] = []
        self.interruptions: list[int] = []
        self.failures: list[BaseException] = []
        self._number = 0

    def interrupt(self, number: int) -> None:
        self.interruptions.append(number)

    def check(self) -> None:
        if self.ended:
            raise WorkerDied("it ended", unread=True)

    def failure(self, error: BaseException) -> BaseException:
        self.failures.append(error)
        if isinstance(error, (Closed, MalformedMessage)):
            self.ended = True
            return WorkerDied("it ended", unread=getattr(error, "unread", False))
        return error

    def submit(
        self,
        attached: bytes = b"",
        *,
        seconds: float | None = 30.0,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> asyncio.Future[WorkerAnswer | None]:
        def start() -> WorkerRoundTrip:
            self.check()
            self._number += 1
            watch = CommandDeadline(self, self._number, seconds, 0.1, interrupted)
            round_trip = WorkerRoundTrip(self.channel, self._number, watch, self.heard.append)
            round_trip.start({"number": self._number}, attached)
            return round_trip

        return asyncio.wrap_future(LoopAsker(self, start, interrupted).ask())

    def received(self) -> int:
        """The number of the next command."""
        found, _ = self.theirs.receive()
        return int(found["number"])

    def answer(self, number: int, **more: Any) -> None:
        self.theirs.send({"number": number, **more})


@pytest.fixture
def worker() -> Iterator[Worker]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Worker(ours, theirs)


def _done(answer: WorkerAnswer | None) -> Any:
    assert answer is not None
    return answer.message["done"]


async def _within(future: Any, seconds: float = 5.0) -> Any:
    return await asyncio.wait_for(future, seconds)


async def test_answers_come_with_no_thread(worker: Worker) -> None:
    before = threading.active_count()
    first, second = worker.submit(), worker.submit()
    assert [worker.received(), worker.received()] == [1, 2]  # the second one was sent ahead
    worker.theirs.send({"printed": "hi", "number": 1})
    worker.answer(1, done="one")
    worker.answer(2, done="two")
    assert [_done(await _within(one)) for one in (first, second)] == ["one", "two"]
    assert (worker.heard, threading.active_count()) == (["hi"], before)
    assert not worker.turns.taken
    assert not worker.watches.active


def _serve(worker: Worker, sizes: list[int]) -> None:
    """Answer commands, until the connection ends, with their numbers."""
    while True:
        try:
            found, attached = worker.theirs.receive()
        except Closed:
            return
        sizes.append(len(attached))
        worker.answer(found["number"], done=found["number"])


@pytest.fixture
def sizes(worker: Worker) -> Iterator[list[int]]:
    """Sizes of the attachments that a worker, which answers everything, has received."""
    sizes: list[int] = []
    server = threading.Thread(target=_serve, args=(worker, sizes))
    server.start()
    yield sizes
    worker.channel._socket.shutdown(socket.SHUT_RDWR)
    server.join()


@pytest.mark.usefixtures("sizes")
async def test_many_commands_wait_for_each_other(worker: Worker) -> None:
    asked = [worker.submit() for _ in range(2000)]
    assert [_done(await _within(one)) for one in asked] == [*range(1, 2001)]
    assert not worker.turns.taken


async def test_a_command_that_was_not_sent_is_withdrawn(worker: Worker) -> None:
    stop = threading.Event()
    asked = [worker.submit() for _ in range(4)]
    last = worker.submit(interrupted=stop.is_set)
    stop.set()
    assert await _within(last) is None
    for number in range(1, 5):
        assert worker.received() == number
        worker.answer(number, done=number)
    assert [_done(await _within(one)) for one in asked] == [1, 2, 3, 4]
    assert worker.interruptions == []


async def test_a_command_that_was_sent_ahead_is_skipped(worker: Worker) -> None:
    stop = threading.Event()
    first, second, third = worker.submit(), worker.submit(interrupted=stop.is_set), worker.submit()
    stop.set()
    await asyncio.sleep(0.12)
    assert set(worker.interruptions) == {2}
    worker.theirs.send({"skipped": 2})
    assert await _within(second) is None
    assert not first.done()
    worker.answer(1, done=1)
    worker.answer(3, done=3)
    assert [_done(await _within(one)) for one in (first, third)] == [1, 3]


@pytest.mark.parametrize("behind", [False, True])
async def test_a_command_that_is_half_sent_is_sent_to_its_end_before_it_is_skipped(
    worker: Worker, behind: bool
) -> None:
    stop = threading.Event()
    asked = [worker.submit()] if behind else []
    number = len(asked) + 1
    large = worker.submit(b"x" * 5_000_000, interrupted=stop.is_set)
    stop.set()
    await asyncio.sleep(0.12)
    worker.theirs.send({"skipped": number} if not behind else {"number": 1, "done": 1})
    await asyncio.sleep(0.12)
    assert not large.done()
    received: list[Any] = []
    reader = threading.Thread(
        target=lambda: received.extend(worker.theirs.receive() for _ in range(number))
    )
    reader.start()
    if behind:
        assert _done(await _within(asked[0])) == 1
        while 2 not in worker.interruptions:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        worker.theirs.send({"skipped": 2})
    assert await _within(large) is None
    reader.join()
    assert len(received[-1][1]) == 5_000_000
    last = worker.submit()
    assert worker.received() == number + 1
    worker.answer(number + 1, done="last")
    assert _done(await _within(last)) == "last"


async def test_a_command_may_lead_when_it_is_skipped(worker: Worker) -> None:
    stop = threading.Event()
    first, second = worker.submit(), worker.submit(interrupted=stop.is_set)
    third = worker.submit()
    worker.answer(1, done=1)
    worker.theirs.send({"skipped": 2})
    worker.answer(3, done=3)
    assert await _within(second) is None
    assert [_done(await _within(one)) for one in (first, third)] == [1, 3]


async def test_a_command_that_began_meanwhile_is_interrupted(worker: Worker) -> None:
    stop = threading.Event()
    first, second = worker.submit(), worker.submit(interrupted=stop.is_set)
    stop.set()
    worker.answer(1, done=1)
    await _within(first)
    await asyncio.sleep(0.12)
    assert set(worker.interruptions) == {2}
    worker.answer(2, done=2)
    assert _done(await _within(second)) == 2


async def test_the_time_of_a_command_begins_when_it_leads(worker: Worker) -> None:
    first, second = worker.submit(), worker.submit(seconds=0.3)
    await asyncio.sleep(0.5)
    worker.answer(1, done=1)
    worker.answer(2, done=2)
    assert [_done(await _within(one)) for one in (first, second)] == [1, 2]


async def test_a_command_that_takes_too_long_ends_the_worker(worker: Worker) -> None:
    first, second, third = (worker.submit(seconds=0.05) for _ in range(3))
    with pytest.raises(WorkerDied) as late:
        await _within(first)
    assert not late.value.unread
    for behind in (second, third):
        with pytest.raises(WorkerDied) as unread:
            await _within(behind)
        assert unread.value.unread
    assert len(worker.failures) == 1
    with pytest.raises(WorkerDied):
        await _within(worker.submit())
    assert not worker.turns.taken


@pytest.mark.parametrize(
    "found", [{"number": 9, "done": 1}, {"number": 1, "error": "no"}, "?", {"skipped": 3}]
)
async def test_a_worker_that_sends_something_else_is_ended(worker: Worker, found: Any) -> None:
    first, second = worker.submit(), worker.submit()
    worker.theirs.send(found)
    with pytest.raises(WorkerDied):
        await _within(first)
    with pytest.raises(WorkerDied) as unread:
        await _within(second)
    assert unread.value.unread
    assert isinstance(worker.failures[0], MalformedMessage)


async def test_a_worker_that_dies_takes_only_the_command_it_carried_out(
    worker: Worker,
) -> None:
    first, second, third = (worker.submit() for _ in range(3))
    worker.answer(1, done=1)
    worker.theirs.close()
    assert _done(await _within(first)) == 1
    found = []
    for one in (second, third):
        with pytest.raises(WorkerDied) as died:
            await _within(one)
        found.append(died.value.unread)
    assert found == [False, True]


async def test_refusals_and_errors_of_the_sender_reach_the_caller(worker: Worker) -> None:
    refused = worker.submit()
    worker.answer(1, error=["EngineFailure", "no"])
    with pytest.raises(EngineFailure, match="no"):
        await _within(refused)
    with pytest.raises(TypeError):
        await _within(worker.submit(attached=object()))  # type: ignore[arg-type]
    assert not worker.turns.taken


async def test_large_commands_are_sent_in_parts(worker: Worker, sizes: list[int]) -> None:
    before = [0, 5_000_000, 0, 1, 3_000_000, 3_000_000, 0]
    asked = [worker.submit(b"x" * size) for size in before]
    assert [_done(await _within(one)) for one in asked] == [*range(1, 8)]
    assert sizes == before
    assert not worker.turns.taken


async def test_a_large_answer_is_received_in_parts(worker: Worker) -> None:
    first = worker.submit()
    sender = threading.Thread(
        target=worker.theirs.send, args=({"number": 1, "done": 1}, b"x" * 5_000_000)
    )
    sender.start()
    answer = await _within(first)
    assert answer is not None
    assert len(answer.attached) == 5_000_000
    sender.join()


def _ask_in_thread(worker: Worker) -> float:
    """Seconds until a thread has its turn."""
    asker, begun = ThreadAsker(), time.monotonic()
    worker.turns.take(asker)
    while not asker.wait(0.05):
        worker.turns.look()
        assert time.monotonic() < begun + 5.0
    worker.turns.give_back(asker)
    return time.monotonic() - begun


async def test_others_go_on_while_the_loop_of_a_command_is_held_up(worker: Worker) -> None:
    first, second = worker.submit(), worker.submit()
    worker.answer(1, done=1)
    worker.answer(2, done=2)
    other = threading.Thread(target=_ask_in_thread, args=(worker,))
    other.start()
    other.join(3.0)  # in the loop's thread
    assert not other.is_alive()
    assert [_done(await _within(one)) for one in (first, second)] == [1, 2]
    assert not worker.watches.active
    again = worker.submit()
    worker.answer(3, done=3)
    assert _done(await _within(again)) == 3


@pytest.mark.parametrize("close", [True, False])
def test_others_go_on_after_the_loop_of_a_command_has_ended(worker: Worker, close: bool) -> None:
    loop = asyncio.new_event_loop()

    async def leave() -> list[Any]:
        return [worker.submit(), worker.submit(b"x" * 5_000_000)]

    left = loop.run_until_complete(leave())
    if close:
        loop.close()
    worker.answer(1, done=1)

    def read() -> None:
        for _ in range(2):
            worker.theirs.receive()
        worker.answer(2, done=2)

    reader = threading.Thread(target=read)
    reader.start()
    _ask_in_thread(worker)
    reader.join()
    assert not worker.watches.active

    async def ask_again() -> Any:
        again = worker.submit()
        worker.answer(3, done=3)
        return _done(await _within(again))

    assert asyncio.run(ask_again()) == 3
    if not close:
        assert [_done(one) for one in loop.run_until_complete(asyncio.gather(*left))] == [1, 2]
        loop.close()


@pytest.mark.usefixtures("sizes")
def test_loops_take_turns(worker: Worker) -> None:
    async def ask() -> list[int]:
        found = []
        for _ in range(100):
            asked = [worker.submit() for _ in range(3)]
            found += [_done(await _within(one)) for one in asked]
        return found

    found: list[int] = []
    askers = [threading.Thread(target=lambda: found.extend(asyncio.run(ask()))) for _ in range(3)]
    for thread in askers:
        thread.start()
    for thread in askers:
        thread.join()
    assert sorted(found) == [*range(1, 901)]


async def test_a_running_loop_is_that_of_the_thread() -> None:
    assert running_loop() is asyncio.get_running_loop()
    assert await asyncio.to_thread(running_loop) is None
