"""How the engine is asked for, and what it passes on."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from interpstack import (
    BridgeSet,
    ConfigurationError,
    Image,
    ImageError,
    InterpreterStack,
    Isolation,
    Limits,
    UnknownEngine,
    bridge,
)
from interpstack_process.engine import ProcessEngine
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_testing import FakeEngine

Make = Callable[..., InterpreterStack]


def test_it_is_what_the_inner_engine_is_but_for_the_isolation(make: Make, workers: Any) -> None:
    engine = make("process:quickjs").engine
    assert (engine.name, engine.language) == ("process:quickjs", "javascript")
    assert engine.isolation is Isolation.PROCESS
    assert engine.capabilities == QuickJSEngine.capabilities
    assert ProcessEngine.around(FakeEngine).capabilities == FakeEngine.capabilities
    assert workers() == []


@pytest.mark.parametrize(
    ("name", "error", "found"),
    [
        ("process", ConfigurationError, "name the engine .* as in 'process:quickjs'"),
        ("process:", ConfigurationError, "name an engine on both sides of the colon"),
        ("process:quickly", UnknownEngine, "unknown engine 'quickly'; known: .*quickjs"),
        ("processes:quickjs", UnknownEngine, "unknown engine 'processes'; known: .*process"),
        ("process:process:quickjs", ConfigurationError, "cannot run 'process:quickjs'"),
        ("process:node", ConfigurationError, "its guests have processes of their own; ask for"),
        ("quickjs:process", ConfigurationError, "engine 'quickjs' cannot run another engine"),
    ],
)
def test_wrong_names_are_refused(name: str, error: type[Exception], found: str) -> None:
    with pytest.raises(error, match=found):
        InterpreterStack(name)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"workers": 0}, "workers takes a number of at least 1"),
        ({"workers": "two"}, "workers takes a whole number; got 'two'"),
        ({"grace_seconds": 0}, "grace_seconds takes a number of at least 0.1"),
        ({"keep_state": "no"}, "keep_state takes True or False; got 'no'"),
        ({"worker_memory_bytes": 5}, "worker_memory_bytes takes a whole number of at least 67108"),
        ({"worker_cpu_seconds": 0.5}, "worker_cpu_seconds takes a whole number of at least 1"),
        ({"worker_files": True}, "worker_files takes a whole number of at least 32, or None"),
        (
            {"worker_message_bytes": 5},
            "worker_message_bytes takes a number of at least 1048576; got 5",
        ),
        ({"worker_python": 5}, "worker_python takes the path of a Python interpreter, .*; got 5"),
        ({"worker_python": ""}, "worker_python takes the path of a Python interpreter"),
        (
            {"worker_environment": {"A": 1}},
            "takes a mapping of names to values, all of them strings",
        ),
        ({"worker_environment": 5}, "all of them strings; got 5"),
        ({"flavour": "x"}, "engine 'process:quickjs' does not take these options: .*'flavour'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], found: str) -> None:
    with pytest.raises(ConfigurationError, match=found):
        InterpreterStack("process:quickjs", options=options)


def test_what_the_inner_engine_refuses_is_refused_before_a_worker_starts(workers: Any) -> None:
    pytest.importorskip("jsrun")
    with pytest.raises(ConfigurationError, match=r"give_up_seconds takes a number .*'x'"):
        InterpreterStack("process:v8", options={"give_up_seconds": "x"})
    assert workers() == []


class Fussy(FakeEngine):
    """Refuses some options; fails with others, or when it is closed."""

    name = "fussy"
    closed = 0

    def __init__(self, *, error: str = "") -> None:
        if error:
            raise {"value": ValueError, "type": TypeError, "os": OSError}[error]("not so")

    def close(self) -> None:
        Fussy.closed += 1
        raise OSError("it does not close")


def test_an_inner_engine_is_made_once_to_see_its_options_refused() -> None:
    cls = ProcessEngine.around(Fussy)
    cls().close()
    assert Fussy.closed == 1
    with pytest.raises(ConfigurationError, match="engine 'fussy' refuses its options: not so"):
        cls(error="value")
    with pytest.raises(TypeError, match="not so"):  # of which the stack makes another
        cls(error="type")
    cls(error="os").close()  # may be different in a worker
    assert Fussy.closed == 1


def test_options_reach_the_inner_engine(make: Make, hostile: Any) -> None:
    session = make(hostile(workers=1, label="chosen")).session("one")
    assert session.eval_sync("//! label\n").text == "chosen"
    with pytest.raises(ConfigurationError, match="must be plain JSON values to reach a worker"):
        hostile(label=b"bytes")
    with pytest.raises(ConfigurationError, match="they come out as something else"):
        hostile(label=("a", "b"))


def test_an_engine_that_no_worker_can_import_is_refused() -> None:
    class Local(QuickJSEngine):
        pass

    with pytest.raises(ConfigurationError, match="define its class at the top of a module"):
        ProcessEngine.around(Local)


def test_an_engine_of_another_distribution_is_found_by_its_entry_point(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spare_engine.py").write_text(
        "from interpstack import hookimpl\n"
        "from interpstack_testing import FakeEngine\n"
        "class Spare(FakeEngine):\n"
        "    name = 'spare'\n"
        "@hookimpl\n"
        "def interpstack_register_engine(): return Spare\n"
    )
    info = tmp_path / "spare-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: spare\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[interpstack]\nspare = spare_engine\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    session = make("process:spare").session("one")
    assert session.eval_sync("6 * 7").text == "42"


def test_its_images_are_those_of_the_inner_engine(make: Make) -> None:
    inner = make("quickjs").session("one")
    inner.eval_sync("let kept = 41; const next = () => ++kept")
    image = asyncio.run(inner.image())
    assert image is not None
    session = make("process:quickjs").session("one")
    asyncio.run(session.restore(image))
    assert session.eval_sync("next()").text == "42"
    back = asyncio.run(session.image())
    asyncio.run(inner.restore(back))
    assert inner.eval_sync("next()").text == "43"


def test_a_damaged_image_is_refused_and_harms_no_worker(make: Make, workers: Any) -> None:
    engine = make(options={"workers": 1}).engine
    realm = engine.open(Limits(), BridgeSet())
    image = realm.image()
    before = [worker.pid for worker in workers()]
    with pytest.raises(ImageError):
        engine.open(Limits(), BridgeSet(), Image(image.engine, image.base, image.data[:-9]))
    assert [worker.pid for worker in workers()] == before


def test_the_state_kept_after_a_cell_is_its_image(make: Make, workers: Any) -> None:
    """So that an adapter that stores it does not pay for it twice."""
    engine = make(options={"workers": 1}).engine
    session = make(engine).session("one")
    _, state = asyncio.run(session.eval_with_state("let kept = 41"))
    assert state.image is session._state.realm.residence.saved.image  # type: ignore[union-attr]
    assert state.values == {"kept": 41}


def test_bridges_and_guest_sources_change_with_the_turn(make: Make) -> None:
    stack = make(plugins=["console", "ptc"])
    session = stack.session("one")
    outcome = session.eval_sync("console.log('seen'); typeof kit.echo")
    assert (outcome.console.strip(), outcome.text) == ("seen", "function")


async def test_two_cells_compute_at_once(make: Make) -> None:
    stack = make(options={"workers": 2}, limits=Limits(cpu_seconds=20.0))
    code = "let n = 0; for (let i = 0; i < 3e6; i++) n = (n * 31 + i) | 0; 'done'"
    sessions = [stack.session(name) for name in ("one", "two")]
    await asyncio.gather(*(session.eval("1") for session in sessions))
    pool: Any = stack.engine
    before = [sum(psutil.Process(w.pid).cpu_times()[:2]) for w in pool.pool.workers]
    outcomes = await asyncio.gather(*(session.eval(code) for session in sessions))
    after = [sum(psutil.Process(w.pid).cpu_times()[:2]) for w in pool.pool.workers]
    assert [outcome.text for outcome in outcomes] == ["done", "done"]
    spent = [b - a for a, b in zip(before, after, strict=True)]
    assert min(spent) > 0.5 * max(spent)  # each worker ran one of them


async def test_large_values_cross_both_ways(make: Make) -> None:
    seen: list[int] = []

    @bridge("kit.take")
    async def take(text: str) -> str:
        seen.append(len(text))
        return text

    session = make(bridges=[take]).session("one")
    code = "const text = 'é\"'.repeat(2e6); (await kit.take({text})) === text"
    outcome = await session.eval(code)
    assert (outcome.error, outcome.text) == (None, "true")
    assert seen == [4_000_000]


@pytest.mark.parametrize("grow", ["[a]", "{$: a}", "new Map([[1, a]])", "new Map([[a, 1]])"])
async def test_values_as_deep_as_a_guest_may_make_them_cross(make: Make, grow: str) -> None:
    session = make(plugins=[]).session("deep")
    grown = await session.eval(f"let a = 1; for (let i = 0; i < 188; i++) a = {grow}; 0")
    assert grown.ok
    values = await session.values()
    assert values["a"] != 1
    await session.reset()
    await session.load(values)
    assert (await session.values())["a"] == values["a"]


async def test_a_hundred_sessions_share_two_workers(make: Make, workers: Any) -> None:
    stack = make(options={"workers": 2}, max_live_sessions=100)
    sessions = [stack.session(f"s{n}") for n in range(100)]
    code = "let own = await kit.echo({value: %d}); own"
    outcomes = await asyncio.gather(*(s.eval(code % n) for n, s in enumerate(sessions)))
    assert [outcome.text for outcome in outcomes] == [str(n) for n in range(100)]
    assert len(workers()) == 2


def test_unknown_options_list_those_of_both_engines() -> None:
    with pytest.raises(ConfigurationError, match=r"it has: workers, .*worker_python, give_up_sec"):
        InterpreterStack("process:v8", options={"flavour": "x"})
