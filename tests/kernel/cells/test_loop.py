from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest
from clocks import LeapingClock

from interpstack import (
    Bridge,
    Cell,
    CellContext,
    Execution,
    GuestException,
    InterpreterStack,
    Limits,
    Progress,
    bridge,
)
from interpstack.cells import requests, steps
from interpstack_testing import FakeEngine
from interpstack_testing.fake import FakeRealm

MakeSession = Callable[..., Any]

#: Shows the name, the message and the data of the error that `kit.f` raises.
_CATCH = """
try:
    await kit.f()
except Exception as error:
    caught = f"{type(error).__name__}: {error} {getattr(error, 'tool', None)}"
caught
"""


def _bridge(handler: Any, name: str = "kit.f", **options: Any) -> Bridge:
    return Bridge(name=name, handler=handler, **options)


class _Gauge:
    """A handler that counts how many of it, and of a whole that it is part of, run at once."""

    def __init__(self, whole: _Gauge | None = None) -> None:
        self.now = self.most = self.total = 0
        self.gauges = [self] if whole is None else [self, whole]

    async def __call__(self) -> None:
        for gauge in self.gauges:
            gauge.now += 1
            gauge.total += 1
            gauge.most = max(gauge.most, gauge.now)
        await asyncio.sleep(0.01)
        for gauge in self.gauges:
            gauge.now -= 1


# -- concurrency and budgets -----------------------------------------------------------------


async def test_concurrency_limits_of_the_cell_and_of_one_bridge(make_session: MakeSession) -> None:
    whole = _Gauge()
    free, narrow = _Gauge(whole), _Gauge(whole)
    session = make_session(
        _bridge(free, "kit.free"),
        _bridge(narrow, "kit.narrow", concurrency=2),
        limits=Limits(concurrency=5),
    )
    both = "await gather(*[kit.narrow() for _ in range(9)], *[kit.free() for _ in range(20)])"
    assert (await session.eval(both)).ok
    assert (narrow.most, narrow.total) == (2, 9)
    assert (whole.most, whole.total) == (5, 29)


async def test_requests_run_in_the_order_in_which_they_were_made(make_session: MakeSession) -> None:
    seen = []

    async def note(value: int) -> None:
        seen.append(value)
        await asyncio.sleep(0)

    session = make_session(_bridge(note), limits=Limits(concurrency=2))
    await session.eval("await gather(*[kit.f(value=n) for n in range(20)])")
    assert seen == list(range(20))


async def test_budgets_of_the_cell_and_of_one_bridge(make_session: MakeSession) -> None:
    few, many = _Gauge(), _Gauge()
    session = make_session(
        _bridge(few, "kit.few", budget=2), _bridge(many, "kit.many"), limits=Limits(requests=5)
    )
    source = """
errors = []
for name in ["few"] * 3 + ["many"] * 3:
    try:
        await getattr(kit, name)()
    except ToolError as error:
        errors.append(f"{type(error).__name__} {error.tool}: {error}")
"\\n".join(errors)
"""
    outcome = await session.eval(source)
    assert outcome.text.splitlines() == [
        "CallBudgetExceeded kit.few: the cell may call kit.few 2 times; this was one more",
        "CallBudgetExceeded kit.many: the cell may make 5 calls; this was one more",
    ]
    assert (few.total, many.total, outcome.usage.requests) == (2, 2, 6)
    assert (await session.eval("await kit.few()")).ok, "a budget is one cell's"


async def test_timers_count_as_no_request_and_end_with_their_cell(
    make_session: MakeSession,
) -> None:
    session = make_session(limits=Limits(requests=1, wall_seconds=200))
    outcome = await session.eval("await gather(*[sleep(0.01) for _ in range(5)]); sleep(1000); 1")
    assert (outcome.error, outcome.usage.requests) == (None, 0)
    assert outcome.usage.wall_seconds < 100


@pytest.mark.parametrize("seconds", ["-5", "-(10**400)", "'x'", "[]", "float('nan')"])
async def test_odd_timers_are_due_at_once(make_session: MakeSession, seconds: str) -> None:
    session = make_session(limits=Limits(wall_seconds=60))
    assert (await session.eval(f"await sleep({seconds})")).ok


