"""Tests of interpstack.cells.wrappers: what plugins put around requests and evals."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import attrs
import pytest

from interpstack import (
    Bridge,
    CellGuard,
    ConfigurationError,
    GuestError,
    GuestException,
    InterpreterStack,
    Limits,
    Outcome,
    Settlement,
    hookimpl,
)
from interpstack_testing import FakeEngine

Around = Callable[[Any, Callable[[], Awaitable[Any]]], Awaitable[Any]]
MakeStack = Callable[..., InterpreterStack]

CATCHES = """\
try:
    said = await tool(n=1)
except ToolError as error:
    said = str(error)
said"""


class Pause(Exception):
    """An exception that a bridge declares to be the host's."""


class Requests:
    """Puts a function around each request."""

    def __init__(self, around: Around, name: str = "requests") -> None:
        self.name, self.around = name, around

    @hookimpl
    def interpstack_wrap_request(self, request: Any) -> Any:
        return lambda make: self.around(request, make)


class Evals:
    """Puts a function around each eval."""

    def __init__(self, around: Around, name: str = "evals") -> None:
        self.name, self.around = name, around

    @hookimpl
    def interpstack_wrap_eval(self, cell: Any) -> Any:
        return lambda run: self.around(cell, run)


@attrs.define
class Tool:
    """A tool that notes its calls."""

    calls: list[int] = attrs.field(factory=list)
    raises: BaseException | None = None

    async def __call__(self, n: int) -> int:
        self.calls.append(n)
        await asyncio.sleep(0)
        if self.raises is not None:
            raise self.raises
        return n + 41

    def bridge(self) -> Bridge:
        return Bridge(name="tool", handler=self.__call__, passes=(Pause,))


async def _eval(plugins: list[Any], tool: Tool, source: str = CATCHES, **options: Any) -> Outcome:
    stack = InterpreterStack(FakeEngine(), plugins, bridges=[tool.bridge()], **options)
    async with stack, stack.session() as session:
        return await session.eval(source)


# -- requests ------------------------------------------------------------------------------


async def test_wrappers_of_a_request_see_it_and_may_change_its_answer() -> None:
    seen = []

    async def around(request: Any, make: Any) -> Any:
        seen.append((request.bridge, request.wire))
        made = await make()
        return attrs.evolve(made, text=str(json.loads(made.text) * 2))

    async def outer(request: Any, make: Any) -> Any:
        made = await make()
        return attrs.evolve(made, text=str(json.loads(made.text) + 1))

    tool = Tool()
    outcome = await _eval([Requests(outer, "outer"), Requests(around)], tool)
    assert (outcome.text, seen, tool.calls) == ("85", [("tool", {"n": 1})], [1])


async def test_a_request_that_limits_refuse_is_seen_and_a_timer_is_not() -> None:
    seen = []

    async def around(request: Any, make: Any) -> Any:
        made = await make()
        seen.append((request.bridge, made.refused))
        return made

    source = f"await sleep(0)\nawait tool(n=1)\n{CATCHES}"
    tool = Tool()
    outcome = await _eval([Requests(around)], tool, source, limits=Limits(requests=1))
    assert seen == [("tool", False), ("tool", True)]
    assert ("may make 1 call;" in outcome.text, tool.calls) == (True, [1])


@pytest.mark.parametrize("late", [False, True])
async def test_a_refusal_is_an_error_that_the_code_catches(late: bool) -> None:
    async def around(request: Any, make: Any) -> Any:
        if late:
            await make()
        raise GuestException("not on Sundays", name="Refused")

    tool = Tool()
    outcome = await _eval([Requests(around)], tool, "await tool(n=1)")
    assert outcome.error is not None
    assert (outcome.error.name, outcome.error.message) == ("Refused", "not on Sundays")
    assert (outcome.error.data["tool"], tool.calls) == ("tool", [1] if late else [])


