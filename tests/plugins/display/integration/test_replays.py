"""Attachments of cells that are run again: none is lost, and none is doubled."""

from __future__ import annotations

import pytest
from engines import OnEngine
from journal_stores import Died, Memory, Waits

from interpstack import Bridge, HostOffer, InterpreterStack, Limits, Outcome
from interpstack_display.api import Display, DisplayLimits, attachments_of
from interpstack_durable.api import Journals

#: By language: shows three texts, one of which is too many in some tests, around two calls.
SOURCES = {
    "javascript": """
        const failed = [];
        const show = (value) => display(value).catch((error) => failed.push(error.name));
        await show('one'); await kit.free({n: 1});
        await Promise.all([show('two'), kit.gated({n: 2}), show('three'), show(null)]);
        await show('four'); failed.join()
    """,
    "python": """
failed = []
async def show(value):
    try:
        await display(value)
    except Exception as error:
        failed.append(str(error).split(':')[0])
await show('one')
await kit.free(n=1)
await asyncio.gather(show('two'), kit.gated(n=2), show('three'), show(None))
await show('four')
','.join(failed)
""",
}


async def run(on_engine: OnEngine, memory: Memory, done: list[int], count: int) -> Outcome:
    """One process: a stack of its own, on the same journal."""

    async def free(n: int) -> int:
        done.append(n)
        return n

    async def gated(n: int) -> int:
        if not memory.decided:
            raise Waits
        done.append(n)
        return n

    bridges = [
        Bridge(name="kit.free", handler=free),
        Bridge(name="kit.gated", handler=gated, passes=(Waits,)),
    ]
    shows = Display(DisplayLimits(count=count))
    limits = Limits(cpu_seconds=30)
    with InterpreterStack(
        on_engine.name, ["durable", shows], bridges=bridges, limits=limits
    ) as stack:
        session = stack.session()
        session.bind(HostOffer(parts=[Journals(lambda host: memory)]))
        language = stack.engine.language
        source = SOURCES[language]
        prefix = "import asyncio\n" if language == "python" else ""
        return await session.eval(prefix + source)


@pytest.mark.engines("all")
@pytest.mark.parametrize("suspends", [False, True])
async def test_each_attachment_is_there_once_however_often_a_cell_is_run(
    on_engine: OnEngine, suspends: bool
) -> None:
    memory, done = Memory(suspends=suspends), list[int]()
    for attempt in range(9):  # each writes one entry before it makes a call
        dies_after = memory.dies_after = len(memory.entries) + 1 + (attempt > 0)
        with pytest.raises((Died, Waits)):
            await run(on_engine, memory, done, 9)
        if len(memory.entries) < dies_after:
            break
    else:
        pytest.fail("the cell never came to its pause")
    memory.decided, memory.dies_after = True, None
    for _ in range(2):  # resumed, then replayed to its end
        outcome = await run(on_engine, memory, done, 9)
        assert outcome.error is None, outcome.error
        assert [one.text for one in attachments_of(outcome)] == ["one", "two", "three", "four"]
        assert outcome.text.strip("'\"") == "DisplayError"
    assert done == [1, 2]


async def test_what_was_refused_stays_refused(on_engine: OnEngine) -> None:
    memory, done = Memory(decided=True), list[int]()
    first = await run(on_engine, memory, done, 2)
    again = await run(on_engine, memory, done, 2)
    for outcome in (first, again):
        assert [one.text for one in attachments_of(outcome)] == ["one", "two"]
        names = outcome.text.strip("'\"").split(",")
        assert sorted(names) == ["DisplayError", "DisplayLimitExceeded", "DisplayLimitExceeded"]
    assert done == [1, 2]
