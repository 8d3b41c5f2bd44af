from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from interpstack import (
    Bridge,
    BridgeNameClash,
    Cell,
    CellContext,
    ConfigurationError,
    EngineFailure,
    HostOffer,
    HostTool,
    Image,
    ImageError,
    Limits,
    Session,
    SessionClosed,
    UnsupportedValue,
    bridge,
    hookimpl,
)
from interpstack.contracts.protocol import SessionState
from interpstack_testing import FakeEngine
from interpstack_testing.fake import FakeExecution, FakeRealm

Make = Callable[..., Any]


# -- order -----------------------------------------------------------------------------------


def test_cells_run_in_the_order_of_their_calls_across_threads_and_loops(make_session: Make) -> None:
    started, go, threads = threading.Event(), threading.Event(), []

    def hold() -> None:
        started.set()
        go.wait(20)

    session = make_session(Bridge(name="kit.hold", handler=hold))

    def sync(source: str) -> None:
        session.eval_sync(source)

    def own_loop(source: str) -> None:
        asyncio.run(session.eval(source))

    def submit(target: Any, source: str) -> None:
        waiting = len(session._queue.slots._waiting)
        threads.append(threading.Thread(target=target, args=[source]))
        threads[-1].start()
        while source != "first" and len(session._queue.slots._waiting) == waiting:
            time.sleep(0.001)

    threads.append(threading.Thread(target=sync, args=["order = []; await kit.hold()"]))
    threads[0].start()
    assert started.wait(20)
    for number in range(12):
        failing = "; 1 / 0" if number % 3 == 0 else ""
        submit(sync if number % 2 else own_loop, f"order.append({number}){failing}")
    go.set()
    for thread in threads:
        thread.join(20)
    assert session.eval_sync("order").text == str(list(range(12)))
    assert session.cells == 14


async def test_evals_started_together_share_no_failure(make_session: Make) -> None:
    session = make_session()
    sources = ["x = 1", "1 / 0", "x += 1; x", "while True: pass", "x"]
    session.stack.limits = Limits(cpu_seconds=0.1)
    outcomes = await asyncio.gather(*map(session.eval, sources))
    assert [outcome.text for outcome in outcomes] == ["None", "", "2", "", "2"]


def test_sync_and_async_blocks_share_a_session(make_stack: Make) -> None:
    stack = make_stack()

    async def use() -> str:
        async with stack.session("k") as session:
            return str((await session.eval("x")).text)

    with stack.session("k") as session:
        session.eval_sync("x = 5")
    assert asyncio.run(use()) == "5"


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (5, "eval takes source text or a Cell; got 5"),
        (b"1", "got b'1'"),
        (None, "got None"),
        ("x" * 101, "the code has 101 .*; at most 100 .*pass data through a tool or a bridge"),
    ],
)
def test_bad_cells_are_refused_and_lose_nothing(
    make_session: Make, cell: Any, message: str
) -> None:
    session = make_session(limits=Limits(source_bytes=100))
    session.eval_sync("x = 1")
    with pytest.raises(ConfigurationError, match=message):
        session.eval_sync(cell)
    assert session.eval_sync("x").text == "1"


@pytest.mark.parametrize("key", ["", 5, b"k", ["k"]])
def test_bad_keys_are_refused(make_stack: Make, key: Any) -> None:
    with pytest.raises(ConfigurationError, match="a session key is a non-empty string; got"):
        make_stack().session(key)


# -- opening and closing ---------------------------------------------------------------------


def test_a_key_names_one_session_until_it_is_closed(make_stack: Make) -> None:
    stack = make_stack()
    first = stack.session("k")
    with first:
        first.eval_sync("x = 1")
    assert stack.session("k") is first
    first.close()
    second = stack.session("k")
    assert not second.eval_sync("x").ok
    first.close()
    assert stack.session("k") is second, "closing the old one twice leaves the new one alone"