@pytest.mark.parametrize("late", [False, True])
async def test_a_wrapper_that_fails_is_an_error_and_loses_nothing(late: bool) -> None:
    async def around(request: Any, make: Any) -> Any:
        if late:
            await make()
        raise OSError("disk full")

    tool = Tool()
    outcome = await _eval([Requests(around)], tool, f"kept = 7\n{CATCHES}\nsaid, kept")
    happened = "was called, but" if late else "was not called:"
    assert f"tool {happened} a plugin around it failed: disk full" in outcome.text
    assert ("7" in outcome.text, tool.calls) == (True, [1] if late else [])


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("text", "returned str, not Settlement"),
        (None, "returned NoneType, not Settlement"),
        (Settlement(1, "no JSON"), "Expecting value"),
        (Settlement(1, '{"$": "nonsense"}'), "failed: "),
        (Settlement(1, '"' + "x" * 3000 + '"'), "more than 2000 bytes"),
        (Settlement(1, error=GuestError("A", "b", data={"c": {1}})), "not JSON serializable"),
    ],
)
async def test_an_answer_that_would_break_the_guest_is_refused(answer: Any, found: str) -> None:
    async def around(request: Any, make: Any) -> Any:
        return answer

    outcome = await _eval([Requests(around)], Tool(), limits=Limits(value_bytes=2000))
    assert found in outcome.text
    assert "tool was not called" in outcome.text


async def test_a_wrapper_may_answer_without_the_call() -> None:
    async def around(request: Any, make: Any) -> Any:
        return Settlement(999, '"from the cache"')

    tool = Tool()
    outcome = await _eval([Requests(around)], tool)
    assert (outcome.text, tool.calls) == ("from the cache", [])


async def test_a_call_is_made_once_whatever_a_wrapper_does() -> None:
    async def again(request: Any, make: Any) -> Any:
        await make()
        return await make()

    async def elsewhere(request: Any, make: Any) -> Any:
        return await asyncio.ensure_future(make())

    tool = Tool()
    assert "awaits its call once" in (await _eval([Requests(again)], tool)).text
    assert tool.calls == [1]
    assert "in its own task" in (await _eval([Requests(elsewhere)], tool)).text
    assert tool.calls == [1]


async def test_an_exception_for_the_host_passes_a_wrapper_that_catches_it() -> None:
    async def around(request: Any, make: Any) -> Any:
        try:
            return await make()
        except Pause:
            return Settlement(request.id, '"no pause"')

    with pytest.raises(Pause):
        await _eval([Requests(around)], Tool(raises=Pause()))


async def test_a_time_limit_of_a_wrapper_ends_the_call_alone() -> None:
    async def around(request: Any, make: Any) -> Any:
        try:
            async with asyncio.timeout(0.01):
                return await make()
        except TimeoutError:
            raise GuestException("too slow") from None

    async def slow(n: int) -> None:
        await asyncio.Event().wait()

    tool = Bridge(name="tool", handler=slow)
    async with (
        InterpreterStack(FakeEngine(), [Requests(around)], bridges=[tool]) as stack,
        stack.session() as session,
    ):
        outcome = await session.eval(CATCHES)
    assert outcome.text in ("too slow", "tool was cancelled")


async def _fails_in_a_group() -> None:
    async def fails() -> None:
        raise ValueError("no")

    async with asyncio.TaskGroup() as group:
        group.create_task(fails())


async def _cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


@pytest.mark.parametrize("ends", [_fails_in_a_group, _cancels_itself])
@pytest.mark.parametrize("goes_on", [True, False])
async def test_what_a_handler_does_to_its_own_task_does_not_end_the_wrapped_call(
    ends: Callable[[], Awaitable[None]], goes_on: bool
) -> None:
    async def around(request: Any, make: Any) -> Any:
        return await make()

    async def handler(n: int) -> int:
        try:
            await ends()
        except BaseException:
            if not goes_on:
                raise
        return 7

    tool = Bridge(name="tool", handler=handler)
    async with (
        InterpreterStack(FakeEngine(), [Requests(around)], bridges=[tool]) as stack,
        stack.session() as session,
    ):
        async with asyncio.timeout(20):
            outcome = await session.eval(CATCHES)
    ended = ("unhandled errors in a TaskGroup (1 sub-exception)", "tool was cancelled")
    assert (outcome.text == "7") if goes_on else (outcome.text in ended)


