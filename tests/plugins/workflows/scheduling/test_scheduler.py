"""Slots: fair, capped, and never lost."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_workflows.scheduling.scheduler import Rate, Scheduler


async def settled() -> None:
    """Let all tasks run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


class Calls:
    """Calls that occupy their slots until they are released."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.began: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self._ends: dict[str, asyncio.Event] = {}

    async def start(self, name: str, run_id: str = "r", **fields: Any) -> None:
        self._ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._call(name, run_id, fields))
        await settled()

    async def _call(self, name: str, run_id: str, fields: dict[str, Any]) -> None:
        async with self._scheduler.slot(run_id, **fields):
            self.began.append(name)
            await self._ends[name].wait()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await settled()

    async def end_all(self) -> None:
        for name in list(self._ends):
            await self.end(name)
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)


async def test_no_more_than_the_limit_work_at_once() -> None:
    scheduler = Scheduler(2)
    calls = Calls(scheduler)
    for name in "abcd":
        await calls.start(name)
    assert (calls.began, scheduler.working) == (["a", "b"], 2)
    await calls.end("b")
    assert calls.began == ["a", "b", "c"]
    await calls.end_all()
    assert scheduler.working == 0


async def test_runs_take_turns() -> None:
    calls = Calls(Scheduler(1))
    await calls.start("first", "x")
    for number in range(3):
        await calls.start(f"big{number}", "big")
    await calls.start("small", "small")
    for name in ("first", "big0", "small", "big1", "big2"):
        await calls.end(name)
    assert calls.began == ["first", "big0", "small", "big1", "big2"]


async def test_children_of_a_run_take_turns_with_it() -> None:
    calls = Calls(Scheduler(1))
    await calls.start("first")
    for number in range(2):
        await calls.start(f"child{number}", scope=("child",))
    for number in range(2):
        await calls.start(f"own{number}")
    for name in ("first", "child0", "own0", "child1", "own1"):
        await calls.end(name)
    assert calls.began == ["first", "child0", "own0", "child1", "own1"]


async def test_the_higher_priority_goes_first() -> None:
    calls = Calls(Scheduler(1))
    await calls.start("first")
    await calls.start("low", priority=-1)
    await calls.start("usual")
    await calls.start("high", priority=5)
    for name in ("first", "high", "usual", "low"):
        await calls.end(name)
    assert calls.began == ["first", "high", "usual", "low"]


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"per_model": {"m": 1}}, {"model": "m"}),
        ({"per_provider": {"p": 1}}, {"provider": "p"}),
        ({"per_run": 1}, {}),
    ],
)
async def test_a_full_model_blocks_nobody_else(options: Any, fields: Any) -> None:
    calls = Calls(Scheduler(4, **options))
    await calls.start("a", **fields)
    await calls.start("b", **fields)
    await calls.start("other", "other run")
    assert calls.began == ["a", "other"]
    await calls.end("a")
    assert calls.began == ["a", "other", "b"]
    await calls.end_all()


async def test_a_rate_lets_others_pass_and_goes_on_by_itself() -> None:
    now = [0.0]
    scheduler = Scheduler(8, rates=[Rate(seconds=0.02, calls=1, model="m")], clock=lambda: now[0])
    calls = Calls(scheduler)
    await calls.start("a", model="m")
    await calls.start("b", model="m")
    await calls.start("other")
    assert calls.began == ["a", "other"]
    now[0] = 0.03
    while "b" not in calls.began:  # noqa: ASYNC110 - a timer of the scheduler
        await asyncio.sleep(0.005)
    await calls.end_all()


async def test_tokens_have_a_rate() -> None:
    now = [0.0]
    scheduler = Scheduler(8, rates=[Rate(seconds=10, tokens=100)], clock=lambda: now[0])
    calls = Calls(scheduler)
    await calls.start("large", tokens=500)  # alone, whatever its size
    await calls.start("small", tokens=1)
    assert calls.began == ["large"]
    now[0] = 11.0
    await calls.start("next", tokens=1)
    assert sorted(calls.began) == ["large", "next", "small"]
    await calls.end_all()


async def test_a_caller_that_goes_leaves_its_place() -> None:
    scheduler = Scheduler(1)
    calls = Calls(scheduler)
    for name in "abc":
        await calls.start(name)
    calls.tasks["b"].cancel()
    await calls.end("a")
    assert calls.began == ["a", "c"]
    await calls.end_all()
    assert scheduler.working == 0


@pytest.mark.parametrize("seed", range(20))
async def test_cancelled_callers_lose_no_slot(seed: int) -> None:
    chance = random.Random(seed)
    scheduler = Scheduler(3, per_model={"m": 2}, per_run=2)

    async def call() -> None:
        run_id, model = chance.choice("xyz"), chance.choice(["m", None])
        scope = tuple(chance.choices("ab", k=chance.randrange(3)))
        async with scheduler.slot(run_id, model=model, scope=scope):
            assert scheduler.working <= 3
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)

    tasks = [asyncio.create_task(call()) for _ in range(60)]
    while not all(task.done() for task in tasks):
        if chance.random() < 0.3:
            chance.choice(tasks).cancel()
        await asyncio.sleep(0)
    assert scheduler.working == 0
    async with asyncio.timeout(5), scheduler.slot("later"):
        assert scheduler.working == 1
    assert not any(task.exception() for task in tasks if not task.cancelled())


async def test_an_error_gives_the_slot_back() -> None:
    scheduler = Scheduler(1)
    with pytest.raises(ZeroDivisionError):
        async with scheduler.slot("r"):
            raise ZeroDivisionError
    assert scheduler.working == 0


@pytest.mark.parametrize(
    "options",
    [{"max_agents": 0}, {"per_run": -1}, {"per_model": {"m": 0}}, {"per_provider": {"p": "2"}}],
)
def test_limits_are_whole_numbers(options: Any) -> None:
    with pytest.raises(ConfigurationError, match="whole numbers above 0"):
        Scheduler(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"per_model": [("m", 1)]}, r"limits by the names of models as per_model; got \[\('m', 1"),
        (
            {"per_provider": {"": 1}},
            "limits by the names of providers as per_provider; got {'': 1}",
        ),
        ({"rates": [5]}, "a list of Rates; got 5 in it"),
        ({"rates": Rate(seconds=1, calls=1)}, "a list of Rates; got Rate"),
        ({"rates": 5}, "a list of Rates; got 5"),
    ],
)
def test_a_limit_that_would_fail_or_limit_nothing_is_refused(options: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"Scheduler takes {message}"):
        Scheduler(**options)


@pytest.mark.parametrize("fields", [{"model": 5}, {"provider": ""}])
def test_a_rate_is_for_a_provider_or_a_model_by_name(fields: Any) -> None:
    with pytest.raises(ConfigurationError, match="Rate takes names as provider and model"):
        Rate(seconds=1, calls=1, **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"seconds": 1},
        {"seconds": 0, "calls": 1},
        {"seconds": float("inf"), "calls": 1},
        {"seconds": float("nan"), "calls": 1},
        {"seconds": 1, "tokens": 0},
    ],
)
def test_rates_are_numbers(fields: Any) -> None:
    with pytest.raises(ConfigurationError, match="Rate takes seconds above 0"):
        Rate(**fields)