async def test_a_timer_beyond_all_numbers_waits(
    make_session: MakeSession, leaping_clock: LeapingClock
) -> None:
    session = make_session(_bridge(leaping_clock.leaps_when(), "kit.late"))
    outcome = await session.eval("await gather(sleep(10**400), kit.late())")
    assert outcome.error.name == "Timeout"
    assert outcome.error.message.endswith("requests still open: 1 (timer)")


async def test_answers_that_are_ready_together_cross_together(make_session: MakeSession) -> None:
    async def at_once(value: int) -> int:
        return value

    session = make_session(_bridge(at_once))
    outcome = await session.eval("sum(await gather(*[kit.f(value=n) for n in range(100)]))")
    assert (outcome.text, outcome.usage.crossings) == ("4950", 2)


# -- requests nobody awaits ------------------------------------------------------------------


async def test_unawaited_requests_finish_and_the_guest_hears_of_it(
    make_session: MakeSession,
) -> None:
    async def slow() -> str:
        await asyncio.sleep(0.02)
        return "heard"

    source = "async def go():\n    print(await kit.f())\ngather(go()); kit.f(); 'left'"
    outcome = await make_session(_bridge(slow)).eval(source)
    assert (outcome.text, outcome.usage.requests) == ("left", 2)
    unheard = await make_session(_bridge(slow), unawaited="cancel").eval(source)
    assert (unheard.text, unheard.error) == ("left", None)


async def test_unawaited_requests_that_hang_end_with_the_wall_time(
    make_session: MakeSession, leaping_clock: LeapingClock
) -> None:
    begun, cancelled = [], []

    async def hang() -> None:
        begun.append(1)
        try:
            await asyncio.sleep(600)
        finally:
            cancelled.append(1)

    late = leaping_clock.leaps_when(lambda: begun)
    outcome = await make_session(_bridge(hang), _bridge(late, "kit.late")).eval(
        "kit.f(); kit.late(); 'left'"
    )
    assert (outcome.text, cancelled) == ("left", [1])
    assert outcome.notices == (
        "A call that the cell did not wait for was cut off at the limit of the cell: kit.f. "
        "Await it, and the async function that makes it.",
    )


# -- time ------------------------------------------------------------------------------------


async def test_a_sync_handler_that_hangs_outlasts_its_cell_and_is_named(
    make_session: MakeSession, leaping_clock: LeapingClock, caplog: pytest.LogCaptureFixture
) -> None:
    begun, release = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        release.wait(60)

    session = make_session(
        _bridge(hang),
        _bridge(leaping_clock.leaps_when(begun.is_set), "kit.late"),
        limits=Limits(wall_seconds=100, cpu_seconds=None),
    )
    try:
        outcome = await session.eval("await gather(kit.f(), kit.late())")
        assert "kit.f" not in caplog.text
    finally:
        release.set()
    assert outcome.error.name == "Timeout"
    assert outcome.error.message == (
        "the cell took longer than 100 s in total; requests still open: 1 (kit.f)"
    )
    assert outcome.notices == (
        "A call outlasted the cell and could not be stopped: kit.f. It may still have its effects, "
        "and its answer is lost.",
    )
    async with asyncio.timeout(30):
        while not caplog.messages:  # noqa: ASYNC110 - the thread tells nobody else
            await asyncio.sleep(0.01)
    assert caplog.messages == ["kit.f has returned after the end of its cell; the answer is lost"]
    assert (await session.eval("1 + 1")).text == "2"


async def test_an_async_handler_that_ignores_its_cancellation_is_left_behind(
    make_session: MakeSession, leaping_clock: LeapingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "_GRACE_SECONDS", 0.05)
    tasks = []

    async def stubborn() -> None:
        tasks.append(asyncio.current_task())
        for _ in range(2):
            try:
                await asyncio.sleep(0.3)
            except asyncio.CancelledError:
                continue

    late = leaping_clock.leaps_when(lambda: tasks)
    session = make_session(_bridge(stubborn), _bridge(late, "kit.late"))
    outcome = await session.eval("await gather(kit.f(), kit.late())")
    assert outcome.error.name == "Timeout"
    assert outcome.notices[0].startswith(
        "A call outlasted the cell and could not be stopped: kit.f"
    )
    assert (await session.eval("1 + 1")).text == "2"
    await asyncio.wait(tasks)


