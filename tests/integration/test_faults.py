"""What goes wrong around an eval: a clear error, and the state of the last good eval."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clocks import LeapingClock
from deepagents.backends import FilesystemBackend
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

Talk = Callable[..., Any]

GOOD = "let good = 41; const next = () => ++good; good"


async def assert_unharmed(agent: Any, expected: int = 42, thread: str = "t") -> None:
    """The state of the last good eval is there, in the live session and in the checkpoint."""
    assert await agent.one("next()", thread=thread) == f"<result>{expected}</result>"


# -- tools ---------------------------------------------------------------------------------


@tool
async def breaks(how: str) -> str:
    """Fail."""
    raise OSError(f"/srv/secret/{how} is gone")


@tool
async def hangs() -> str:
    """Never answer."""
    await asyncio.Event().wait()
    return "never"


@tool
async def floods() -> str:
    """Return 50 MB."""
    return "x" * 50_000_000


@tool
async def cycles() -> Any:
    """Return something that contains itself."""
    ring: dict[str, Any] = {"name": "ring"}
    ring["self"] = ring
    return ring


@tool
async def opaque() -> Any:
    """Return something that has no form as data."""
    return {"lock": threading.Lock(), "text": "kept"}


TOOLS = (breaks, hangs, floods, cycles, opaque)


@pytest.fixture
def agent(converse: Talk) -> Any:
    return converse(tools=TOOLS)


@pytest.mark.parametrize("caught", [True, False], ids=["caught", "uncaught"])
@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("tools.breaks({how: 'disk'})", "disk is gone"),
        ("tools.breaks({})", "how"),
        ("tools.floods()", "return less, or a part at a time"),
        ("tools.cycles()", "contains itself"),
    ],
    ids=["raises", "wrong input", "50 MB", "cycle"],
)
async def test_a_tool_fails(agent: Any, call: str, found: str, caught: bool) -> None:
    await agent.run(GOOD)
    if caught:
        catch = f"let e; try {{ await {call} }} catch (error) {{ e = error }}; "
        answer = await agent.one(catch + "[e instanceof Error, e.tool, e.message].join(' | ')")
        assert answer.startswith("<result>true | tools."), answer
    else:
        answer = await agent.one(f"await {call}")
        assert answer.startswith(('<error type="ToolError">', '<error type="TypeError">')), answer
    assert found in answer
    assert "Traceback" not in answer
    assert ".py" not in answer
    await assert_unharmed(agent)


async def test_a_tool_hangs(converse: Talk, leaping_clock: LeapingClock) -> None:
    @tool
    async def later() -> str:
        """Let time pass."""
        await leaping_clock.leaps_when()()
        return ""

    agent = converse(tools=[*TOOLS, later], wall_timeout=200)
    await agent.run(GOOD)
    answer = await agent.one("good = 0; await Promise.all([tools.hangs(), tools.later()])")
    assert answer.startswith('<error type="Timeout">')
    assert "200 s" in answer
    assert "tools.hangs" in answer
    # What ran before the limit has happened; nothing of the past is lost.
    await assert_unharmed(agent, 1)


async def test_a_blocking_tool_hangs(converse: Talk, leaping_clock: LeapingClock) -> None:
    begun, release = threading.Event(), threading.Event()

    @tool
    def blocks() -> str:
        """Block the thread it runs in."""
        begun.set()
        release.wait(60)
        return "late"

    @tool
    async def later() -> str:
        """Let time pass once the other one blocks."""
        await leaping_clock.leaps_when(begun.is_set)()
        return ""

    agent = converse(tools=[blocks, later], wall_timeout=100)
    try:
        await agent.run(GOOD)
        answer = await agent.one("await Promise.all([tools.blocks(), tools.later()])")
        notice, _, error = answer.partition("\n")
        assert notice.startswith(
            "<notice>A call outlasted the cell and could not be stopped: tools.b"
        )
        assert error.startswith('<error type="Timeout">')
        await assert_unharmed(agent)
    finally:
        release.set()


async def test_a_tool_returns_what_cannot_be_data(agent: Any) -> None:
    await agent.run(GOOD)
    answer = await agent.one("(await tools.opaque()).text")
    assert answer.startswith('<error type="ToolError">tools.opaque was called, but its answer')
    assert "_thread.lock" in answer
    assert "$.lock" in answer
    await assert_unharmed(agent)


# -- subagents -----------------------------------------------------------------------------


def subagent(run: Callable[[str], str]) -> dict[str, Any]:
    async def answer(state: Any) -> Any:
        return {"messages": [*state["messages"], AIMessage(run(state["messages"][-1].text))]}

    return {"name": "helper", "description": "Helps.", "runnable": RunnableLambda(answer)}


TASK = "task({description: 'help', subagentType: 'helper'})"


async def test_a_subagent_raises(converse: Talk) -> None:
    def fail(text: str) -> str:
        raise RuntimeError(f"no {text} today")

    agent = converse(subagents=[subagent(fail)])
    await agent.run(GOOD)
    answer = await agent.one(f"await {TASK}")
    assert answer.startswith('<error type="ToolError">')
    assert "no help today" in answer
    caught = await agent.one(f"(await {TASK}.catch(error => error.tool + ': ' + error.message))")
    assert caught == "<result>task: no help today</result>"
    await assert_unharmed(agent)


async def test_a_subagent_interrupts(converse: Talk) -> None:
    agent = converse(subagents=[subagent(lambda text: f"{interrupt('may I?')}, so {text}")])
    config = {"configurable": {"thread_id": "t"}}
    await agent.run(GOOD)
    state = await agent.turn(f"let said; try {{ said = await {TASK} }} catch {{ said = 'ate it' }}")
    assert [pause.value for pause in state["__interrupt__"]] == ["may I?"]
    resumed = await agent.send(Command(resume="yes"), config)
    assert resumed["messages"][-2].text.startswith("<result>")
    assert await agent.one("said") == "<result>yes, so help</result>"
    await assert_unharmed(agent)


async def test_an_interrupt_that_is_never_answered(converse: Talk) -> None:
    agent = converse(subagents=[subagent(lambda text: str(interrupt("may I?")))])
    await agent.run(GOOD)
    await agent.turn(f"good = 0; await {TASK}")
    # The eval never ended, so nothing that it did counts.
    await assert_unharmed(agent)


# -- the checkpointer ----------------------------------------------------------------------


class Unreliable(InMemorySaver):
    """Fails once in a method, when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.failing = ""

    def fail(self, method: str) -> None:
        if self.failing == method:
            self.failing = ""
            raise ConnectionError("the database went away")

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        self.fail("put")
        if "interpreter_record" in versions:
            self.fail("put of a record")
        return await super().aput(config, checkpoint, metadata, versions)

    async def aput_writes(self, config: Any, writes: Any, *args: Any, **kwargs: Any) -> None:
        self.fail("put_writes")
        if any(channel == "interpreter_record" for channel, _ in writes):
            self.fail("put_writes of a record")
        await super().aput_writes(config, writes, *args, **kwargs)


