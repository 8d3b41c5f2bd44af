"""A worker that dies, hangs or talks nonsense costs one cell."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import psutil
import pytest
from brief import brief

from interpstack import (
    BridgeRegistry,
    BridgeSet,
    Cell,
    ConfigurationError,
    Engine,
    InterpreterStack,
    Limits,
    Settlement,
    bridge,
)
from interpstack_process.engine import ProcessEngine
from interpstack_testing import FakeEngine
from interpstack_workers import Command

Make = Callable[..., InterpreterStack]


@bridge("kit.echo")
async def echo(value: Any = None) -> Any:
    return value


GOOD = "let kept = 41; const next = () => ++kept"
SILENT = (
    "the code computed for more than 0.25 s; "
    "the worker process was killed because it did not answer within 2.25 s"
)


@pytest.mark.parametrize(
    ("deed", "found"),
    [
        ("exit", "the worker process ended with status 3"),
        ("leave", "the worker process ended with status 1"),
        ("segfault", "the worker process was killed by SIGSEGV"),
        ("hold", SILENT),
        ("sleep", SILENT),
        ("backtrack", SILENT),
        ("dribble", SILENT),
        ("chatter", SILENT),
        ("raise", "ZeroDivisionError: integer division or modulo by zero"),
        ("recurse", "RecursionError: maximum recursion depth exceeded"),
        ("huge", "it sent a frame of 1099511627776 bytes; at most 268435456"),
        ("odd progress", "it sent malformed data: Progress takes an object; got "),
        ("answer another", "it sent an answer to another command"),
        ("odd error", "it sent a malformed error"),
        ("refuse options", "it refused the cell that it runs (ConfigurationError: forged)"),
        ("refuse image", "it refused the cell that it runs (ImageError: forged)"),
        ("refuse all", "it refused the cell that it runs (NotImplementedError: forged)"),
        ("control", "it used the control connection"),
        ("hang up", "the worker process was killed by SIGKILL"),
    ],
)
def test_a_worker_fails(make: Make, hostile: Any, deed: str, found: str) -> None:
    silent = found is SILENT
    stack = make(hostile(workers=1, grace_seconds=0.5 if silent else 2))
    # 2.25 s: three times the CPU time, a second for the engine to stop the guest, the grace.
    with stack.session("one") as session:
        assert session.eval_sync(GOOD).ok
        with brief(stack) if silent else nullcontext():
            outcome = session.eval_sync(f"//! {deed}\nkept = 0")
        assert outcome.error is not None
        assert outcome.error.name == ("Timeout" if silent else "EngineFailure")
        assert (outcome.stopped, outcome.state) == (True, "undone")
        assert found in outcome.error.message
        assert outcome.error.message.endswith("; variables are as they were before this cell")
        assert session.eval_sync("next()").text == "42"


@pytest.mark.parametrize("keep_state", [True, False])
def test_a_worker_does_not_stop_when_the_wall_time_is_up(
    make: Make, hostile: Any, keep_state: bool
) -> None:
    engine = hostile(workers=1, keep_state=keep_state)
    stack = make(engine, limits=Limits(cpu_seconds=30, wall_seconds=3))
    with stack.session("one") as session:
        assert session.eval_sync(GOOD).ok
        outcome = session.eval_sync("//! sleep\nkept = 0")
        assert outcome.error is not None
        assert outcome.error.name == "Timeout"
        assert outcome.error.message.startswith(
            "the cell took longer than 3 s in total; "
            "the worker process was killed because it did not stop within 0.5 s; "
        )
        if keep_state:
            loss, state, then = "variables are as they were before this cell", "undone", "42"
        else:
            loss = "all variables of earlier cells are lost: states are not kept (keep_state)"
            state, then = "lost", "undefined"
            assert outcome.loss == loss
        assert outcome.error.message.endswith(f"0.5 s; {loss}")
        assert (outcome.stopped, outcome.state) == (True, state)
        assert session.eval_sync("typeof next === 'function' ? next() : undefined").text == then


def test_a_worker_runs_out_of_memory(make: Make, hostile: Any) -> None:
    engine = hostile(workers=1, worker_memory_bytes=2**28)
    with make(engine).session("one") as session:
        session.eval_sync(GOOD)
        error = session.eval_sync("//! hoard\n").error
        assert error is not None
        assert "the worker process ran out of memory (worker_memory_bytes)" in error.message
        assert session.eval_sync("next()").text == "42"


def test_a_worker_uses_up_its_cpu_time(make: Make, hostile: Any) -> None:
    with make(hostile(workers=1, worker_cpu_seconds=3)).session("one") as session:
        session.eval_sync(GOOD)
        error = session.eval_sync("//! backtrack\n").error
        assert error is not None
        assert "used up its CPU time (worker_cpu_seconds)" in error.message
        assert session.eval_sync("next()").text == "42"


def test_processes_that_a_worker_started_end_with_it(
    make: Make, hostile: Any, tmp_path: Path, until: Any
) -> None:
    file = tmp_path / "child"
    engine = hostile(workers=1, worker_environment={"CHILD_FILE": str(file)})
    with make(engine).session("one") as session:
        assert not session.eval_sync("//! beget\n").ok
        child = int(file.read_text())
        until(lambda: not psutil.pid_exists(child))


def test_an_interrupted_worker_that_does_not_stop_is_killed(make: Make, hostile: Any) -> None:
    async def run() -> None:
        stack = make(hostile(workers=1, grace_seconds=0.5), limits=Limits(cpu_seconds=None))
        async with stack.session("one") as session:
            await session.eval(GOOD)
            running = asyncio.ensure_future(session.eval("//! sleep\n"))
            await asyncio.sleep(0.5)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert (await session.eval("next()")).text == "42"

    asyncio.run(asyncio.wait_for(run(), 60))


# -- other sessions ------------------------------------------------------------------------


def test_other_sessions_of_the_worker_lose_nothing(make: Make, hostile: Any, pid_of: Any) -> None:
    stack = make(hostile(workers=1))
    with stack.session("a") as a, stack.session("b") as b, stack.session("new") as new:
        a.eval_sync("let kept = 1")
        b.eval_sync(GOOD)
        new.bind(new.offer)
        assert pid_of(a) == pid_of(b)
        assert not a.eval_sync("//! segfault\n").ok
        assert b.eval_sync("next()").text == "42"
        assert a.eval_sync("kept").text == "1"
        assert new.eval_sync("typeof kept").text == "undefined"
        assert pid_of(a) == pid_of(b)


@pytest.mark.parametrize("again", [1, 2])
async def test_a_cell_that_waits_goes_on_in_another_worker(
    make: Make, hostile: Any, again: int
) -> None:
    """The death of a neighbour is none of its business, and its calls are made once."""
    seen: list[Any] = []
    gates = [asyncio.Event() for _ in range(2)]
    reached = [asyncio.Event() for _ in range(2)]

    @bridge("kit.wait")
    async def wait(value: int) -> int:
        seen.append(value)
        reached[value].set()
        await gates[value].wait()
        return value

    stack = make(hostile(workers=1), bridges=[wait])
    a, b = stack.session("a"), stack.session("b")
    await a.eval("let kept = 7")
    code = "kept = 8; let sum = 1; for (const v of [0, 1]) sum += await kit.wait({value: v}); sum"
    running = asyncio.ensure_future(a.eval(code))
    for step in range(2):
        await reached[step].wait()
        if step < again:
            assert not (await b.eval("//! exit\n")).ok
        gates[step].set()
    outcome = await asyncio.wait_for(running, 60)
    assert (outcome.error, outcome.text) == (None, "2")
    assert seen == [0, 1]
    assert (await a.eval("[kept, sum].join()")).text == "8,2"


async def test_what_a_carried_cell_did_is_undone_when_it_fails(make: Make, hostile: Any) -> None:
    gate, reached = asyncio.Event(), asyncio.Event()

    @bridge("kit.wait")
    async def wait() -> None:
        reached.set()
        await gate.wait()

    stack = make(hostile(workers=1), bridges=[wait])
    a, b = stack.session("a"), stack.session("b")
    await a.eval("let kept = 7; function down() { down() }")
    running = asyncio.ensure_future(a.eval("kept = 8; await kit.wait({}); down()"))
    await reached.wait()
    assert not (await b.eval("//! exit\n")).ok
    gate.set()
    outcome = await asyncio.wait_for(running, 60)
    assert outcome.error is not None
    assert outcome.error.name == "RangeError"
    assert "undone" in outcome.error.message
    assert (await a.eval("kept")).text == "7"


async def test_calls_in_flight_are_never_made_again(make: Make, until: Any) -> None:
    """Their cell waits, so it is repeated up to there when its worker is killed from outside."""
    seen: list[float] = []
    reached = asyncio.Event()
    gate = asyncio.Event()

    @bridge("kit.wait")
    async def wait(value: float) -> float:
        seen.append(value)
        if len(seen) == 3:
            reached.set()
        await gate.wait()
        return value

    session = make(bridges=[wait]).session("one")
    await session.eval(GOOD)
    code = (
        "kept++; const drawn = Math.random(); "
        "const got = await Promise.all([0, 1, 2].map((value) => kit.wait({value}))); "
        "[...got, await kit.wait({value: drawn}) === drawn]"
    )
    running = asyncio.ensure_future(session.eval(code))
    await reached.wait()
    realm: Any = session._state.realm
    worker = realm.residence.worker
    os.kill(worker.pid, signal.SIGKILL)
    until(lambda: worker.ended)
    gate.set()
    outcome = await asyncio.wait_for(running, 30)
    assert (outcome.error, outcome.text) == (None, "[0, 1, 2, true]")
    assert seen[:3] == [0, 1, 2]
    assert len(seen) == 4
    assert (await session.eval("next()")).text == "43"


async def test_work_after_the_end_of_a_cell_is_lost_with_a_notice(make: Make, pid_of: Any) -> None:
    reached = asyncio.Event()

    @bridge("kit.wait")
    async def wait() -> None:
        reached.set()
        await asyncio.sleep(0.5)

    session = make(bridges=[wait]).session("one")
    cell = asyncio.ensure_future(session.eval("let left = 1; kit.wait().then(() => left++); left"))
    await reached.wait()
    os.kill(pid_of(session), signal.SIGKILL)
    outcome = await asyncio.wait_for(cell, 30)
    assert (outcome.error, outcome.text) == (None, "1")
    assert outcome.notices == (
        "the worker process was killed by SIGKILL; changes by code that ran after the end of the "
        "cell were undone",
    )
    assert (await session.eval("left")).text == "1"


# -- undoing and resuming ------------------------------------------------------------------


@pytest.mark.parametrize("dies", [False, True])
def test_a_cell_can_be_undone(make: Make, dies: bool, workers: Any) -> None:
    engine = make(options={"workers": 1}).engine
    registry = BridgeRegistry()
    registry.bridge(echo)
    realm = engine.open(Limits(), registry.freeze())
    for source in ("let kept = 41; const next = () => ++kept", "kept = 0; await kit.echo({})"):
        execution = realm.start(Cell(source=source))
        progress = execution.poll(0.0, 5.0)
    assert len(progress.requests) == 1
    if dies:
        workers()[0].kill()
    execution.abort("paused")
    execution.undo()
    progress = realm.start(Cell(source="next()")).poll(0.0, 5.0)
    assert progress.completion is not None
    assert progress.completion.text == "42"
    realm.close()


@pytest.mark.parametrize("dies", ["", "before the poll", "in the poll", "with its neighbour"])
def test_a_suspended_cell_goes_on(
    make: Make, hostile: Any, dies: str, workers: Any, until: Any
) -> None:
    engine = make(hostile(workers=1)).engine
    registry = BridgeRegistry()
    registry.bridge(echo)
    bridges = registry.freeze()
    first = engine.open(Limits(), bridges)
    first.start(Cell(source="let kept = 41")).poll(0.0, 5.0)
    before = first.image()
    code = "kept = await kit.echo({}); kept += await kit.echo({}); for (; kept > 99;); kept"
    (request,) = first.start(Cell(source=code)).poll(0.0, 5.0).requests
    realm = engine.open(Limits(), bridges, first.image())
    first.close()
    execution = realm.resume(before)
    if dies == "before the poll":
        (worker,) = workers()
        worker.kill()
        until(lambda: not worker.is_running())
    execution.settle([Settlement(request.id, "1")])
    (request,) = execution.poll(0.0, 5.0).requests
    if dies == "with its neighbour":
        other = engine.open(Limits(), bridges)
        assert other.start(Cell(source="//! exit\n")).poll(0.0, 5.0).failure is not None
    if dies == "in the poll":
        execution.settle([Settlement(request.id, "100")])  # the loop does not end then
        killing = threading.Timer(0.2, workers()[0].kill)
        killing.start()
        assert execution.poll(0.0, 5.0).failure is not None
        killing.join()
        execution = realm.start(Cell(source="kept"))
        expected = "41"
    else:
        execution.settle([Settlement(request.id, "2")])
        expected = "3"
    completion = execution.poll(0.0, 5.0).completion
    assert completion is not None
    assert completion.text == expected
    realm.close()


def test_only_a_realm_of_a_suspended_cell_can_resume(make: Make) -> None:
    realm = make(options={"workers": 1}).engine.open(Limits(), BridgeSet())
    with pytest.raises(ConfigurationError, match="no cell was running"):
        realm.resume()
    realm.close()


# -- engines without images ----------------------------------------------------------------


@pytest.fixture
def python(make: Make) -> Iterator[Any]:
    """A session of Python cells, which can do to their process what they like."""
    engine: Engine = ProcessEngine.around(FakeEngine)(workers=1)
    with make(engine).session("one") as session:
        yield session


def test_values_are_what_survives(python: Any) -> None:
    python.eval_sync("kept = {'a': [1, 2.5]}")
    python.eval_sync("def f(): return 1")
    error = python.eval_sync("kept = 0\nimport os\nos._exit(5)").error
    assert error.message == (
        "the worker process ended with status 5; variables of earlier cells are restored from "
        "their values; not restored: f"
    )
    assert python.eval_sync("kept").text == "{'a': [1, 2.5]}"
    assert "not serializable" in python.eval_sync("f").error.message


@pytest.mark.parametrize("by_neighbour", [True, False])
def test_what_cannot_be_kept_is_reported_once(
    make: Make, monkeypatch: pytest.MonkeyPatch, by_neighbour: bool, trapdoor: Any
) -> None:
    stack = make(ProcessEngine.around(trapdoor.Forgetful)(workers=1))
    with stack.session("one") as one, stack.session("other") as other:
        one.eval_sync("kept = 1")
        other.eval_sync("1")
        (other if by_neighbour else one).eval_sync("import os\nos._exit(5)")
        if by_neighbour:
            outcome = one.eval_sync("2")
            error = outcome.error
            assert error is not None
            assert outcome.state == "lost"
            assert error.message.startswith("the worker process died; all variables of earlier")
        assert one.eval_sync("2").text == "2"
        assert one.eval_sync("kept").error is not None


def test_without_kept_states_sessions_start_anew(make: Make, hostile: Any) -> None:
    with make(hostile(workers=1, keep_state=False)).session("one") as session:
        session.eval_sync(GOOD)
        outcome = session.eval_sync("//! exit\n")
        error = outcome.error
        assert error is not None
        assert (outcome.stopped, outcome.state) == (True, "lost")
        assert error.message.endswith(f"; {outcome.loss}")
        assert "all variables of earlier cells are lost: states are not kept" in error.message
        assert session.eval_sync("typeof kept").text == "undefined"


# -- starting ------------------------------------------------------------------------------


def test_an_engine_that_does_not_start_is_an_answer(make: Make, trapdoor: Any) -> None:
    engine = ProcessEngine.around(trapdoor.Unstartable)()
    with make(engine).session("one") as session:
        error = session.eval_sync("1").error
        assert error is not None
        assert "ended with status 1 while it started (OSError: the guest's file is missing)" in (
            error.message
        )


def test_a_realm_that_takes_every_worker_down_is_given_up(make: Make, trapdoor: Any) -> None:
    with make(ProcessEngine.around(trapdoor.Undying)(workers=1)).session("one") as session:
        error = session.eval_sync("1").error
        assert error is not None
        assert "no worker process can open the state" in error.message


def test_a_python_that_is_not_there(make: Make) -> None:
    stack = make(options={"worker_python": "/no/such/python"})
    error = stack.session("one").eval_sync("1").error
    assert error is not None
    assert "no worker process can be started" in error.message


def test_output_on_standard_error_goes_nowhere(
    make: Make, hostile: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    with make(hostile(workers=1)).session("one") as session:
        assert session.eval_sync("//! flood\n1").text == "1"
    assert capfd.readouterr() == ("", "")


def test_a_worker_gets_its_own_environment_and_limits(
    make: Make, hostile: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    engine = hostile(workers=1, worker_environment={"CHOSEN": "yes"}, worker_files=128)
    with make(engine).session("one") as session:
        data = json.loads(session.eval_sync("//! environment\n").text)
    accepted = {"CHOSEN", "HOME", "INTERPSTACK_CACHE_DIR", "LC_CTYPE", "LD_LIBRARY_PATH"}
    assert data["environ"].keys() <= accepted | {"PYTHONPATH", "TZ", "XDG_CACHE_HOME"}
    assert data["environ"]["CHOSEN"] == "yes"
    assert data["cwd"] == "/"
    assert (data["CORE"], data["DATA"]) == ([0, 0], [2**31, 2**31])
    assert data["NOFILE"] == [128, 128]


#: Makes millions of properties in one built-in of V8 that looks at no time limit.
SLOW_BUILTIN = 'Object.assign({}, "a".repeat(24e6))'


@pytest.mark.parametrize(
    ("given", "name", "found", "survives"),
    [
        # on a busy machine, too, there is time for V8 before the worker is held for dead
        ({"grace_seconds": 1.6}, "Timeout", "did not answer within 3.5 s", False),
        (
            {"give_up_seconds": 0.2, "grace_seconds": 5.0},
            "Timeout",
            "the guest's heap was abandoned",
            True,
        ),
    ],
)
async def test_a_builtin_that_v8_does_not_leave_costs_its_worker(
    given: dict[str, Any], name: str, found: str, survives: bool
) -> None:
    """Unless V8 is asked to give the heap up, as it does where there is no worker to lose."""
    pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")
    options = {"workers": 1, **given}
    with InterpreterStack("process:v8", limits=Limits(cpu_seconds=0.3), options=options) as stack:
        session = stack.session("thread")
        await session.eval("let kept = 41")
        first = {child.pid for child in psutil.Process().children()}
        outcome = await session.eval(SLOW_BUILTIN)
        assert outcome.error is not None
        assert outcome.error.name == name
        assert found in outcome.error.message
        assert (await session.eval("kept + 1")).text == "42"
        assert (first == {child.pid for child in psutil.Process().children()}) == survives


def test_a_command_that_is_left_half_way_ends_the_worker(make: Make) -> None:
    """What is left of it would be read as the answer to another session's command."""
    stack = make(options={"workers": 1})
    session = stack.session("one")
    session.eval_sync("var x = 1")
    worker = session._state.realm.residence.worker
    with pytest.raises(TypeError):
        worker.ask(Command({"do": "load"}, "no bytes", seconds=5))
    assert worker.ended
    assert "could not be sent" in worker.reason
    assert stack.session("two").eval_sync("2").text == "2"
