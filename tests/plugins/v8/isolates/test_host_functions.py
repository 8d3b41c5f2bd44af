"""What the thread of an isolate calls, and what it leaves."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future

from interpstack_v8.isolates.host_functions import GuestAnswer, HostFunctions


def test_output_is_recorded_and_heard() -> None:
    heard: list[str] = []
    host = HostFunctions()
    record = host.by_name()["record"]
    record("early")
    host.begin_output(heard.append)
    record("one")
    record("two")
    assert (host.recorded, heard) == (["one", "two"], ["one", "two"])


def test_an_answer_is_delivered_once() -> None:
    host, answer = HostFunctions(), Future[GuestAnswer]()
    host.answer_to(answer)
    tell = host.by_name()["deliver"]
    tell("first", 1.0, 2.0)
    tell("second", 3.0, 4.0)
    assert answer.result(0) == GuestAnswer("first", 1, 2)


def test_a_parked_thread_goes_on_when_it_is_woken() -> None:
    host = HostFunctions()
    thread = threading.Thread(target=host.by_name()["park"])
    thread.start()
    host.wake()
    thread.join(30)
    assert not thread.is_alive()


def test_the_time_is_that_of_the_thread_that_was_met() -> None:
    host = HostFunctions()
    host.by_name()["meet"]()
    if hasattr(time, "pthread_getcpuclockid"):
        assert host.cpu_seconds <= time.process_time()
