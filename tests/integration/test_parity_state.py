"""What variables outlive and what they cost, beside langchain-quickjs.

`docs/reference/compared.md` names these tests.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from guests import GuestCode, without_restored
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from parity import Talk, echo, result

from interpstack import Capability


@pytest.mark.engines("all")
async def test_area_modes(converse: Talk, guest: GuestCode) -> None:
    seen = {}
    for mode in ("thread", "turn", "call"):
        saver = InMemorySaver()
        agent = converse(mode=mode, saver=saver)
        in_turn = (await agent.run(guest.set("x", "1"), guest.exists("x")))[1]
        seen[mode] = (in_turn, await agent.one(guest.exists("x")))
    there, gone = result("there"), result("gone")
    assert seen == {
        "thread": (there, there),
        "turn": (there, gone),
        "call": (gone, gone),
    }


async def test_area_snapshot_too_large(converse: Talk) -> None:
    saver = InMemorySaver()
    agent = converse(saver=saver, max_snapshot_bytes=20_000)
    assert await agent.one("let small = 1; small") == result("1")
    fill = "const big = Array.from({length: 20000}, () => Math.random()); small"
    answers = await agent.run(fill, "small")
    assert answers[0].startswith("<notice>")
    assert "20000" in answers[0]
    assert answers[1] == result("1")  # told once
    later = await converse(saver=saver).run("small", "big.length")
    assert later[0].startswith("<notice>")
    assert "Not restored: big (the stored values have no room for it)" in later[0]
    assert later[0].endswith(result("1"))
    assert "Value for 'big' was not restored because" in later[1]


@pytest.mark.engines("all")
async def test_area_isolation(converse: Talk, guest: GuestCode) -> None:
    agent = converse()

    async def talk(number: int) -> None:
        thread = f"thread {number}"
        await agent.run(guest.set("mine", str(number)), thread=thread)
        assert await agent.one("mine", thread=thread) == result(str(number))
        assert await agent.one("[mine, mine]", thread=thread) == result(f"[{number}, {number}]")

    await asyncio.gather(*(talk(number) for number in range(24)))


@pytest.mark.engines("all")
async def test_area_cancellation(converse: Talk, guest: GuestCode) -> None:
    begun = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.Event().wait()
        return ""

    agent = converse(tools=[wait])
    await agent.run(guest.set("kept", "1"))
    code = guest.cell(guest.set("kept", "2"), guest.call("wait"))
    turn = asyncio.ensure_future(agent.turn(code))
    await begun.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert await agent.one("kept", thread="another") != result("1")
    # The conversation goes on from its last good eval.
    assert without_restored(await agent.one("kept")) == result("1")


@pytest.mark.engines("all")
@pytest.mark.parametrize("mode", ["thread", "turn", "call"])
async def test_row_10_two_evals_in_one_message(converse: Talk, guest: GuestCode, mode: str) -> None:
    agent = converse(tools=[echo], mode=mode)

    # The first takes longer than the second, and the third fails.
    def add(name: str) -> list[str]:
        return [guest.set(name, guest.call("echo", text=name)), f"log = log + {name}", "log"]

    empty = [guest.set("log", guest.value(""))]
    fails = guest.throw.format(value=guest.value("c"))
    own = empty if mode == "call" else []
    answers = await agent.run(
        [
            guest.cell(guest.pause, *empty, *add("a")),
            guest.cell(*own, *add("b")),
            fails,
            guest.cell(*own, *add("d")),
        ]
    )
    assert answers[0] == result("a")
    assert answers[1] == result("b" if own else "ab")
    assert answers[2].startswith(f'<error type="{guest.error_name}">')
    assert answers[3] == result("d" if own else "abd")


async def test_row_15_stored_bytes(converse: Talk) -> None:
    saver = InMemorySaver()
    agent = converse(saver=saver)
    await agent.run("1 + 1")
    config = {"configurable": {"thread_id": "t"}}
    values = (await agent.agent.aget_state(config)).values
    assert len(saver.serde.dumps_typed(values)[1]) <= 16 * 1024
    # The peer holds 1,310,772 bytes after this.
    writes = [write for step in saver.writes.values() for write in step.values()]
    held = sum(len(data) for _, data in (*saver.blobs.values(), *(w[2] for w in writes)))
    assert held <= 1_310_772 // 100
    for turn in range(5):
        await agent.run(f"globalThis.turn = {turn}")
    written = [w for step in saver.writes.values() for w in step.values()]
    records = [data for _, channel, (_, data), _ in written if channel == "interpreter_record"]
    # What the peer writes for a turn like these is 1.4 to 2.2 KB.
    assert all(len(data) <= 2_200 for data in records[-4:])


@pytest.mark.engines("javascript")
async def test_row_16_values_survive_an_upgrade(converse: Talk) -> None:
    saver = InMemorySaver()
    await converse(saver=saver).run(
        "let n = 1, when = new Date(0), seen = new Map([['k', [1n]]]), fn = () => 1"
    )
    # Other plugins make another base heap, as another build of the engine does.
    upgraded = converse(saver=saver, capture_console=False)
    answers = await upgraded.run("[n, when.getTime(), seen.get('k')[0]]", "fn()")
    assert answers[0].endswith(result("[1, 0, 1n]"))
    assert "Not restored: fn" in answers[0]
    text = "Value for 'fn' was not restored because it is not serializable (type: function)."
    assert text in answers[1]


def _own_threads() -> int:
    return sum(thread.name.startswith("interpstack") for thread in threading.enumerate())


@pytest.mark.engines("javascript", needs=Capability.IMAGES)
async def test_row_19_idle_conversations(converse: Talk) -> None:
    agent = converse()
    threads = 60
    await agent.run("1", thread="warm up")
    before = _own_threads()
    for number in range(threads):
        await agent.run(f"let mine = {number}", thread=f"thread {number}")
    assert _own_threads() - before <= (os.cpu_count() or 2)  # the pool may still fill
    sessions = agent.middleware.stack._pool._sessions.values()
    assert len(sessions) == threads + 1
    assert sum(session.live for session in sessions) <= 32
    images = [session._state.image.data for session in sessions if not session.live]
    assert max(map(len, images)) <= 16 * 1024
    # One that sleeps wakes up where it was.
    assert await agent.one("mine", thread="thread 0") == result("0")


RUN_ONE = """
import sys, wasmtime
from interpstack import InterpreterStack
if sys.argv[1] == "compiled":
    def refuse(*args): raise AssertionError("the guest is compiled once more")
    wasmtime.Module.__init__ = refuse
with InterpreterStack() as stack, stack.session() as session:
    print(session.eval_sync("1 + 1").text)
"""


def test_row_20_compiled_once(tmp_path: Path) -> None:
    environment = {**os.environ, "INTERPSTACK_CACHE_DIR": str(tmp_path / "cache")}

    def run(expected: str) -> str:
        command = [sys.executable, "-W", "error", "-c", RUN_ONE, expected]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert run("not yet") == "2"
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()}
    assert files
    assert run("compiled") == "2"
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()} == files
