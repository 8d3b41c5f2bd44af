"""Interrupted and uninterrupted runs of random programs end the same."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interpstack import InterpreterStack, Turn
from interpstack.testing import FakeEngine

sys.path.insert(0, str(Path(__file__).parent))

from conductor import Conductor, Crash, Interrupted, Store, Watch, watched
from programs import JAVASCRIPT, PYTHON, Language, programs

#: Programs for each language; the long run (`tox -e durable`) has more.
PROGRAMS = int(os.environ.get("INTERPSTACK_PROGRAMS", "100"))

languages = pytest.mark.parametrize("language", [JAVASCRIPT, PYTHON], ids=lambda one: one.engine)


def _stack(language: Language, conductor: Conductor, watch: Watch) -> InterpreterStack:
    if language.engine == "fake":
        engine: Any = FakeEngine()
    else:
        engine = type(InterpreterStack(language.engine).engine)()
    return InterpreterStack(
        watched(engine, watch),
        plugins=["console", "durable"],
        bridges=conductor.bridges(),
    )


async def _run(language: Language, source: str, conductor: Conductor, store: Store) -> Any:
    """What a run ends with, taken up again as often as it is interrupted."""
    for _ in range(100):
        watch = Watch()
        conductor.forget_calls()
        with _stack(language, conductor, watch) as stack, stack.session() as session:
            assert (await session.eval(language.before)).ok
            session.bind(Turn(options={"ledger_store": lambda: store}))
            run = asyncio.ensure_future(session.eval(source))
            await conductor.conduct(run, watch)
            try:
                outcome = await run
            except (Interrupted, Crash):
                values = await session.values()
                assert values["before"] == 1, "the state from before the cell is back"
                continue
            ended = (outcome.text, outcome.error and outcome.error.message, outcome.console)
            return ended, dict(await session.values()), sorted(conductor.effects.items())
    raise AssertionError("the run never ended")


@languages
@settings(
    max_examples=PROGRAMS,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    program=programs(),
    seed=st.integers(0, 2**32),
    crashes=st.dictionaries(st.integers(1, 12), st.booleans(), max_size=3),
    suspends=st.booleans(),
)
def test_interrupted_and_uninterrupted_runs_end_the_same(
    language: Language, program: list[Any], seed: int, crashes: dict[int, bool], suspends: bool
) -> None:
    source = language.render(program)

    async def compare() -> None:
        calm = await _run(language, source, Conductor(seed, pauses=False), Store())
        store = Store(crashes=crashes, suspends=suspends)
        conductor = Conductor(seed, pauses=True)
        assert await _run(language, source, conductor, store) == calm
        if all(crashes.values()):  # no record was lost
            assert conductor.repeated == []

    asyncio.run(compare())