async def test_a_cell_is_cancelled_through_its_wrappers() -> None:
    begun, left = asyncio.Event(), []

    async def around(kind: Any, call: Any) -> Any:
        begun.set() if type(kind).__name__ == "Request" else None
        try:
            return await call()
        except asyncio.CancelledError:
            left.append(type(kind).__name__)
            return None  # swallows it

    async def slow(n: int) -> None:
        await asyncio.Event().wait()

    tool = Bridge(name="tool", handler=slow)
    plugins = [Evals(around), Requests(around)]
    async with (
        InterpreterStack(FakeEngine(), plugins, bridges=[tool]) as stack,
        stack.session() as session,
    ):
        running = asyncio.ensure_future(session.eval("await tool(n=1)"))
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert sorted(left) == ["Cell", "Request"]
        assert (await session.eval("1 + 1")).text == "2"


async def test_a_wrapper_that_waits_cannot_swallow_a_cancellation() -> None:
    waits = asyncio.Event()

    async def around(cell: Any, run: Any) -> Any:
        if cell.source == "2":
            return await run()
        try:
            waits.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return Outcome(text="swallowed")

    async with (
        InterpreterStack(FakeEngine(), [Evals(around)]) as stack,
        stack.session() as session,
    ):
        running = asyncio.ensure_future(session.eval("1"))
        await waits.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await session.eval("2")).text == "2"


async def test_a_guard_does_not_count_what_a_wrapper_answers() -> None:
    admitted = []

    class Counts(CellGuard):
        def admit(self, bridge: Any, request: Any) -> None:
            admitted.append(request.wire)

    class Plugin:
        name = "counts"

        @hookimpl
        def interpstack_open_cell(self) -> CellGuard:
            return Counts()

    async def around(request: Any, make: Any) -> Any:
        return await make() if request.wire["n"] > 1 else Settlement(request.id, "0")

    await _eval([Requests(around), Plugin()], Tool(), "await tool(n=1)\nawait tool(n=2)")
    assert admitted == [{"n": 2}]


async def test_requests_are_not_wrapped_where_no_plugin_wants_to() -> None:
    async with (
        InterpreterStack(FakeEngine(), [Evals(_as_it_is)]) as stack,
        stack.session() as session,
    ):
        assert stack.each("interpstack_wrap_request") == []
        assert stack.each("interpstack_wrap_request") is stack.each("interpstack_wrap_request")
        assert (await session.eval("1")).text == "1"


# -- evals ---------------------------------------------------------------------------------


async def _as_it_is(cell: Any, run: Any) -> Any:
    return await run()


async def test_wrappers_of_an_eval_see_the_cell_and_may_change_the_outcome() -> None:
    async def around(cell: Any, run: Any) -> Any:
        outcome = await run()
        return attrs.evolve(outcome, text=f"{cell.source} = {outcome.text}")

    outcome = await _eval([Evals(around)], Tool(), "1 + 1")
    assert outcome.text == "1 + 1 = 2"


async def test_an_eval_may_be_refused_before_its_code_runs() -> None:
    async def around(cell: Any, run: Any) -> Any:
        raise GuestException("closed for today", name="Closed")

    tool = Tool()
    outcome = await _eval([Evals(around)], tool)
    assert outcome.error is not None
    assert (outcome.error.name, outcome.error.message) == ("Closed", "closed for today")
    assert tool.calls == []