@pytest.mark.parametrize(
    "method", ["put", "put of a record", "put_writes", "put_writes of a record"]
)
async def test_the_checkpointer_fails(converse: Talk, method: str) -> None:
    saver = Unreliable()
    agent = converse(saver=saver)
    await agent.run(GOOD)
    saver.failing = method
    with pytest.raises(ConnectionError, match="went away"):
        await agent.turn("next() * 100", "good")
    # Whatever of the turn was stored, memory and store agree on it.
    live = await agent.one("good")
    assert live in ("<result>41</result>", "<result>42</result>")
    assert await converse(saver=saver).one("good") == live
    number = int(live.removeprefix("<result>").removesuffix("</result>"))
    await assert_unharmed(agent, number + 1)
    assert await converse(saver=saver).one("next()") == f"<result>{number + 2}</result>"


# -- stored states that are not what they were ---------------------------------------------

KEY = b"0123456789abcdef0123456789abcdef"
Record = dict[str, Any]


class Storage:
    """The records that a checkpointer holds, as somebody with access to it could change them."""

    def __init__(self) -> None:
        self.saver = InMemorySaver()

    def _writes(self, thread: str) -> list[tuple[Any, Any]]:
        """Where each record is: the step's writes and the key in them, oldest first."""
        steps = [key for key in self.saver.writes if key[0] == thread]
        found = [
            (self.saver.writes[step], key)
            for step in sorted(steps, key=lambda step: step[2])
            for key, (_, channel, _, _) in self.saver.writes[step].items()
            if channel == "interpreter_record"
        ]
        return [(step, key) for step, key in found if self._read(step, key) != []]

    def _read(self, step: Any, key: Any) -> Any:
        return self.saver.serde.loads_typed(step[key][2])

    def records(self, thread: str = "t") -> list[Record]:
        return [self._read(step, key)[0] for step, key in self._writes(thread)]

    def replace(self, record: Any, thread: str = "t") -> None:
        """Put another record where the newest one was."""
        step, key = self._writes(thread)[-1]
        task, channel, _, path = step[key]
        step[key] = (task, channel, self.saver.serde.dumps_typed([record]), path)


