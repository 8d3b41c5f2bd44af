"""Recorded evals run again: what the record says, what it lacks, and what is different."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs
import pytest
from recorded_steps import Thread, call

from interpstack import (
    Bridge,
    ConfigurationError,
    HostOffer,
    InterpreterStack,
    Limits,
    PluginManager,
    SessionState,
)
from interpstack_agents import persistence_mode
from interpstack_durable.api import Journals, MemoryJournalStore
from interpstack_inspect.api import PauseEvent
from interpstack_langchain.replay import replayer
from interpstack_langchain.replay.recorded_evals import RecordedEval, recorded_evals
from interpstack_langchain.replay.replayer import Replay, Replayer
from interpstack_langchain.replay.timeline import read_timeline
from interpstack_testing import FakeEngine

PAY = 'await pay(to="Ann")'
PAID = "<result>paid Ann</result>"
KEY = b"a key of 16 bytes"


@pytest.fixture(autouse=True)
def stacks(monkeypatch: pytest.MonkeyPatch) -> list[InterpreterStack]:
    """The stacks that were opened, all on the reference engine."""
    opened: list[InterpreterStack] = []

    def make(
        engine: str, plugins: Sequence[Any], limits: Limits, check: Literal["off"]
    ) -> InterpreterStack:
        if engine == "unknown":
            raise ConfigurationError("no engine is named 'unknown'")
        opened.append(InterpreterStack(FakeEngine(), plugins, limits=limits, check=check))
        return opened[-1]

    monkeypatch.setattr(replayer, "InterpreterStack", make)
    return opened


async def recorded(code: str) -> Sequence[Mapping[str, Any]]:
    """The journal of code that pays."""
    store = MemoryJournalStore("cell")

    async def pay(to: str) -> str:
        return f"paid {to}"

    offered = [Bridge(name="pay", handler=pay)]
    with InterpreterStack(FakeEngine(), ["durable"], bridges=offered) as stack:
        async with stack.session() as session:
            session.bind(HostOffer(parts=[Journals(lambda host: store)]))
            await session.eval(code)
    return await store.load()


def eval_of(code: str, entries: Sequence[Any] = (), answer: str | None = None) -> RecordedEval:
    thread = Thread()
    thread.step(call("a", code), journals={"a": entries})
    saver: Any = thread
    (found,) = recorded_evals(saver, "t", ["eval"])
    return attrs.evolve(found, answer=answer)


async def replay(
    found: RecordedEval, *, engine: str | None = "fake", paused: bool = False, **records: Any
) -> Replay:
    timeline = read_timeline(found.entries)
    if paused:
        waits = PauseEvent(number=1, at=0.0, waits_for=["approval of pay"], resumed=False)
        timeline = attrs.evolve(timeline, events=[*timeline.events, waits])
    with Replayer(engine, Limits(), records.pop("key", None)) as made:
        given = {"before": [], "after": [], **records}
        return await made.replay(found, timeline, bridges={"pay": {}}, **given)


async def test_an_eval_that_ended_ends_again() -> None:
    found = await replay(eval_of(PAY, await recorded(PAY), PAID))
    assert (found.status, found.text, found.notes) == ("ended", PAID, [])
    assert (found.engine, found.language, found.as_recorded) == ("fake", "python", True)


async def test_another_answer_than_the_recorded_one_is_noted() -> None:
    found = await replay(eval_of(PAY, await recorded(PAY), "<result>3</result>"))
    assert (found.status, found.differs, found.as_recorded) == ("ended", True, False)
    assert found.notes == ["The recorded answer differs."]


async def test_an_eval_without_an_answer_or_a_record_says_so() -> None:
    found = await replay(eval_of("1 + 1"))
    assert (found.status, found.text, found.differs) == ("ended", "<result>2</result>", False)
    assert [note.partition(":")[0] for note in found.notes] == [
        "No call is recorded, and so no clock",
        "No answer is recorded",
    ]


async def test_a_record_that_ends_early_shows_what_the_code_waits_for() -> None:
    entries = [one for one in await recorded(PAY) if "now" not in one]
    found = await replay(eval_of(PAY, entries))
    assert found.status == "in flight"
    assert found.text == 'in flight when the record ends: pay({"to": "Ann"})'
    paused = await replay(eval_of(PAY, entries), paused=True)
    assert (paused.status, paused.text) == ("paused", "waiting for approval of pay")
    answered = await replay(eval_of(PAY, entries, PAID), paused=True)
    assert answered.status == "in flight", "it was answered after the pause"


async def test_code_that_does_something_else_diverges() -> None:
    found = await replay(eval_of(PAY.replace("Ann", "Bo"), await recorded(PAY), PAID))
    assert (found.status, found.as_recorded) == ("diverged", False)


async def test_an_eval_that_did_not_begin_is_not_run() -> None:
    waiting = attrs.evolve(eval_of("1 / 0"), not_begun="it waits")
    found = await replay(waiting)
    assert (found.status, found.text, found.notes) == ("not begun", "it waits", [])


async def test_an_error_of_the_code_is_its_answer() -> None:
    found = await replay(eval_of("1 / 0"))
    assert found.status == "ended"
    assert '<error type="ZeroDivisionError">' in found.text


async def test_another_language_than_the_recorded_one_is_refused() -> None:
    made = eval_of("1", [{**(await recorded(PAY))[0], "language": "javascript"}])
    message = "eval 1 was recorded in javascript, and engine 'fake' runs python; name an engine for"
    with pytest.raises(ConfigurationError, match=message):
        await replay(made)


async def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no engine is named"):
        await replay(eval_of("1"), engine="unknown")


async def test_without_an_engine_the_usual_one_is_used() -> None:
    assert (await replay(eval_of("1"), engine=None)).engine == "quickjs"


async def test_a_record_of_another_key_is_refused_and_the_code_runs_without_variables() -> None:
    mode = persistence_mode(PluginManager(["persistence"]), "thread")(signing_key=KEY)
    record, _ = mode.dump(SessionState(values={"n": 5}), "thread:t|", 1)
    found = eval_of("n + 1")
    assert "<result>6</result>" in (await replay(found, before=[record], key=KEY)).text
    other = await replay(found, before=[record], key=b"another key of 16")
    assert '<error type="NameError">' in other.text
    assert other.notes[0].startswith("Variables from before cannot be restored: ")


async def test_engines_are_opened_once_and_closed_in_the_end(stacks: list[Any]) -> None:
    found = eval_of("1", answer="<result>1</result>")
    with Replayer("fake", Limits()) as made:
        for _ in range(2):
            await made.replay(found, read_timeline([]), [], [], {})
        (stack,) = stacks
        assert stack.session("open").key == "open"
    with pytest.raises(Exception, match="closed"):
        stack.session("closed")