async def test_closed_sessions_say_so(make_stack: Make) -> None:
    session = make_stack().session("k")
    await session.eval("x = 1")
    await session.aclose()
    uses = [session.eval("x"), session.image(), session.values(), session.names(), session.reset()]
    for use in uses:
        with pytest.raises(SessionClosed, match="session 'k' was closed; ask the stack for a new"):
            await use
    with pytest.raises(SessionClosed), session:
        pytest.fail("a closed session was entered")


def test_a_session_without_a_key_ends_with_its_block(make_stack: Make) -> None:
    stack = make_stack()
    with stack.session() as one, stack.session() as other:
        assert one.key != other.key
        one.eval_sync("x = 1")
        assert not other.eval_sync("x").ok
    with pytest.raises(SessionClosed):
        one.eval_sync("x")
    assert stack._pool._sessions == {}


def test_a_closed_stack_opens_no_session(make_stack: Make) -> None:
    stack = make_stack()
    session = stack.session("k")
    stack.close()
    stack.close()
    with pytest.raises(SessionClosed, match="make a new InterpreterStack"):
        stack.session("other")
    with pytest.raises(SessionClosed):
        session.eval_sync("1")


async def test_closing_waits_for_the_cells_before_it(make_session: Make) -> None:
    go = asyncio.Event()
    session = make_session(Bridge(name="kit.hold", handler=go.wait))
    running = asyncio.ensure_future(session.eval("await kit.hold(); 'done'"))
    await asyncio.sleep(0.05)
    closing = asyncio.ensure_future(session.aclose())
    await asyncio.sleep(0.05)
    assert not closing.done()
    go.set()
    assert (await running).text == "done"
    await closing


# -- hibernation -----------------------------------------------------------------------------


async def test_the_sessions_idle_longest_hibernate_and_keep_their_state(
    make_stack: Make, imaging_engine: Any
) -> None:
    stack = make_stack(engine=imaging_engine, max_live_sessions=2)
    for number in range(4):
        async with stack.session(f"k{number}") as session:
            await session.eval(f"x = {number}")
    assert [stack.session(f"k{n}").live for n in range(4)] == [False, False, True, True]
    assert (await stack.session("k0").image()).data == b'{"x": 0}'
    async with stack.session("k0") as session:
        outcome = await session.eval("x")
    assert (outcome.text, outcome.notices) == ("0", ())
    assert [stack.session(f"k{n}").live for n in range(4)] == [True, False, False, True]


async def test_sessions_that_end_together_hibernate_no_more_than_the_surplus(
    make_stack: Make, imaging_engine: Any
) -> None:
    stack = make_stack(engine=imaging_engine, max_live_sessions=2)
    sessions = [stack.session(str(number)) for number in range(6)]

    async def use(session: Session) -> None:
        async with session:
            await session.eval("x = 1")

    await asyncio.gather(*map(use, sessions))
    assert sum(session.live for session in sessions) == 2
    await asyncio.gather(*map(use, sessions))
    assert sum(session.live for session in sessions) == 2