@pytest.mark.parametrize("wrong", [OSError("disk full"), "text"])
async def test_a_wrapper_of_an_eval_that_fails_keeps_variables_and_shows_nothing(
    wrong: Any,
) -> None:
    async def around(cell: Any, run: Any) -> Any:
        if cell.source == "kept":
            return await run()
        await run()
        if isinstance(wrong, OSError):
            raise wrong
        return wrong

    stack = InterpreterStack(FakeEngine(), [Evals(around)])
    async with stack, stack.session() as session:
        outcome = await session.eval("kept = 7\n'secret'")
        assert outcome.error is not None
        assert outcome.error.name == "PluginError"
        assert "the cell was run, but a plugin around it failed" in outcome.error.message
        assert (outcome.text, outcome.usage.crossings) == ("", 1)
        assert (await session.eval("kept")).text == "7"


async def test_a_wrapper_cannot_wait_for_its_own_session() -> None:
    class Nested:
        name = "nested"

        @hookimpl
        def interpstack_wrap_eval(self, session: Any) -> Any:
            return lambda run: session.eval("1")

    with pytest.raises(ConfigurationError, match="which would wait for itself"):
        await _eval([Nested()], Tool(), "2")


async def test_a_hook_that_fails_is_an_error_of_the_outcome() -> None:
    class Broken:
        name = "broken"

        @hookimpl
        def interpstack_wrap_eval(self) -> Any:
            raise OSError("no wrapper today")

    outcome = await _eval([Broken()], Tool(), "2")
    assert outcome.error is not None
    assert "no wrapper today" in outcome.error.message


async def test_a_plugin_that_fails_after_a_move_is_logged_and_stops_nobody(
    imaging_engine: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Notes:
        def __init__(self, name: str) -> None:
            self.name, self.moves = name, list[bool]()

        @hookimpl
        def interpstack_session_hibernation(self, wakes: bool, seconds: float) -> None:
            assert seconds >= 0
            self.moves.append(wakes)
            if self.name == "broken":
                raise OSError("no moves today")

    plugins = [Notes("broken"), Notes("other")]
    async with InterpreterStack(imaging_engine, plugins) as stack:
        session = stack.session("k")
        await session.eval("x = 1")
        assert await session.hibernate()
        assert (await session.eval("x")).text == "1"
    assert [one.moves for one in plugins] == [[False, True], [False, True]]
    assert caplog.text.count("plugin 'broken' failed after session 'k' hibernated or woke") == 2
    assert "no moves today" in caplog.text


async def test_plugins_that_fail_are_logged_with_the_cause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Refuses:
        name = "refuses"

        @hookimpl
        def interpstack_transform_cell(self) -> Any:
            raise OSError("no cells today")

    async def around(what: Any, make: Any) -> Any:
        raise LookupError("no calls today")

    await _eval([Requests(around)], Tool(), "await tool(n=1)")
    await _eval([Refuses()], Tool(), "1")
    lines = [one.getMessage() for one in caplog.records]
    assert lines == [
        "a plugin around 'tool' failed",
        "plugin 'refuses' could not transform a cell",
    ]
    assert "LookupError: no calls today" in caplog.text
    assert "OSError: no cells today" in caplog.text


@pytest.mark.parametrize("late", [False, True])
async def test_a_fault_of_the_host_leaves_the_eval_if_the_cell_has_not_run(late: bool) -> None:
    async def around(cell: Any, run: Any) -> Any:
        if late:
            await run()
        raise ConfigurationError("no such tool")

    tool = Tool()
    if late:
        outcome = await _eval([Evals(around)], tool)
        assert outcome.error is not None
        assert outcome.error.name == "PluginError"
    else:
        with pytest.raises(ConfigurationError, match="no such tool"):
            await _eval([Evals(around)], tool)
    assert tool.calls == ([1] if late else [])


async def test_a_session_goes_on_after_a_fault_of_the_host() -> None:
    faults = [ConfigurationError("no such tool")]

    async def around(cell: Any, run: Any) -> Any:
        if cell.source == "2" and faults:
            raise faults.pop()
        return await run()

    stack = InterpreterStack(FakeEngine(), [Evals(around)])
    async with stack, stack.session() as session:
        await session.eval("kept = 1")
        with pytest.raises(ConfigurationError):
            await session.eval("2")
        assert (await session.eval("2")).text == "2"
        assert (await session.eval("kept")).text == "1"
