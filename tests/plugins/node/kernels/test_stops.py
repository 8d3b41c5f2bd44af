"""Signals that are counted, and reach no other command."""

from __future__ import annotations

import json
import threading

import attrs
import pytest
from kernels import GREETING, Fake, drive, end, started

from interpstack_node.kernels.stops import Stop, Stops


@attrs.define
class Signals:
    """Counts signals that were sent."""

    count: int = 0

    def send(self) -> None:
        self.count += 1


def test_a_stop_sends_one_signal_while_its_command_runs() -> None:
    signals = Signals()
    stops = Stops(signals.send)
    stop = Stop(stops)
    stop.send()
    assert signals.count == 0
    with stop:
        stop.send()
        stop.send()
        assert signals.count == 1
        stop.renew()
        stop.send()
    stop.renew()
    stop.send()
    assert signals.count == stops.sent == 2


def test_a_stop_that_comes_late_leaves_the_next_command_alone() -> None:
    signals = Signals()
    stops = Stops(signals.send)
    first, second = Stop(stops), Stop(stops)
    with first:
        pass
    with second:
        first.send()
        assert signals.count == 0
        second.send()
    assert signals.count == 1


def test_a_command_ends_only_when_no_signal_is_being_sent() -> None:
    sending, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def send() -> None:
        sending.set()
        assert go_on.wait(60)

    stop = Stop(Stops(send))

    def run() -> None:
        with stop:
            assert sending.wait(60)
        ended.set()

    runner = threading.Thread(target=run)
    runner.start()
    while stop._stops._current is None:
        pass
    sender = threading.Thread(target=stop.send)
    sender.start()
    assert sending.wait(60)
    assert not ended.wait(0.05)
    go_on.set()
    for thread in (runner, sender):
        thread.join(60)
    assert ended.is_set()


@pytest.mark.parametrize("seen", [0, 1])
def test_a_kernel_sees_every_signal_before_the_next_command(fake_node: Fake, seen: int) -> None:
    body = f"""
import json, signal, time
signals = []
signal.signal(signal.SIGINT, lambda *signal: signals.append(signal))
{GREETING}receive(); {end()}
receive()
while not signals:
    time.sleep(0.001)
{end(seen=seen)}
commands = []
while True:
    commands.append(json.loads(receive()))
    send("D", json.dumps(commands).encode()); {end(seen=1)}
"""
    kernel = started(fake_node(body))
    stop = Stop(kernel.stops)
    talk = kernel.talk(["begin"], None, None, stop)
    next(talk)
    stop.send()
    drive(talk)
    commands = json.loads(kernel.ask("say", seconds=60).drained[0])
    assert commands == ([["say"]] if seen else [["settle", 1], ["say"]])
    assert len(json.loads(kernel.ask("say", seconds=60).drained[0])) == len(commands) + 1
    kernel.close()
