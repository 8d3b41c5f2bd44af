"""Tests of interpstack_monty.running.turns: suspensions and their answers, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interpstack import BridgeSet, GuestError, Limits, Progress, Settlement
from interpstack_monty.running import turns as module
from interpstack_monty.running.emitted import Emitted
from interpstack_monty.running.turns import SuspensionAnswers
from interpstack_monty.workers import EMIT

Offer = Callable[..., BridgeSet]


class Done:
    """The end of a cell."""


class Suspended:
    """A suspension that notes its answer, and goes on to the next one."""

    def __init__(self, following: Any) -> None:
        self.following = following
        self.answers: list[Any] = []

    def resume(self, *answer: Any) -> Any:
        self.answers.append(*answer or [None])
        return self.following

    def resume_not_handled(self) -> Any:
        self.answers.append("not handled")
        return self.following


class Name(Suspended):
    """A look-up of a name."""


class Futures(Suspended):
    """A wait for answers."""

    def __init__(self, following: Any, *pending: int) -> None:
        super().__init__(following)
        self.pending_call_ids = list(pending)


class Function(Suspended):
    """A call of the host."""

    def __init__(self, following: Any, name: str, *args: Any, call_id: int = 5) -> None:
        super().__init__(following)
        self.function_name, self.args, self.call_id = name, args, call_id
        self.is_os_function = "." in name


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, fake in {
        "MontyComplete": Done,
        "NameLookupSnapshot": Name,
        "FutureSnapshot": Futures,
        "FunctionSnapshot": Function,
    }.items():
        monkeypatch.setattr(module, name, fake)


@pytest.fixture
def turns(offer: Offer) -> SuspensionAnswers:
    made = SuspensionAnswers(Emitted(Limits(), offer("kit.echo")))
    made.clock.tell(1000.0)
    return made


class _Session:
    """A session whose code is at a suspension."""

    def __init__(self, at: Any) -> None:
        self._at = at
        self.fed: list[Any] = []

    def feed_start(self, source: str, print_callback: Any) -> Any:
        self.fed.append(source)
        print_callback("stdout", "begun")
        return self._at

    def load_snapshot(self, snapshot: bytes, print_callback: Any) -> Any:
        self.fed.append(snapshot)
        return self._at


def _stand(turns: SuspensionAnswers, at: Any) -> None:
    turns.begin(_Session(at), "source")  # type: ignore[arg-type]


def test_a_cell_runs_through_all_that_needs_no_host(turns: SuspensionAnswers) -> None:
    done = Done()
    called = Function(done, EMIT, "kit.gone", 1)
    unknown = Function(called, "no_such_function")
    asked = Function(unknown, "time.time")
    _stand(turns, Name(asked))
    assert turns.run(None) is done
    assert asked.answers == [{"return_value": 1000.0}]
    message = "name 'no_such_function' is not defined"
    assert unknown.answers == [{"exc_type": "NameError", "message": message}]
    assert called.answers[0]["exc_type"] == "RuntimeError"


def test_a_system_call_that_is_not_ours_is_left_to_monty(turns: SuspensionAnswers) -> None:
    asked = Function(Done(), "os.system", "rm")
    _stand(turns, asked)
    assert isinstance(turns.run(None), Done)
    assert asked.answers == ["not handled"]


def test_answers_arrive_one_by_one_in_the_order_of_the_host(turns: SuspensionAnswers) -> None:
    last = Futures(Done(), 11, 12)
    first = Futures(last, 11, 12)
    two = Function(first, EMIT, "kit.echo", 2, call_id=12)
    _stand(turns, Function(two, EMIT, "kit.echo", 1, call_id=11))
    assert turns.run(None) is None
    turns.settle(Settlement(id=2, text='"b"'))
    turns.settle(Settlement(id=2, text='"again"'))  # answered already
    turns.settle(Settlement(id=99, text='"nobody asked"'))
    turns.settle(Settlement(id=1, error=GuestError("ToolError", "no")))
    last.pending_call_ids = [11]
    assert isinstance(turns.run(None), Done)
    assert first.answers == [{12: {"return_value": "b"}}]
    assert last.answers == [{11: {"exc_type": "RuntimeError", "message": "ToolError: no"}}]
    assert turns.named.parts("ToolError: no") == ("ToolError", "no")


def test_nothing_runs_before_the_begin_or_beyond_the_time(turns: SuspensionAnswers) -> None:
    assert turns.run(None) is None
    name = Name(Done())
    _stand(turns, name)
    assert turns.run(0.0) is None
    assert name.answers == []
    assert isinstance(turns.run(None), Done)
    turns.leave()
    assert turns.run(None) is None


def test_a_blocking_sleep_waits_for_its_own_timer(turns: SuspensionAnswers) -> None:
    asleep = Function(Done(), "time.sleep", 2)
    _stand(turns, asleep)
    assert turns.run(None) is None
    assert turns.run(None) is None
    assert asleep.answers == []
    (timer,) = turns.emitted.drained(Progress()).requests
    assert (timer.bridge, timer.wire) == ("timer", 2000)
    turns.settle(Settlement(id=timer.id, text="null"))
    assert isinstance(turns.run(None), Done)
    assert asleep.answers == [{"return_value": None}]


def test_a_sleep_that_others_share_does_not_block(turns: SuspensionAnswers) -> None:
    asleep = Function(Futures(Done(), 5), "asyncio.sleep", 2)
    _stand(turns, asleep)
    assert turns.run(None) is None
    assert asleep.answers == [{"future": ...}]


def test_a_blocked_cell_is_blocked_elsewhere_too(turns: SuspensionAnswers, offer: Offer) -> None:
    _stand(turns, Function(Done(), "time.sleep", 2))
    turns.run(None)
    (timer,) = turns.emitted.drained(Progress()).requests
    again = SuspensionAnswers(Emitted(Limits(), offer("kit.echo")))
    again.restore(turns.to_data())
    assert again.to_data() == turns.to_data()
    asleep = Function(Done(), "time.sleep", 2)
    session = _Session(asleep)
    again.open(session, b"snapshot")  # type: ignore[arg-type]
    assert session.fed == [b"snapshot"]
    assert again.run(None) is None
    again.settle(Settlement(id=timer.id, text="null"))
    assert isinstance(again.run(None), Done)


def test_output_of_a_cell_is_emitted(turns: SuspensionAnswers) -> None:
    session = _Session(Done())
    turns.begin(session, "1")  # type: ignore[arg-type]
    assert session.fed == ["1"]
    assert turns.to_data()["text"] == "begun"
