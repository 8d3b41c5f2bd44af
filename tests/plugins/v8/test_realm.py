"""Heaps come and go: threads, resting, reopening, modules, and other engines."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interpstack import (
    Bridge,
    BridgeRegistry,
    BridgeSet,
    Capability,
    Cell,
    ConfigurationError,
    EngineFailure,
    Image,
    ImageError,
    InterpreterStack,
    Limits,
    Realm,
    Session,
    Settlement,
)


@pytest.fixture
def realm() -> Any:
    from interpstack_v8.engine import V8Engine

    realm = V8Engine().open(Limits(), BridgeSet())
    yield realm
    realm.close()


def _run(realm: Realm, source: str) -> str:
    progress = realm.start(Cell(source=source)).poll(time.time(), 5.0)
    assert progress.completion is not None, progress
    assert progress.completion.error is None, progress.completion.error
    return progress.completion.text


def _isolate_threads() -> int:
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():
        pytest.skip("threads are counted by /proc")
    return sum(_name(task).startswith("jsrun") for task in tasks.iterdir())


def _name(task: Path) -> str:
    try:
        return (task / "comm").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""  # it has ended meanwhile


def _until(condition: Callable[[], bool]) -> bool:
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_capabilities_are_what_v8_can() -> None:
    from interpstack_v8.engine import V8Engine

    assert Capability.IMAGES not in V8Engine.capabilities
    with pytest.raises(ImageError, match="has no images"):
        V8Engine().open(Limits(), BridgeSet(), Image("v8", "base", b""))


def test_an_idle_realm_computes_nothing(realm: Realm) -> None:
    assert _run(realm, "1 + 1") == "2"
    clock = realm.heap.isolate  # type: ignore[attr-defined]
    time.sleep(0.1)  # the thread parks
    before = clock.cpu_seconds
    time.sleep(0.3)
    assert clock.cpu_seconds - before < 0.05


@pytest.mark.skipif(
    not hasattr(time, "pthread_getcpuclockid"), reason="this system has no clocks of threads"
)
def test_a_thread_has_its_clock_before_its_first_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first command that came before the thread parked was once charged less than nothing."""
    from interpstack_v8.engine import V8Engine
    from interpstack_v8.isolates.isolate import Isolate

    monkeypatch.setattr(Isolate, "_rest", lambda self: None)
    realm = V8Engine().open(Limits(), BridgeSet())
    assert realm.heap.isolate.cpu_seconds <= time.process_time()  # no clock of the whole machine
    realm.close()


@pytest.mark.parametrize("after", ["", "for (let i = 0; i < 3e6; i++);"])
def test_short_and_long_cells_answer_alike(realm: Realm, after: str) -> None:
    """A command that takes long tells its answer in another way."""
    for number in range(5):
        assert _run(realm, f"var n = {number}; {after} n + 1") == str(number + 1)
        assert realm.values()["n"] == number


def test_values_are_those_of_the_last_cell() -> None:
    """They are exported when a cell ends, and again when something changes them afterwards."""
    from interpstack_v8.engine import V8Engine

    bridge = Bridge(name="host.get", handler=lambda value: value, raw=True)
    realm = V8Engine().open(Limits(), BridgeRegistry([bridge]).freeze())
    assert _run(realm, "var n = 1; n") == "1"
    realm.load({"n": 5})
    assert realm.values() == {"n": 5}
    execution = realm.start(Cell(source="host.get(1).then(() => { n = 7 }); n = 6"))
    progress = execution.poll(time.time(), 5.0)
    assert progress.completion is not None
    execution.settle([Settlement(progress.requests[0].id, text="null")])
    execution.poll(time.time(), 5.0)
    execution.abort("the cell has ended")
    assert realm.values() == {"n": 7}
    realm.close()


def test_a_realm_closed_at_once_waits_for_its_thread(realm: Realm) -> None:
    assert _run(realm, "for (let i = 0; i < 3e6; i++); 1") == "1"
    realm.close()
    realm.close()
    with pytest.raises(EngineFailure, match="was closed"):
        realm.names()


def test_closed_realms_leave_no_thread() -> None:
    from interpstack_v8.engine import V8Engine

    before, ours = _isolate_threads(), threading.active_count()
    realms = [V8Engine().open(Limits(), BridgeSet()) for _ in range(3)]
    assert _isolate_threads() >= 3
    for realm in realms:
        realm.close()
    assert _until(lambda: _isolate_threads() <= before)
    assert threading.active_count() <= ours + 1  # the owner, if this was the first realm


def test_realms_beyond_the_bound_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    from interpstack_v8.awake_realms import awake_realms
    from interpstack_v8.engine import V8Engine

    before = _isolate_threads()
    monkeypatch.setattr(awake_realms, "bound", 2)
    realms = [V8Engine().open(Limits(), BridgeSet()) for _ in range(6)]
    try:
        for number, realm in enumerate(realms):
            _run(realm, f"const n = {number}; const f = () => n")
            assert _until(lambda: _isolate_threads() <= before + 2)
        for number, realm in enumerate(realms):
            assert _run(realm, "n") == str(number)
            assert list(realm.names()) == ["n", "f"]
    finally:
        for realm in realms:
            realm.close()


