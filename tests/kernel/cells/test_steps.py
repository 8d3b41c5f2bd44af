"""Steps of a cell without a record: each call is made, each answer delivered when it comes."""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

import pytest

from interpstack import (
    Bridge,
    BridgeSet,
    Cell,
    CellContext,
    CellRun,
    Limits,
    Notification,
    Progress,
    Request,
)
from interpstack.cells.guards import Guards
from interpstack.cells.requests import Requests
from interpstack.cells.steps import StepSource


class _Clock:
    """A clock that says how much time is left."""

    def __init__(self, left: float | None) -> None:
        self.left = left

    def wall_left(self) -> float | None:
        return self.left


class _Pause(Exception):
    """The host's own business."""


async def _pause(value: Any) -> None:
    raise _Pause(value)


async def _echo(value: Any) -> Any:
    return value


async def _never(value: Any) -> None:
    await asyncio.Event().wait()


class _Heard:
    """Notes calls, in order."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    async def note(self, value: Any) -> None:
        self.values.append(value)

    async def sleep(self, value: Any) -> None:
        await asyncio.sleep(value)
        self.values.append(value)


def _steps(heard: _Heard | None = None, left: float | None = 20.0) -> StepSource:
    heard = heard or _Heard()
    bridges = (
        Bridge(name="a.echo", handler=_echo, raw=True),
        Bridge(name="a.never", handler=_never, raw=True),
        Bridge(name="a.pause", handler=_pause, raw=True, passes=(_Pause,)),
        Bridge(name="a.note", handler=heard.note, raw=True, awaited=False),
        Bridge(name="a.slow", handler=heard.sleep, raw=True, awaited=False),
        Bridge(name="a.print", handler=heard.note, raw=True, awaited=False, repeats=True),
    )
    cell, steps = Cell(source="", seed=7), StepSource()
    requests = Requests(
        bridges=BridgeSet({bridge.name: bridge for bridge in bridges}),
        limits=Limits(),
        context=CellContext("s", cell),
        resolve_module=lambda specifier: None,
        guards=Guards(),
        earlier=steps.earlier,
        grace=steps.grace,
    )
    clock: Any = _Clock(left)
    steps.begin(CellRun(realm=None, requests=requests, context=requests.context, clock=clock))  # type: ignore[arg-type]
    return steps


async def test_calls_are_delivered_in_order_before_requests_start() -> None:
    heard = _Heard()
    steps = _steps(heard)
    await steps.take(
        Progress(
            notifications=[
                Notification("a.note", 1),
                Notification("a.gone", 2),
                Notification("a.echo", 3),
                Notification("a.note", 4),
            ],
            requests=[Request(1, "a.echo", 5), Request(2, "a.never", 6)],
        )
    )
    assert heard.values == [1, 4]  # not what is unknown, nor what would have to be awaited
    assert [request.id for request in steps.outstanding] == [1, 2]
    await steps.run.requests.close()


async def test_a_step_has_all_answers_that_have_come() -> None:
    steps = _steps()
    await steps.take(Progress(requests=[Request(n, "a.echo", n) for n in (1, 2, 3)]))
    step = await steps.next()
    assert step is not None
    assert [(s.id, s.text) for s in step.settlements] == [(1, "1"), (2, "2"), (3, "3")]
    assert await steps.next() is None  # nothing is open any more


async def test_a_cancelled_request_gets_no_answer() -> None:
    steps = _steps()
    await steps.take(Progress(requests=[Request(1, "a.never", 0), Request(2, "a.echo", 0)]))
    await steps.take(Progress(cancelled=[1, 99]))
    step = await steps.next()
    assert step is not None
    assert [settlement.id for settlement in step.settlements] == [2]
    assert await steps.next() is None


async def test_without_time_there_is_no_step() -> None:
    steps = _steps(left=0.01)
    await steps.take(Progress(requests=[Request(1, "a.never", 0)]))
    assert await steps.next() is None
    assert [request.id for request in steps.outstanding] == [1]  # it is still open
    await steps.run.requests.close()


async def test_an_exception_of_the_hosts_own_leaves_the_step() -> None:
    steps = _steps()
    await steps.take(Progress(requests=[Request(1, "a.pause", "why"), Request(2, "a.echo", 0)]))
    with pytest.raises(_Pause, match="why"):
        await steps.next()


async def test_a_late_call_has_some_seconds_all_the_same() -> None:
    heard = _Heard()
    steps = _steps(heard, left=-3.0)
    await steps.take(Progress(notifications=[Notification("a.slow", 0.01)]))
    assert heard.values == [0.01]


async def test_of_a_stopped_guest_only_output_is_delivered() -> None:
    heard = _Heard()
    steps = _steps(heard)
    await steps.stopped(
        [Notification("a.note", 1), Notification("a.print", 2), Notification("a.gone", 3)]
    )
    assert heard.values == [2]


async def test_the_guest_computes_once_in_each_step() -> None:
    ran: list[int] = []

    async def guest() -> Progress:
        ran.append(1)
        return Progress(cpu_seconds=2.0)

    steps = _steps()
    assert (await steps.compute(guest)).cpu_seconds == 2.0
    assert ran == [1]
    assert not steps.records
    assert await steps.open(frozenset()) is None
    assert await steps.earlier(Request(1, "a.echo", 0)) is None


async def test_a_source_lets_go_of_a_run_that_has_ended() -> None:
    steps = _steps()
    run = weakref.ref(steps.run)
    steps.ended()
    assert run() is None
    steps.ended()  # a source of another author may never have had one