class _StarvedRealm(FakeRealm):
    """Computes without end and uses no CPU time, as on a machine that is busy elsewhere."""

    def start(self, cell: Cell) -> Execution:
        execution, stopped = super().start(cell), threading.Event()
        execution.interrupt = stopped.set  # type: ignore[method-assign]
        execution.poll = lambda now, cpu_seconds: Progress(  # type: ignore[method-assign]
            exhausted=stopped.wait(60)
        )
        return execution


class _StarvedEngine(FakeEngine):
    def open(self, limits: Any, bridges: Any, image: Any = None) -> Any:
        return _StarvedRealm(limits, bridges)


async def test_a_guest_that_gets_no_cpu_time_ends_with_the_wall_time() -> None:
    stack = InterpreterStack(_StarvedEngine(), limits=Limits(wall_seconds=0.1, cpu_seconds=100))
    async with stack.session() as session:
        outcome = await session.eval("1")
    assert outcome.error is not None
    assert outcome.error.name == "Timeout"
    assert outcome.error.message.startswith("the cell took longer than 0.1 s in total")


@pytest.mark.parametrize("source", ["kit.f()", "print('x'); kit.f()\nwhile True: pass"])
async def test_a_call_whose_handler_hangs_ends_with_the_wall_time(
    make_session: MakeSession,
    source: str,
    leaping_clock: LeapingClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(steps, "_DELIVERY_SECONDS", 0.1)
    deliver = steps.CellRun.deliver

    async def deliver_late(run: Any, call: Any) -> None:
        leaping_clock.leap()
        await deliver(run, call)

    monkeypatch.setattr(steps.CellRun, "deliver", deliver_late)

    async def hang() -> None:
        await asyncio.sleep(60)

    session = make_session(_bridge(hang, awaited=False), limits=Limits(cpu_seconds=0.1))
    outcome = await asyncio.wait_for(session.eval(source), 50)
    assert [type(item) for item in outcome.attachments] == [TimeoutError]
    assert (await session.eval("1 + 1")).text == "2"


@pytest.mark.parametrize("cpu", [None, 5.0])
async def test_computing_until_the_wall_time_is_reported_as_such(
    make_session: MakeSession, cpu: float | None
) -> None:
    session = make_session(limits=Limits(cpu_seconds=cpu, wall_seconds=0.2))
    outcome = await session.eval("while True: pass")
    assert outcome.error.message == "the cell took longer than 0.2 s in total"


async def test_output_survives_every_end(
    make_session: MakeSession, leaping_clock: LeapingClock
) -> None:
    @bridge("console", awaited=False)
    def console(text: str, omitted: int, context: CellContext) -> None:
        context.write_console(text, omitted)

    session = make_session(
        console, _bridge(leaping_clock.leaps_when(), "kit.late"), limits=Limits(cpu_seconds=0.1)
    )
    ends = ["1", "1 / 0", "while True: pass", "await gather(sleep(600), kit.late())"]
    for end in [*ends, "class N:\n    def __await__(self):\n        yield\nawait N()"]:
        assert (await session.eval(f"print('so', 'far')\n{end}")).console == "so far"


# -- how handlers end ------------------------------------------------------------------------


class _Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def _raises(error: BaseException) -> Any:
    def handler() -> None:
        raise error

    return handler


def _raises_async(error: BaseException) -> Any:
    async def handler() -> None:
        raise error

    return handler


@pytest.mark.parametrize("make", [_raises, _raises_async])
@pytest.mark.parametrize(
    ("error", "caught"),
    [
        (ValueError("bad"), "ToolError: bad kit.f"),
        (ValueError(), "ToolError: ValueError kit.f"),
        (TypeError("no"), "TypeError: no kit.f"),
        (KeyError("x"), "ToolError: 'x' kit.f"),
        (TimeoutError("late"), "ToolError: late kit.f"),
        (GuestException("told"), "ToolError: told kit.f"),
        (GuestException("told", name="NotFound", tool="other"), "NotFound: told other"),
        (StopAsyncIteration("end"), "ToolError: end kit.f"),
        (ExceptionGroup("many", [ValueError("1")]), "ToolError: many (1 sub-exception) kit.f"),
        (_Mute(), "ToolError: _Mute kit.f"),
    ],
    ids=lambda value: repr(type(value).__name__) if isinstance(value, BaseException) else None,
)
async def test_what_a_handler_raises_can_be_caught(
    make_session: MakeSession, make: Any, error: BaseException, caught: str
) -> None:
    session = make_session(_bridge(make(error)), limits=Limits(wall_seconds=10))
    assert (await session.eval(_CATCH)).text == caught


async def test_a_cancellation_that_a_handler_raises_is_an_error_like_others(
    make_session: MakeSession,
) -> None:
    for make, message in (
        (_raises, "the handler raised CancelledError"),
        (_raises_async, "kit.f was cancelled"),
    ):
        session = make_session(_bridge(make(asyncio.CancelledError())))
        assert (await session.eval(_CATCH)).text == f"ToolError: {message} kit.f"


@pytest.mark.parametrize("make", [_raises, _raises_async])
async def test_stop_iteration_is_an_error_like_others(make_session: MakeSession, make: Any) -> None:
    outcome = await make_session(_bridge(make(StopIteration("x")))).eval(_CATCH)
    assert outcome.text.startswith("ToolError: ")
    assert "raised StopIteration" in outcome.text


async def test_long_messages_are_cut(make_session: MakeSession) -> None:
    session = make_session(_bridge(_raises(ValueError("x" * 100_000))))
    assert len((await session.eval(_CATCH)).text) < 2100


class _Interrupt(Exception):
    """The host's own business."""


class _HardInterrupt(BaseException):
    """The same, outside of `Exception`."""


@pytest.mark.parametrize("kind", [_Interrupt, _HardInterrupt])
@pytest.mark.parametrize("make", [_raises, _raises_async])
async def test_what_a_bridge_lets_pass_ends_the_cell_unseen_by_the_guest(
    make_session: MakeSession, make: Any, kind: type[BaseException]
) -> None:
    session = make_session(_bridge(make(kind("pause")), passes=(kind,)))
    await session.eval("caught = 'nothing'")
    with pytest.raises(kind, match="pause"):
        await session.eval(_CATCH)
    assert (await session.eval("caught")).text == "nothing"


@pytest.mark.parametrize("make", [_raises, _raises_async])
async def test_what_a_bridge_does_not_let_pass_stays_in_the_guest(
    make_session: MakeSession, make: Any
) -> None:
    for error in (_HardInterrupt("stop"), BaseExceptionGroup("stop", [_HardInterrupt("one")])):
        session = make_session(_bridge(make(error)))
        await session.eval(_CATCH)
        assert "stop" in (await session.eval("caught")).text


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_comes_out(make_session: MakeSession, kind: Any) -> None:
    for error in (kind("stop"), BaseExceptionGroup("all", [kind("stop")])):
        session = make_session(_bridge(_raises_async(error)))
        with pytest.raises(type(error)):
            session.eval_sync("await kit.f()")
        assert session.eval_sync("1 + 1").text == "2"


def test_a_handler_that_exits_ends_the_caller_and_nobody_else(make_session: MakeSession) -> None:
    session = make_session(_bridge(_raises_async(SystemExit(3))))
    with pytest.raises(SystemExit):
        session.eval_sync("await kit.f()")
    assert session.eval_sync("1 + 1").text == "2"


@pytest.mark.parametrize("data", [{"a": object()}, {"a": float("nan")}, {"a": {1, 2}}])
def test_data_of_a_guest_exception_is_plain_json(data: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="JSON"):
        GuestException("told", **data)


async def test_a_failing_call_is_attached_and_the_cell_goes_on(make_session: MakeSession) -> None:
    for error in (ValueError("bad"), asyncio.CancelledError()):
        session = make_session(_bridge(_raises_async(error), awaited=False))
        outcome = await asyncio.ensure_future(session.eval("kit.f(); 'on'"))
        assert (outcome.text, outcome.attachments) == ("on", (error,))


# -- what crosses ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (object(), "builtins.object cannot be passed to the guest"),
        ({"a": [lambda: 0]}, r"builtins.function cannot be passed"),
        ("x" * 2000, "the answer of kit.f has more than the 1000 bytes that may cross"),
        ("\ud800" * 200, "has more than the 1000 bytes"),
    ],
)
async def test_answers_that_cannot_cross_are_errors_in_the_guest(
    make_session: MakeSession, answer: Any, message: str
) -> None:
    session = make_session(_bridge(lambda: answer), limits=Limits(value_bytes=1000))
    outcome = await session.eval(_CATCH)
    assert outcome.text.startswith("ToolError: ")
    assert message in outcome.text