def test_a_waiting_cell_does_not_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    from interpstack_v8.awake_realms import awake_realms
    from interpstack_v8.engine import V8Engine

    monkeypatch.setattr(awake_realms, "bound", 1)
    first, second = (V8Engine().open(Limits(), BridgeSet()) for _ in range(2))
    execution = first.start(Cell(source="await new Promise((go) => setTimeout(go, 1)); 5"))
    (request,) = execution.poll(time.time(), 5.0).requests
    assert _run(second, "1") == "1"
    execution.settle([Settlement(request.id)])
    completion = execution.poll(time.time(), 5.0).completion
    assert completion is not None
    assert completion.text == "5"
    first.close()
    second.close()


def test_a_builtin_that_cannot_be_stopped_is_given_up() -> None:
    from interpstack_v8.engine import V8Engine

    before = _isolate_threads()
    realm = V8Engine(give_up_seconds=0.1).open(Limits(), BridgeSet())
    _run(realm, "const keep = 41")
    long = "Array.from({length: 3e6}, (_, i) => 'k' + (i % 7)).join().split('k').length"
    progress = realm.start(Cell(source=long)).poll(time.time(), 0.02)
    assert progress.exhausted or progress.failure is not None
    assert _run(realm, "keep + 1") == "42"
    realm.close()
    assert _until(lambda: _isolate_threads() <= before)


def test_a_builtin_can_be_waited_for() -> None:
    from interpstack_v8.engine import V8Engine

    realm = V8Engine(give_up_seconds=None).open(Limits(), BridgeSet())
    _run(realm, "const keep = () => 41")
    long = "Array.from({length: 3e6}, (_, i) => 'k' + (i % 7)).join().split('k').length"
    assert realm.start(Cell(source=long)).poll(time.time(), 0.02).exhausted
    assert _run(realm, "keep() + 1") == "42"  # the heap is the same
    realm.close()


@pytest.mark.parametrize("wrong", [0, -1.0, "2", True])
def test_wrong_options_are_reported(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="give_up_seconds takes a number above 0, or None"):
        InterpreterStack(engine="v8", options={"give_up_seconds": wrong})


def test_built_ins_that_code_has_replaced_are_named_as_lost(realm: Realm) -> None:
    _run(realm, "[/a/.exec('a'), new URL('http://a/b').href, structuredClone([1])]; const keep = 1")
    assert realm.values() == {"keep": 1}
    _run(realm, "Array.prototype.map = () => 1; Math.max = NaN; Number.EPSILON2 = 1; 0")
    assert _run(realm, "Object.defineProperty(Map.prototype, 'size', {get: () => 1}); 1") == "1"
    names = {"Array.prototype.map", "Math.max", "Number.EPSILON2", "Map.prototype.size"}
    assert realm.values().keys() == {"keep", *names}


def test_a_variable_that_cannot_be_read_in_time_is_lost_alone(realm: Realm) -> None:
    _run(realm, "const keep = 1")
    assert realm.values()["keep"] == 1
    _run(
        realm, "const trap = Object.defineProperty([], 0, {get() { for (;;); }}); const last = 2; 0"
    )
    why = "its value was not exported: reading it took too much time or memory"
    assert realm.values() == {"keep": 1, "trap": {"$": "lost", "v": why}, "last": 2}
    assert _run(realm, "keep") == "1"


async def test_a_thread_may_change_its_engine_and_back() -> None:
    values: dict[str, Any] = {}
    state = "const m = new Map([['k', 1n]]); const d = new Date(5); const f = () => 1; let n = NaN"
    for number, engine in enumerate(["quickjs", "v8", "quickjs"]):
        with InterpreterStack(engine=engine) as stack:
            session = stack.session("thread")
            await session.load(values)
            if number == 0:
                await session.eval(state)
            outcome = await session.eval("[m.get('k'), +d, n]")
            assert (outcome.error, outcome.text) == (None, "[1n, 5, NaN]")
            if number:
                error = (await session.eval("f()")).error
                assert error is not None
                assert "was not restored" in error.message
            values = dict(await session.values())
    assert sorted(values) == ["d", "f", "m", "n"]


async def test_every_kind_of_session_state(session: Session) -> None:
    outcome, state = await session.eval_with_state("const a = {b: [1]}; a")
    assert outcome.text == "{b: [1]}"
    assert state.image is None
    assert state.values == {"a": {"b": [1]}}
    assert not await session.hibernate()


def test_a_process_ends_with_realms_open() -> None:
    code = (
        "from interpstack import InterpreterStack\n"
        "stack = InterpreterStack(engine='v8')\n"
        "print(stack.session('a').eval_sync('6 * 7').text)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


def test_a_kept_cell_whose_heap_is_needed_is_not_continued(realm: Any) -> None:
    realm.start(Cell(source="await new Promise(() => 0)", seed=1)).poll(time.time(), 5.0)
    image = realm.image()
    realm.close()
    realm.heap.rest()
    with pytest.raises(ImageError, match="was released; run it again"):
        realm._kept.take(image).go_on(BridgeSet())


def test_a_realm_without_a_cell_that_waits_is_not_kept(realm: Any) -> None:
    _run(realm, "1")
    with pytest.raises(ImageError, match="only of cells that wait"):
        realm.image()
    with pytest.raises(ConfigurationError, match="no cell waits"):
        realm.resume()