async def test_sessions_count_although_hibernating_them_is_cancelled(
    make_stack: Make, imaging_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = make_stack(engine=imaging_engine, max_live_sessions=1)
    sessions = [stack.session(str(number)) for number in range(3)]
    reached, never = asyncio.Event(), asyncio.Event()

    async def hang(self: Session) -> bool:
        reached.set()
        return await never.wait()

    monkeypatch.setattr(Session, "hibernate", hang)
    tasks = [asyncio.ensure_future(session.eval("x = 1")) for session in sessions]
    await reached.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    monkeypatch.undo()
    await sessions[0].eval("x = 2")
    assert sum(session.live for session in sessions) == 1


async def test_sessions_in_use_do_not_hibernate(make_stack: Make, imaging_engine: Any) -> None:
    stack = make_stack(engine=imaging_engine, max_live_sessions=1)
    async with stack.session("a") as held:
        await held.eval("x = 1")
        assert not await held.hibernate()
        async with stack.session("b") as other:
            await other.eval("1")
        assert (held.live, other.live) == (True, False)
    assert await held.hibernate()
    assert not await held.hibernate(), "it is hibernated already"


async def test_without_images_sessions_stay_live(make_stack: Make) -> None:
    stack = make_stack(max_live_sessions=1)
    for key in "abc":
        async with stack.session(key) as session:
            await session.eval("x = 1")
    assert all(stack.session(key).live for key in "abc")
    assert not await stack.session("a").hibernate()


async def test_an_image_that_cannot_be_opened_is_reported_and_the_session_goes_on(
    make_stack: Make, imaging_engine: Any
) -> None:
    session = make_stack(engine=imaging_engine).session("k")
    await session.eval("x = 1")
    await session.hibernate()
    imaging_engine.base = "v2"
    outcome = await session.eval("2")
    assert outcome.text == "2"
    assert outcome.notices == (
        "The state of earlier cells could not be restored: the image was made by another build",
    )
    assert (await session.eval("3")).notices == ()


async def test_an_image_that_breaks_the_engine_is_given_up(
    make_stack: Make, imaging_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = make_stack(engine=imaging_engine)
    session, other = stack.session("k"), stack.session("other")
    await session.eval("x = 1")
    image = await session.image()
    await session.hibernate()
    opens = imaging_engine.open

    def breaks(limits: Any, bridges: Any, image: Any = None) -> Any:
        if image is not None:
            raise EngineFailure("it broke")
        return opens(limits, bridges)

    monkeypatch.setattr(imaging_engine, "open", breaks)
    outcome = await session.eval("2")
    assert (outcome.text, len(outcome.notices)) == ("2", 1)
    assert (await session.eval("3")).notices == ()
    with pytest.raises(ImageError, match="the image cannot be opened: it broke"):
        await other.restore(image)


# -- state -----------------------------------------------------------------------------------


async def test_images_and_values_move_between_sessions(
    make_stack: Make, imaging_engine: Any
) -> None:
    stack = make_stack(engine=imaging_engine)
    one, two, three = (stack.session(key) for key in "123")
    assert await one.image() is None
    await one.eval("x = 41; f = print")
    assert list(await one.names()) == ["x", "f"]
    await two.restore(await one.image())
    assert (await two.eval("x + 1")).text == "42"
    await three.load(await one.values())
    error = (await three.eval("f")).error
    assert "was not restored because it is not serializable" in error.message
    await one.reset()
    assert not (await one.eval("x")).ok


async def test_a_bad_image_leaves_the_state_as_it_was(
    make_stack: Make, imaging_engine: Any
) -> None:
    session = make_stack(engine=imaging_engine).session("k")
    await session.eval("x = 1")
    with pytest.raises(ImageError):
        await session.restore(Image("other", "v1", b"{}"))
    with pytest.raises(ImageError, match="nothing of the state was stored"):
        await session.restore_state(SessionState())
    assert (await session.eval("x")).text == "1"


async def test_a_state_is_restored_from_its_image_or_else_from_its_values(
    make_stack: Make, imaging_engine: Any
) -> None:
    stack = make_stack(engine=imaging_engine)
    outcome, state = await stack.session("a").eval_with_state("x = 1; f = print")
    assert outcome.ok
    assert await stack.session("b").restore_state(state) == ()
    imaging_engine.base = "v2"
    notices = await stack.session("c").restore_state(state)
    assert "restored from their values" in " ".join(notices)
    assert "f" in " ".join(notices)
    assert (await stack.session("c").eval("x")).text == "1"
    with pytest.raises(ImageError):
        await stack.session("c").restore_state(SessionState(image=state.image))
    assert (await stack.session("c").eval("x")).text == "1"


async def test_no_cell_runs_between_the_old_state_and_the_restored_one(make_stack: Make) -> None:
    session = make_stack().session("k")
    await session.eval("x = 1")
    restoring = asyncio.ensure_future(session.restore_state(SessionState(values={"x": 2})))
    await asyncio.sleep(0)  # it has its place in the queue
    assert (await session.eval("x")).text == "2"
    assert len(await restoring) == 1


async def test_values_that_no_realm_takes_leave_the_state_as_it_was(make_stack: Make) -> None:
    class Refusing(FakeEngine):
        def open(self, *args: Any) -> Any:
            realm = super().open(*args)
            realm.load = self.refuse
            close = realm.close
            realm.close = lambda: (closed.append(realm), close())
            return realm

        def refuse(self, values: Any) -> None:
            raise EngineFailure("there is no room")

    closed: list[Any] = []
    session = make_stack(engine=Refusing()).session("k")
    await session.eval("x = 1")
    with pytest.raises(ImageError, match="no room"):
        await session.restore_state(SessionState(values={"x": 2}))
    with pytest.raises(UnsupportedValue):
        await session.restore_state(SessionState(values={"x": object()}))
    assert (await session.eval("x")).text == "1"
    assert len(closed) == 1


@pytest.mark.parametrize(
    ("method", "value", "message"),
    [
        ("bind", "x", "bind takes a HostOffer; got 'x'"),
        ("bind", None, "bind takes a HostOffer; got None"),
        ("notify", 5, "notify takes text; got 5"),
        ("restore", "x", r"restore takes an Image, as image\(\) gives it; got 'x'"),
        ("restore", None, "restore takes an Image"),
        ("restore_state", None, "restore_state takes a SessionState; got None"),
        ("restore_state", SessionState(image=5), "the image of a SessionState is an Image or None"),  # type: ignore[arg-type]
        ("load", None, "load takes a mapping of names to portable values.*; got None"),
        ("load", [1], r"load takes a mapping of names .*; got \[1\]"),
        ("load", {5: 1}, "names are strings; got 5"),
    ],
)
async def test_arguments_of_wrong_types_are_refused(
    make_stack: Make, imaging_engine: Any, method: str, value: Any, message: str
) -> None:
    session = make_stack(engine=imaging_engine).session("k")
    await session.eval("x = 1")

    async def given() -> None:
        answer = getattr(session, method)(value)
        if answer is not None:
            await answer

    with pytest.raises(ConfigurationError, match=message):
        await given()
    outcome = await session.eval("x")
    assert (outcome.text, session.render(outcome)) == ("1", "<result>1</result>")


@pytest.mark.parametrize("value", [{1, 2}, object(), float("nan"), b"x", "cycle"])
async def test_values_that_are_not_portable_are_refused(make_session: Make, value: Any) -> None:
    if value == "cycle":
        value = []
        value.append(value)
    session = make_session()
    await session.eval("x = 1")
    given = {"y": 2, "rows": [value]}
    with pytest.raises(UnsupportedValue, match=r"not portable: .* \(at \$\.rows\)"):
        await session.load(given)
    with pytest.raises(UnsupportedValue, match="not portable"):
        await session.restore_state(SessionState(values=given))
    assert (await session.eval("x")).text == "1"


@pytest.mark.parametrize("fields", [(1, "v1", b""), ("imaging", None, b""), ("imaging", "v1", "")])
async def test_images_of_other_types_are_refused(
    make_stack: Make, imaging_engine: Any, fields: Any
) -> None:
    session = make_stack(engine=imaging_engine).session("k")
    await session.eval("x = 1")
    with pytest.raises(ImageError, match="two strings and bytes"):
        await session.restore(Image(*fields))
    with pytest.raises(ImageError, match="two strings and bytes"):
        await session.restore_state(SessionState(image=Image(*fields)))
    await session.restore_state(SessionState(image=Image(*fields), values={"x": 2}))
    assert (await session.eval("x")).text == "2"


async def test_bytes_of_an_image_may_be_of_any_buffer(
    make_stack: Make, imaging_engine: Any
) -> None:
    session = make_stack(engine=imaging_engine).session("k")
    await session.eval("x = 1")
    image = await session.image()
    for kind in (bytearray, memoryview):
        await session.restore(attrs.evolve(image, data=kind(image.data)))
        assert (await session.eval("x")).text == "1"


async def test_values_that_the_engine_cannot_load_are_an_image_error(
    make_session: Make, monkeypatch: Any
) -> None:
    def fail(self: Any, values: Any) -> None:
        raise EngineFailure("no memory")

    session = make_session()
    await session.eval("x = 1")
    monkeypatch.setattr(FakeRealm, "load", fail)
    with pytest.raises(ImageError, match="the stored values cannot be loaded: no memory"):
        await session.load({"y": 1})
    with pytest.raises(ImageError, match="the stored values cannot be loaded: no memory"):
        await session.restore_state(SessionState(values={"y": 1}))
    assert (await session.eval("x")).text == "1"


async def test_a_state_has_values_only_where_they_are_wanted(
    make_stack: Make, imaging_engine: Any
) -> None:
    session = make_stack(engine=imaging_engine).session("a")
    asked: list[Any] = []

    def wants_values(image: Any) -> bool:
        asked.append(image)
        return len(asked) > 1

    _, alone = await session.eval_with_state("x = 1", wants_values=wants_values)
    _, both = await session.eval_with_state("x", wants_values=wants_values)
    assert (alone.values, both.values) == (None, {"x": 1})
    assert asked == [alone.image, both.image]


async def test_an_outcome_is_reported_though_its_state_cannot_be_had(
    make_stack: Make, imaging_engine: Any
) -> None:
    session = make_stack(engine=imaging_engine).session("a")
    await session.eval("x = 1")

    def refuse(image: Any) -> bool:
        raise EngineFailure("too much of it")

    outcome, state = await session.eval_with_state("x + 1", wants_values=refuse)
    assert (outcome.ok, outcome.text, state) == (True, "2", None)
    assert outcome.notices == ("Variables could not be kept: too much of it.",)
    outcome, state = await session.eval_with_state("x")
    assert (outcome.text, outcome.notices) == ("1", ())
    assert state is not None


async def test_notices_come_with_the_next_outcome_only(make_session: Make) -> None:
    session = make_session()
    session.notify("y was lost")
    first, second = await session.eval("1"), await session.eval("2")
    assert (first.notices, second.notices) == (("y was lost",), ())
    assert session.render(first) == "<notice>y was lost</notice>\n<result>1</result>"


class _Breaking(FakeEngine):
    """Breaks when a cell says so."""

    def open(self, limits: Any, bridges: Any, image: Any = None) -> Any:
        realm = super().open(limits, bridges, image)
        start = realm.start

        def start_or_break(cell: Cell) -> Any:
            execution = start(cell)
            if cell.source == "break":
                execution.poll = _fail
            return execution

        realm.start = start_or_break  # type: ignore[method-assign]
        return realm


def _fail(self: FakeExecution, *args: Any) -> Any:
    raise EngineFailure("the heap is damaged")


async def test_a_broken_engine_ends_the_cell_and_the_session_starts_anew(
    make_session: Make,
) -> None:
    session = make_session(engine=_Breaking())
    await session.eval("x = 1")
    outcome = await session.eval("break")
    assert outcome.error.name == "EngineFailure"
    assert "the heap is damaged" in outcome.error.message
    assert (outcome.stopped, outcome.state) == (True, "lost")
    assert outcome.error.message.endswith("all variables of earlier cells are lost")
    assert outcome.error.message.endswith(f"the heap is damaged; {outcome.loss}")
    assert not session.live
    assert (await session.eval("x")).error.name == "NameError"


# -- turns -----------------------------------------------------------------------------------


def _tool(name: str) -> HostTool:
    async def call(fields: dict[str, Any], context: Any) -> str:
        return name

    return HostTool(name=name, call=call)


class _Tools:
    """Offers a turn's tools under `tools`."""

    name = "tools"

    @hookimpl
    def interpstack_register_bridges(self, register: Any, offer: HostOffer) -> None:
        for tool in offer.tools:
            register.bridge(Bridge(name=f"tools.{tool.name}", handler=lambda tool=tool: tool.name))


async def test_a_turn_changes_what_is_offered_from_the_next_cell_on(make_stack: Make) -> None:
    session = make_stack(plugins=[_Tools()]).session("k")
    session.bind(HostOffer(tools=[_tool("a")]))
    assert (await session.eval("keep = tools.a; await tools.a()")).text == "a"
    session.bind(HostOffer(tools=[_tool("b")]))
    assert (await session.eval("await tools.b()")).text == "b"
    assert (await session.eval("await tools.a()")).error.name == "AttributeError"
    gone = (await session.eval("await keep()")).error
    assert gone.message == "tools.a is not offered in this session, or no longer"
    assert session.offer.tools[0].name == "b"


def test_a_turn_that_clashes_is_refused_and_the_last_one_stays(make_stack: Make) -> None:
    stack = make_stack(
        Bridge(name="tools.a", handler=print, owner="the host", raw=True), plugins=[_Tools()]
    )
    session = stack.session("k")
    with pytest.raises(BridgeNameClash, match="the host"):
        session.bind(HostOffer(tools=[_tool("a")]))
    assert session.offer == HostOffer()


# -- the caller's own object ------------------------------------------------------------------


async def test_bridges_and_plugins_find_the_callers_object(make_stack: Make) -> None:
    seen: list[Any] = []

    @bridge
    async def look(context: CellContext) -> None:
        seen.append(context.host)

    class Watching:
        name = "watching"

        @hookimpl
        def interpstack_open_cell(self, session: Session) -> None:
            seen.append(session.host)

    stack = make_stack(look, plugins=[Watching()])
    session = stack.session("s")
    mine = object()
    await session.eval("await look({})", host=mine)
    await session.eval_with_state("await look({})", host=mine)
    await session.eval("await look({})")
    assert seen == [mine, mine, mine, mine, None, None]
    assert session.host is None


# -- the log ---------------------------------------------------------------------------------

_LOG = "interpstack.sessions.session"


def _lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(one.levelname, one.getMessage()) for one in caplog.records if one.name == _LOG]


async def test_an_engine_that_breaks_is_logged_with_its_cause(
    make_stack: Make, caplog: pytest.LogCaptureFixture
) -> None:
    session = make_stack(engine=_Breaking()).session("k\n")
    assert (await session.eval("break")).state == "lost"
    (broke, text), (level, line) = _lines(caplog)
    assert (broke, text) == ("ERROR", "session 'k\\n': the engine broke")
    assert "the heap is damaged" in caplog.text
    assert level == "WARNING"
    stopped = r"a cell was stopped after \d\.\d s \('EngineFailure'\); variables lost"
    assert re.fullmatch(r"session 'k\\n': " + stopped, line)


async def test_a_cell_that_a_limit_stops_is_logged_without_texts_of_code(
    make_stack: Make, caplog: pytest.LogCaptureFixture
) -> None:
    session = make_stack(limits=Limits(wall_seconds=0.1)).session("k")
    with caplog.at_level("INFO", _LOG):
        assert (await session.eval("raise ValueError('secret')")).error is not None
        assert (await session.eval("await sleep(1e9)")).stopped
    ((level, line),) = _lines(caplog)
    assert level == "INFO"
    assert line.startswith("session 'k': a cell was stopped after ")
    assert line.endswith(" s ('Timeout'); variables kept")


async def test_an_image_that_is_refused_is_logged(
    make_stack: Make, imaging_engine: Any, caplog: pytest.LogCaptureFixture
) -> None:
    session = make_stack(engine=imaging_engine).session("k")
    await session.eval("x = 1")
    await session.hibernate()
    imaging_engine.base = "v2"
    assert (await session.eval("2")).notices
    assert _lines(caplog) == [
        (
            "WARNING",
            "session 'k': 'The state of earlier cells could not be restored: the image was made "
            "by another build'",
        )
    ]