async def test_wrong_input_names_the_field(make_session: MakeSession) -> None:
    @bridge("kit.f")
    async def today(city: str) -> str:
        return city

    assert (await make_session(today).eval(_CATCH)).text == (
        "TypeError: kit.f needs the field 'city'; call it as kit.f(city) kit.f"
    )


async def test_sync_handlers_may_return_awaitables(make_session: MakeSession) -> None:
    async def later() -> str:
        return "late"

    assert (await make_session(_bridge(lambda: later())).eval("await kit.f()")).text == "late"


async def test_awaitables_without_end_are_an_error_and_the_loop_goes_on(
    make_session: MakeSession,
) -> None:
    class Endless:
        def __await__(self) -> Generator[None, None, Any]:
            return self
            yield

    outcome = await make_session(_bridge(Endless)).eval(_CATCH)
    assert "an awaitable of an awaitable, 100 times over; return the value" in outcome.text


async def test_an_answer_nested_a_million_levels_deep_is_an_error(
    make_session: MakeSession,
) -> None:
    answer: list[Any] = []
    for _ in range(10**6):
        answer = [answer]
    outcome = await make_session(_bridge(lambda: answer)).eval(_CATCH)
    assert "nested deeper than 200 levels" in outcome.text


async def test_raw_bridges_get_the_value_itself(make_session: MakeSession) -> None:
    seen = []
    session = make_session(_bridge(seen.append, raw=True))
    assert (await session.eval("await kit.f([1, {'a': 2}]); await kit.f()")).ok
    assert seen == [[1, {"a": 2}], {}]


