"""Kernels that a cell has replaced: what they print, give and take is bounded, and told."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest

from interpstack import BridgeSet, Cell, EngineFailure, InterpreterStack, Limits, Realm, Settlement
from interpstack_monty.crossing.results import completion_of
from interpstack_monty.engine import MontyEngine

Offer = Callable[..., BridgeSet]
KERNEL = ("bind", "show", "globals", "export", "seed", "locals")


@pytest.fixture(scope="module")
def cpu_seconds() -> float:
    """Little: some exports never end."""
    return 1.0


def replacing(name: str, code: str) -> str:
    """A cell that puts another function in the kernel's place."""
    return f"exec({'__inter'!r} + {f'pstack_{name}__ = {code}'!r})"


def ends(realm: Realm, source: str) -> Any:
    execution = realm.start(Cell(source=source))
    progress = execution.poll(1.0, 5.0)
    if progress.exhausted:
        return execution.abort("its time is up").failure
    return progress.failure or progress.completion.error


def test_only_one_place_runs_code_of_the_host() -> None:
    calling = [
        path.name
        for path in files("interpstack_monty").iterdir()
        if path.name.endswith(".py") and "feed_run(" in path.read_text("utf-8")
    ]
    assert calling == ["workers.py"]


@pytest.mark.parametrize("name", KERNEL)
async def test_the_kernel_prints_nowhere(
    stack: InterpreterStack, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    async with stack.session() as session:
        await session.eval("x = 1")
        await session.eval(replacing(name, "lambda *a: print('forged')"))
        await session.eval("kit = 5")
        for _ in range(2):
            await session.eval("x")
            await session.eval_with_state("x", wants_values=bool)
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no shell that starts a worker")
async def test_a_worker_that_ends_itself_writes_nowhere(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Monty says there by how much the code exceeds its memory; a guest could repeat it at will."""
    limits = Limits(memory_bytes=2**23)
    with InterpreterStack("monty", limits=limits) as stack, stack.session() as session:
        outcome = await session.eval("','.join(['abc' * 1000] * 10**6)")
        assert outcome.error is not None
        assert outcome.error.name == "OutOfMemory"
        assert (await session.eval("6 * 7")).text == "42"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "code",
    [
        "5",
        "lambda *a: 5",
        "lambda *a: {}",
        "lambda *a: {'x': 5, 'y': [1]}",
        "lambda *a: {'x': [1, None, 2], 'y': [1, 5]}",
        "lambda *a: {'x': [print, None], 'y': [{1: {2}}, [3]]}",
        "lambda *a: {5: [1, None], None: 2}",
        "lambda values, *a: {'x': [values['deep'], None]}",
        "lambda values, *a: {'x': [values['wide'], None], 'y': [values['wide'], None]}",
        "lambda *a: 1 / 0",
        "lambda *a: again()",
    ],
)
async def test_an_export_may_give_anything(stack: InterpreterStack, code: str) -> None:
    async with stack.session() as session:
        await session.eval("x = y = 1\ndef again(): return again()")
        await session.eval("wide = deep = 1\nfor _ in range(900): deep = [deep]")
        await session.eval("for _ in range(40): wide = [wide, wide]\n0")
        await session.eval(replacing("export", code))
        found = await session.values()
        assert {found[name]["$"] for name in ("x", "y")} == {"lost"}
        assert all(0 < len(found[name]["v"]) < 400 for name in ("x", "y"))
        outcome, state = await session.eval_with_state("x", wants_values=bool)
        assert (outcome.text, state.image is not None) == ("1", True)


@pytest.mark.parametrize(
    ("code", "failed"),
    [
        ("lambda *a: 'x 5 x __inter' + 'pstack_x__\\n5'", False),
        ("lambda *a: '\\nkit x'", False),
        ("lambda *a: [['x'], []]", True),
        ("lambda *a: 5", True),
        ("lambda *a: {}", True),
        ("5", True),
        ("lambda *a: 1 / 0", True),
    ],
)
def test_the_names_may_be_anything(
    engine: MontyEngine, offer: Offer, code: str, failed: bool
) -> None:
    realm = engine.open(Limits(), offer("kit.echo"))
    assert ends(realm, "x = 1") is None
    error = ends(realm, replacing("globals", code))
    assert (error is not None) is failed
    if failed:
        assert "undone" in error.message
    assert set(realm.names()) <= {"x"}
    assert ends(realm, "x") is None
    realm.values()


@pytest.mark.parametrize("name", ["seed", "globals", "bind", "show"])
@pytest.mark.parametrize("seconds", [0.3, None])
def test_a_kernel_that_never_returns_is_stopped(
    engine: MontyEngine, offer: Offer, name: str, seconds: float | None, monkeypatch: Any
) -> None:
    monkeypatch.setattr("interpstack_monty.workers.TRUSTED_SECONDS", 0.5)
    begun = time.perf_counter()
    realm = engine.open(Limits(cpu_seconds=seconds), offer("kit.echo"))
    ends(realm, f"def spin(*a):\n    while True: pass\n{replacing(name, 'spin')}\nkit = 5")
    execution = realm.start(Cell(source="1"))
    with contextlib.suppress(EngineFailure):  # the realm is lost
        execution.poll(1.0, 0.5)
    execution.abort("enough")
    assert time.perf_counter() - begun < 10


@pytest.mark.parametrize(
    "output",
    [5, [], ["x"], ["x", 0, 0, 0], {"x": 1}, "text", "1 2 3 text"],
)
def test_results_of_no_known_form_are_reported(output: Any) -> None:
    assert "cannot be read" in completion_of(output, 100).error.message


@pytest.mark.parametrize(("omitted", "found"), [(10**19, 2**31), (7, 7)], ids=["large", "right"])
def test_what_is_left_out_is_bounded(omitted: int, found: int) -> None:
    completion = completion_of(f"{omitted} 0 0 {'x' * 200}", 100)
    assert completion.omitted_chars == found
    assert (len(completion.text), completion.handle, completion.undefined) == (100, False, False)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("raise TimeoutError('feed time limit exceeded')", "TimeoutError"),
        ("raise TimeoutError('feed time limit exceeded: 1.0001s > 1s')", "TimeoutError"),
        ("raise MemoryError('x')", "MemoryError"),
        ("raise MemoryError", "MemoryError"),
    ],
)
async def test_verdicts_of_the_host_cannot_be_imitated(
    stack: InterpreterStack, source: str, name: str
) -> None:
    async with stack.session() as session:
        error = (await session.eval(f"x = 1\n{source}")).error
        assert (error.name, error.stack) == (name, "  at cell:2 in <module>")
        assert (await session.eval("x")).text == "1"


def test_a_cell_that_is_wound_down_cannot_imitate_them(engine: MontyEngine, offer: Offer) -> None:
    realm = engine.open(Limits(), offer("kit.echo"))
    imitated = "raise TimeoutError('feed time limit exceeded: 30s > 30s')"
    execution = realm.start(
        Cell(source=f"x = 1\ntry:\n    await kit.echo(1)\nexcept BaseException:\n    {imitated}")
    )
    assert execution.poll(1.0, 5.0).requests
    assert execution.abort("enough").failure is None
    assert realm.names() == ("x",)


def test_time_spent_before_a_pause_counts(engine: MontyEngine, offer: Offer) -> None:
    limits = Limits(cpu_seconds=0.6)
    realm = engine.open(limits, offer("kit.echo"))
    work = "import time\nfor i in range(2_500_000): pass\nawait kit.echo(1)\nwhile True: pass"
    execution = realm.start(Cell(source=work))
    assert execution.poll(1.0, 0.6).requests
    other = engine.open(limits, offer("kit.echo"), realm.image())
    execution.abort("goes on elsewhere")
    resumed = other.resume()
    resumed.settle([Settlement(1, "1")])
    progress = resumed.poll(2.0, 5.0)
    assert progress.exhausted