def flip(part: str, where: float = 0.5) -> Callable[[Record], Record]:
    def change(record: Record) -> Record:
        data = bytearray(record[part])
        data[int(len(data) * where)] ^= 0x10
        return {**record, part: bytes(data)}

    return change


def cut(part: str) -> Callable[[Record], Record]:
    return lambda record: {**record, part: record[part][: len(record[part]) // 2]}


def without(*parts: str) -> Callable[[Record], Record]:
    return lambda record: {name: record[name] for name in record if name not in parts}


CHANGES = {
    "data flipped": flip("data"),
    "data header flipped": flip("data", 0.0),
    "checksum flipped": flip("checksum"),
    "data cut": cut("data"),
    "data gone": without("data"),
    "all gone": without("data", "previous", "checksum"),
    "data of another type": lambda record: {**record, "data": "text"},
    "renumbered": lambda record: {**record, "sequence": record["sequence"] + 1},
    "linked elsewhere": lambda record: {**record, "previous": bytes(32)},
    "version of the future": lambda record: {**record, "version": 99},
    "a list": lambda record: [1, 2],
    "a text": lambda record: "text",
    "empty": lambda record: {},
    "nothing": lambda record: None,
}


@pytest.fixture
def storage() -> Storage:
    return Storage()


@pytest.fixture(params=[None, KEY], ids=["unsigned", "signed"])
def key(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def fresh(converse: Talk, storage: Storage, key: Any) -> Talk:
    """Makes agents that know only what is stored."""
    return lambda **options: converse(
        saver=storage.saver, **{"snapshot_signing_key": key, **options}
    )


async def assert_refused(agent: Any, *words: str, thread: str = "t") -> None:
    """The reader is told once; the eval runs on an empty state."""
    answers = await agent.run("typeof good", "typeof good", thread=thread)
    assert answers[0].startswith("<notice>Variables of earlier turns could not be restored: ")
    assert answers[0].endswith("</notice>\n<result>undefined</result>")
    assert all(word in answers[0] for word in words), answers[0]
    assert answers[1] == "<result>undefined</result>"


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
async def test_a_changed_snapshot_is_refused(
    fresh: Talk, storage: Storage, change: Callable[[Record], Any]
) -> None:
    await fresh().run(GOOD)
    good = storage.records()[-1]
    storage.replace(change(good))
    await assert_refused(fresh())
    # The failed restore wrote nothing: once the storage is repaired, all is there again.
    storage.replace(good)
    await assert_unharmed(fresh())


async def test_a_snapshot_of_another_thread_is_refused(fresh: Talk, storage: Storage) -> None:
    await fresh().run(GOOD)
    await fresh().run("let good = 'theirs'", thread="other")
    mine = storage.records()[-1]
    storage.replace(storage.records("other")[-1])
    await assert_refused(fresh(), "belongs to another conversation")
    storage.replace(mine)
    await assert_unharmed(fresh())


async def test_a_snapshot_of_an_older_turn_is_refused(fresh: Talk, storage: Storage) -> None:
    await fresh().run("let good = 0")
    await fresh().run(GOOD)
    older, newest = storage.records()
    storage.replace(older)
    await assert_refused(fresh(), "another turn")
    storage.replace(newest)
    await assert_unharmed(fresh())


@pytest.mark.parametrize("signature", ["gone", "empty", "of another key"])
async def test_a_snapshot_without_its_signature_is_refused(
    converse: Talk, storage: Storage, signature: str
) -> None:
    def fresh(key: bytes | None = KEY) -> Any:
        return converse(saver=storage.saver, snapshot_signing_key=key)

    await fresh().run(GOOD)
    good = storage.records()[-1]
    if signature == "gone":
        storage.replace(without("signature")(good))
    elif signature == "empty":
        storage.replace({**good, "signature": b""})
    agent = fresh(b"another key of enough bytes" if signature == "of another key" else KEY)
    await assert_refused(agent, "signature")
    storage.replace(good)
    await assert_unharmed(fresh())


async def test_a_refused_snapshot_never_reaches_a_live_session(
    fresh: Talk, storage: Storage
) -> None:
    agent = fresh()
    await agent.run(GOOD)
    storage.replace(flip("data")(storage.records()[-1]))
    # The session that made the record stands at it and needs nothing of the store.
    await assert_unharmed(agent)
    assert await fresh().one("next()") == "<result>43</result>"


async def test_a_snapshot_of_another_engine_build(fresh: Talk) -> None:
    """Another set of plugins changes the base heap, as an upgrade of the engine does."""
    await fresh().run("let good = 41, list = [1, {a: new Map([[1, 2]])}], fn = () => 1; good")
    upgraded = fresh(capture_console=False)
    answers = await upgraded.run("[good, list]", "fn()", "++good")
    assert "restored from their values" in answers[0]
    assert "fn" in answers[0]
    assert answers[0].endswith("<result>[41, [1, {a: Map(1) {1 =&gt; 2}}]]</result>")
    assert "Value for 'fn' was not restored because it is not serializable" in answers[1]
    assert answers[2] == "<result>42</result>"
    # The next state is the new build's own.
    assert await fresh(capture_console=False).one("good") == "<result>42</result>"


# -- skills --------------------------------------------------------------------------------


async def test_the_skill_backend_is_down(converse: Talk, tmp_path: Path) -> None:
    class Backend(FilesystemBackend):
        down = True

        async def aglob(self, *args: Any, **kwargs: Any) -> Any:
            if self.down:
                raise ConnectionError("the skill store went away")
            return await super().aglob(*args, **kwargs)

    skill = tmp_path / "skills" / "maths"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: maths\ndescription: d\nmodule: m.js\n---\n")
    (skill / "m.js").write_text("export const twice = n => n * 2\n")
    backend = Backend(root_dir=tmp_path, virtual_mode=True)
    agent = converse(skills_backend=backend)
    await agent.run(GOOD)
    load = 'await import("@/skills/maths")'
    answer = await agent.one(load)
    assert answer.startswith('<error type="SkillNotAvailable">')
    assert "skill 'maths' cannot be loaded" in answer
    caught = await agent.one(f"try {{ {load} }} catch (error) {{ error.name }}")
    assert caught == "<result>SkillNotAvailable</result>"
    await assert_unharmed(agent)
    backend.down = False
    assert await agent.one(f"const maths = {load}; maths.twice(21)") == "<result>42</result>"