async def test_context_tells_the_request_and_a_stable_key(make_session: MakeSession) -> None:
    seen = []

    def handler(context: CellContext) -> None:
        seen.append((context.session_key, context.request_id, context.call_key))

    session = make_session(_bridge(handler))
    await session.eval("await kit.f(); await kit.f()")
    assert [(key, number) for key, number, _ in seen] == [("s", 1), ("s", 2)]
    assert len({call_key for _, _, call_key in seen}) == 2


@pytest.mark.parametrize("at_once", [False, True])
async def test_cells_are_prepared_off_the_loop_unless_that_takes_no_time(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    threads, start = [], FakeRealm.start

    def starting(self: Any, cell: Any) -> Any:
        threads.append(threading.current_thread())
        return start(self, cell)

    monkeypatch.setattr(FakeRealm, "start", starting)
    monkeypatch.setattr(FakeRealm, "starts_at_once", at_once)
    assert (await make_session().eval("1")).ok
    assert (threading.current_thread() in threads) == at_once
    assert len(threads) == 1


# -- cancellation ----------------------------------------------------------------------------


async def test_cancellation_propagates_and_leaves_no_task(make_session: MakeSession) -> None:
    started, ends = asyncio.Event(), []

    async def hang() -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ends.append("cleaned up")

    session = make_session(_bridge(hang), limits=Limits(concurrency=1))
    await session.eval("x = 1")
    before = asyncio.all_tasks()
    running = asyncio.ensure_future(session.eval("x = 2\nawait gather(kit.f(), kit.f(), sleep(9))"))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (ends, asyncio.all_tasks()) == (["cleaned up"], before)
    assert (await session.eval("x")).text == "2"


async def test_cancelling_a_cell_that_waits_for_its_turn_leaves_the_others_alone(
    make_session: MakeSession,
) -> None:
    go = asyncio.Event()
    session = make_session(_bridge(go.wait))
    first = asyncio.ensure_future(session.eval("await kit.f(); x = 1"))
    second = asyncio.ensure_future(session.eval("x = 2"))
    third = asyncio.ensure_future(session.eval("x"))
    await asyncio.sleep(0.05)
    second.cancel()
    await asyncio.sleep(0)
    go.set()
    assert (await third).text == "1"
    assert (await first).ok
    assert second.cancelled()


async def test_no_trace_function_is_left_behind(make_session: MakeSession) -> None:
    before = sys.gettrace()
    await make_session().eval("1")
    assert sys.gettrace() is before
