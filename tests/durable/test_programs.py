"""Interrupted and uninterrupted runs of random programs end the same, on every engine."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interpstack import HostOffer, InterpreterStack
from interpstack_durable.api import Journals
from interpstack_testing import FakeEngine

sys.path.insert(0, str(Path(__file__).parent))

from conductor import Conducted, Conductor, Crash, Interrupted, Store, watched
from programs import LANGUAGES, Language, programs

#: Programs for each engine; the long run (`tox -e durable`) has more.
PROGRAMS = int(os.environ.get("INTERPSTACK_PROGRAMS", "40"))
#: V8 begins each run with a new isolate, which takes long: a short run has fewer programs on it.
SHARES = {} if os.environ.get("INTERPSTACK_DURABLE") == "1" else {"v8": 2}
#: Of engines that are not always installed.
_NEEDS = {"v8": "jsrun", "monty": "pydantic_monty"}


@pytest.fixture(scope="module")
def stack(engine: str) -> Iterator[InterpreterStack]:
    """A stack on the engine; each of its sessions is a process of its own."""
    if engine in _NEEDS:
        pytest.importorskip(_NEEDS[engine])
    found: Any = FakeEngine() if engine == "fake" else engine
    with InterpreterStack(found, plugins=["console", "durable", Conducted()]) as made:
        watched(made.engine)
        yield made


async def _run(
    stack: InterpreterStack, language: Language, source: str, conductor: Conductor, store: Store
) -> Any:
    """What a run ends with, taken up again as often as it is interrupted."""
    for _ in range(100):
        conductor.forget_calls()
        store.lost = False
        with stack.session() as session:
            session.bind(HostOffer(parts=[conductor]))
            assert (await session.eval(language.before)).ok
            session.bind(HostOffer(parts=[conductor, Journals(lambda host: store)]))
            run = asyncio.ensure_future(session.eval(source))
            await conductor.conduct(run, store)
            try:
                outcome = await run
            except (Interrupted, Crash):
                values = await session.values()
                assert values["before"] == 1, "the state from before the cell is back"
                continue
            ended = (outcome.text, outcome.error and outcome.error.message, outcome.console)
            return ended, dict(await session.values()), sorted(conductor.effects.items())
    raise AssertionError("the run never ended")


# The fake engine runs guests in this process. Python tells of each that awaits something while it
# is thrown away, which random programs do in `finally`.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("engine", LANGUAGES, scope="module")
def test_interrupted_and_uninterrupted_runs_end_the_same(
    engine: str, stack: InterpreterStack
) -> None:
    language = LANGUAGES[engine]

    @settings(
        max_examples=PROGRAMS // SHARES.get(engine, 1),
        deadline=None,
        derandomize=PROGRAMS < 1000,  # a sample is the same each time; the whole is not
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(
        program=programs(),
        seed=st.integers(0, 2**32),
        crashes=st.dictionaries(st.integers(1, 12), st.booleans(), max_size=3),
        suspends=st.booleans(),
    )
    def check(program: list[Any], seed: int, crashes: dict[int, bool], suspends: bool) -> None:
        asyncio.run(compare(language.render(program), seed, crashes, suspends))

    async def compare(source: str, seed: int, crashes: dict[int, bool], suspends: bool) -> None:
        calm = await _run(stack, language, source, Conductor(seed, pauses=False), Store())
        store = Store(crashes=crashes, suspends=suspends)
        conductor = Conductor(seed, pauses=True)
        assert await _run(stack, language, source, conductor, store) == calm
        if all(crashes.values()):  # no record was lost
            assert conductor.repeated == []

    check()
    gc.collect()  # such guests are thrown away here, not in the next test
