"""Requests of a cell: started at once, each answered once, none left behind."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from interpstack import (
    Bridge,
    BridgeSet,
    Cell,
    CellContext,
    GuestError,
    Limits,
    ModuleBundle,
    Request,
    Settlement,
)
from interpstack.cells.guards import Guards
from interpstack.cells.requests import Requests
from interpstack.cells.steps import StepSource


class _Own(Exception):
    """An exception for the host."""


def _requests(*bridges: Bridge, names: Any = None, **options: Any) -> Requests:
    cell = Cell(source="", seed=0xAB)
    offer = BridgeSet({one.name: one for one in bridges}, error_names=names or {})
    options = {"resolve_module": lambda specifier: None, "limits": Limits(), **options}
    source = {"earlier": StepSource().earlier, "grace": StepSource().grace}
    options = {"guards": Guards(), **source, **options}
    return Requests(bridges=offer, context=CellContext("s", cell), **options)


def _bridge(handler: Callable[..., Any], name: str = "a.b", **options: Any) -> Bridge:
    return Bridge(name=name, handler=handler, raw=True, **options)


async def _same(value: Any) -> Any:
    return value


async def _answers(requests: Requests, *asked: Request) -> list[Settlement]:
    for request in asked:
        requests.start(request)
    found: list[Settlement] = []
    while not requests.idle:
        assert await requests.wait(20)
        found += requests.take_settled()
    return found


async def _until(holds: Callable[[], object]) -> None:
    while not holds():  # noqa: ASYNC110 - what it waits for has no event of its own
        await asyncio.sleep(0)


class _Gate:
    """A handler that waits, and counts who is inside."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.inside = self.most = self.ended = 0

    async def __call__(self, value: Any) -> Any:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.open.wait()
        finally:
            self.inside -= 1
            self.ended += 1
        return value


async def test_answers_have_the_ids_of_their_requests_in_the_order_in_which_they_came() -> None:
    gate = _Gate()
    requests = _requests(_bridge(gate, "a.slow"), _bridge(_same))
    requests.start(Request(1, "a.slow", "late"))
    requests.start(Request(2, "a.b", "soon"))
    assert await requests.wait(20)
    (first,) = requests.take_settled()
    gate.open.set()
    assert await requests.wait(20)
    (second,) = requests.take_settled()
    assert [(s.id, s.text) for s in (first, second)] == [(2, '"soon"'), (1, '"late"')]
    assert requests.idle


async def test_no_more_than_the_limit_run_at_once_and_all_are_answered() -> None:
    gate = _Gate()
    requests = _requests(_bridge(gate), limits=Limits(concurrency=3))
    for number in range(1, 11):
        requests.start(Request(number, "a.b", number))
    await _until(lambda: gate.inside >= 3)
    gate.open.set()
    assert len(await _answers(requests)) == 10
    assert gate.most == 3


async def test_a_bridge_with_a_limit_of_its_own_holds_nobody_else_up() -> None:
    gate = _Gate()
    requests = _requests(_bridge(gate, "a.one", concurrency=1), _bridge(_same))
    for number in (1, 2):
        requests.start(Request(number, "a.one", number))
    requests.start(Request(3, "a.b", 3))
    assert await requests.wait(20)
    assert [s.id for s in requests.take_settled()] == [3]
    assert set(requests.begun) == {1, 3}
    gate.open.set()
    assert [s.id for s in await _answers(requests)] == [1, 2]
    assert gate.most == 1


async def test_a_request_has_the_same_key_in_every_run() -> None:
    keys: list[str] = []

    async def note(value: Any, context: CellContext) -> None:
        keys.append(context.call_key)
        assert context.request_id == value

    for _ in range(2):
        await _answers(_requests(_bridge(note)), Request(5, "a.b", 5))
    assert keys == ["ab:5", "ab:5"]


async def test_a_dropped_request_is_cancelled_and_never_answered() -> None:
    gate = _Gate()
    requests = _requests(_bridge(gate))
    requests.start(Request(1, "a.b", 1))
    await _until(lambda: gate.inside)
    requests.drop(1)
    requests.drop(1)  # the guest may say so twice
    assert requests.idle
    await requests.close()
    assert (gate.ended, requests.settled) == (1, [])


async def test_closing_cancels_what_is_open_and_waits_for_it_to_clean_up() -> None:
    cleaned: list[int] = []

    async def slow(value: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(value)

    requests = _requests(_bridge(slow))
    for number in (1, 2):
        requests.start(Request(number, "a.b", number))
    await _until(lambda: len(requests.begun) >= 2)
    await requests.close()
    assert sorted(cleaned) == [1, 2]
    assert requests.idle


async def test_a_thread_that_ends_in_time_gives_its_value_although_the_cell_is_over() -> None:
    started, go_on = threading.Event(), threading.Event()

    def pay(value: Any) -> str:
        started.set()
        assert go_on.wait(20)
        return "paid"

    requests = _requests(_bridge(pay))
    requests.start(Request(1, "a.b", 1))
    assert await asyncio.to_thread(started.wait, 20)
    closing = asyncio.ensure_future(requests.close(finish=True))
    await asyncio.sleep(0)
    go_on.set()
    await closing
    assert [s.text for s in requests.take_settled()] == ['"paid"']


async def test_a_call_that_is_left_running_answers_whoever_took_it() -> None:
    class Taker:
        def __init__(self) -> None:
            self.got: list[Any] = []

        def answer(self, settlement: Settlement) -> None:
            self.got.append(settlement.text)

        def fail(self, error: BaseException) -> None:
            self.got.append(error)

    gate, taker = _Gate(), Taker()

    async def fail(value: Any) -> None:
        await gate.open.wait()
        raise _Own("pause")

    requests = _requests(_bridge(gate), _bridge(fail, "a.fail", passes=(_Own,)))
    requests.start(Request(1, "a.b", 1))
    requests.start(Request(2, "a.fail", 2))
    await _until(lambda: len(requests.begun) >= 2)
    for number in (1, 2):
        requests.detach(number, taker)
    await requests.close()
    assert gate.ended == 0  # not cancelled
    gate.open.set()
    await _until(lambda: len(taker.got) >= 2)
    assert [str(got) for got in taker.got] == ["1", "pause"]
    assert (requests.settled, requests.paused) == ([], [])


async def test_exceptions_of_the_hosts_own_are_kept_with_their_requests() -> None:
    async def pause(value: Any) -> None:
        raise _Own(value)

    requests = _requests(_bridge(pause, passes=(_Own,)))
    requests.start(Request(1, "a.b", "why"))
    assert await requests.wait(20)
    ((request, error),) = requests.paused
    assert (request.id, str(error)) == (1, "why")
    assert [r.id for r in requests.outstanding] == [1]  # it has no answer


async def test_waiting_ends_when_its_time_is_up() -> None:
    requests = _requests(_bridge(_Gate()))
    requests.start(Request(1, "a.b", 1))
    assert not await requests.wait(0.01)
    await requests.close()


async def test_a_recorded_answer_is_used_in_place_of_a_call() -> None:
    called: list[Any] = []

    async def note(value: Any) -> None:
        called.append(value)

    async def earlier(request: Request) -> Settlement | None:
        return Settlement(request.id, '"recorded"') if request.id == 1 else None

    requests = _requests(_bridge(note), earlier=earlier)
    answers = await _answers(requests, Request(1, "a.b", 1), Request(2, "a.b", 2))
    assert sorted((s.id, s.text) for s in answers) == [(1, '"recorded"'), (2, "null")]
    assert called == [2]


@pytest.mark.parametrize("awaited", [True, False], ids=["request", "call"])
@pytest.mark.parametrize("returns", [_same, str], ids=["awaitable", "value"])
async def test_a_function_may_be_called_on_the_loop(awaited: bool, returns: Any) -> None:
    heard: list[Any] = []

    def hear(value: Any) -> Any:
        heard.append((value, asyncio.get_running_loop()))
        return returns(value)

    requests = _requests(_bridge(hear, on_loop=True, awaited=awaited))
    if awaited:
        (answer,) = await _answers(requests, Request(1, "a.b", "x"))
        assert (answer.text, answer.error) == ('"x"', None)
    else:
        await requests.deliver("a.b", "x", 20)
    assert heard == [("x", asyncio.get_running_loop())]


async def test_a_call_that_is_cancelled_before_it_begins_leaves_nothing_behind() -> None:
    requests = _requests(_bridge(_same, awaited=False))
    delivering = asyncio.ensure_future(requests.deliver("a.b", "x", 20))
    await asyncio.sleep(0)  # the handler is called, and its task has not begun
    delivering.cancel()
    await asyncio.wait({delivering})
    gc.collect()  # a coroutine that is never awaited is a warning, and warnings are errors


async def test_the_error_of_a_call_on_the_loop_is_attached() -> None:
    error = ValueError("no")

    def fail(value: Any) -> None:
        raise error

    requests = _requests(_bridge(fail, on_loop=True, awaited=False))
    await requests.deliver("a.b", "x", 20)
    assert requests.context.attachments == (error,)


async def test_what_is_not_offered_is_refused_without_a_call() -> None:
    (answer,) = await _answers(_requests(names={"ToolError": "Oops"}), Request(1, "a.gone", 1))
    assert answer.refused
    assert answer.error == GuestError(
        "Oops", "a.gone is not offered in this session, or no longer", data={"tool": "a.gone"}
    )


async def test_answers_that_are_too_large_name_the_bridge_and_the_limit() -> None:
    requests = _requests(_bridge(_same), limits=Limits(value_bytes=100))
    (answer,) = await _answers(requests, Request(1, "a.b", "x" * 200))
    assert answer.error is not None
    assert "the answer of a.b has more than the 100 bytes" in answer.error.message


@pytest.mark.parametrize("finish", [True, False])
async def test_an_answer_that_is_being_encoded_outlasts_the_end_of_its_cell(finish: bool) -> None:
    async def many(value: Any) -> list[list[int]]:
        return [[n] for n in range(30_000)]

    requests = _requests(_bridge(many), limits=Limits(value_bytes=2**26))
    requests.start(Request(1, "a.b", 1))
    async with asyncio.timeout(30):
        while not requests.begun.get(1):  # noqa: ASYNC110 - of a thread
            await asyncio.sleep(0)
    await requests.close(finish=finish)
    assert [len(json.loads(answer.text)) for answer in requests.settled] == [30_000] * finish


@pytest.mark.parametrize("grace", [600.0, 0.0])
async def test_a_request_may_end_although_its_cell_is_cancelled(grace: float) -> None:
    begun, end = asyncio.Event(), asyncio.Event()

    async def act(value: Any) -> Any:
        begun.set()
        await end.wait()
        return value

    requests = _requests(_bridge(act), grace=lambda request_id: grace if request_id == 1 else 0.0)
    requests.start(Request(1, "a.b", "made"))
    await begun.wait()
    closing = asyncio.ensure_future(requests.close(finish=True))
    await asyncio.sleep(0)
    end.set()
    await closing
    assert [answer.text for answer in requests.settled] == ['"made"'] * (grace > 0)


@pytest.mark.parametrize("wire", ["soon", None, True, -5, [1], {"$": "number", "v": "NaN"}])
async def test_timers_with_odd_times_fire_at_once(wire: Any) -> None:
    assert [s.text for s in await _answers(_requests(), Request(1, "timer", wire))] == ["null"]


async def test_modules_come_with_their_files() -> None:
    async def load() -> ModuleBundle:
        return ModuleBundle("a/main.js", {"a/main.js": "1", "a/b.js": "2"})

    asked: list[str] = []

    def find(specifier: str) -> Any:
        asked.append(specifier)
        return load if specifier == "a" else None

    requests = _requests(resolve_module=find)
    found, missing, odd = await _answers(
        requests, Request(1, "module", "a"), Request(2, "module", "b"), Request(3, "module", [1])
    )
    assert (found.text, dict(found.modules)) == ('"a/main.js"', {"a/main.js": "1", "a/b.js": "2"})
    for answer in (missing, odd):
        assert answer.error is not None
        assert answer.error.name == "ModuleNotFound"
    assert asked == ["a", "b", ""]


async def test_a_module_that_cannot_be_loaded_is_an_error_of_the_import() -> None:
    async def load() -> ModuleBundle:
        raise OSError("the disk is gone")

    (answer,) = await _answers(
        _requests(resolve_module=lambda specifier: load), Request(1, "module", "a")
    )
    assert answer.error is not None
    assert (answer.error.name, answer.error.message) == ("ModuleNotFound", "the disk is gone")


async def test_requests_may_be_made_inside_wrappers_but_timers_are_not() -> None:
    wrapped: list[str] = []

    async def around(request: Request, make: Any, records: Any) -> Settlement:
        wrapped.append(request.bridge)
        made: Settlement = await make()
        return made

    requests = _requests(_bridge(_same), around=around)
    await _answers(requests, Request(1, "a.b", 1), Request(2, "timer", 0))
    assert wrapped == ["a.b"]
