"""Many conversations at once in one process: nobody meets anybody, and nothing is left behind."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import attrs
import psutil
import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, RemoveMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from interpstack.threads import HANDLER_THREADS
from interpstack_quickjs.realm import QuickJSRealm

MIB = 2**20

#: What every turn runs. The canary is set in the first turn and never again.
FIRST = "const canary = '{canary}'; const log = []"
TURN = """
const said = await tools.label({{canary, turn: {turn}}});
const told = await task({{description: canary + '/{turn}', subagentType: 'helper'}});
log.push(said, told);
[canary, log.length, said, told].join()
"""


@tool
async def label(canary: str, turn: int) -> str:
    """Label a turn."""
    await asyncio.sleep(0.001 * (hash(canary) % 7))  # so that conversations overtake each other
    return f"{canary}:{turn}"


async def help_out(state: Any) -> Any:
    await asyncio.sleep(0)
    return {"messages": [*state["messages"], AIMessage(f"did {state['messages'][-1].text}")]}


HELPER = {"name": "helper", "description": "Helps.", "runnable": RunnableLambda(help_out)}


class Forget(AgentMiddleware[Any, Any, Any]):
    """Drops earlier turns' messages, so that only what the interpreter keeps could grow."""

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), state["messages"][-1]]}


@attrs.frozen
class Sample:
    """What the process holds between two rounds.

    Attributes:
        own_threads: Threads that run guests, and the interpreter's clocks; the others are the event
            loop's and the database's.
        handlers: Threads for what blocks; there are as many as were once needed at the same time.
        live: Sessions that hold a realm.
    """

    memory: int
    files: int
    own_threads: int
    handlers: int
    other_threads: int
    live: int

    @classmethod
    async def take(cls, agent: Any) -> Sample:
        sessions = list(agent.middleware.stack._pool._sessions.values())
        live = sum(session.live for session in sessions)
        for session in sessions:  # their number varies, and each takes some MiB
            await session.hibernate()
        release_memory()
        process = psutil.Process()
        names = [one.name for one in threading.enumerate() if one.name.startswith("interpstack")]
        handlers = sum(name.startswith("interpstack-handler") for name in names)
        return cls(
            memory=process.memory_info().rss,
            files=process.num_fds(),
            own_threads=len(names) - handlers,
            handlers=handlers,
            other_threads=threading.active_count() - len(names),
            live=live,
        )


def release_memory() -> None:
    """Give back what was freed: the messages of a round are large, and grow."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


@pytest.fixture
async def agent(converse: Callable[..., Any], tmp_path: Path) -> AsyncIterator[Any]:
    """State goes to a file, so that memory shows what the interpreter itself keeps."""
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as saver:
        await saver.conn.execute("PRAGMA synchronous=OFF")
        yield converse(tools=[label], subagents=[HELPER], saver=saver, around=[Forget()])


async def talk(agent: Any, conversation: int, turn: int) -> None:
    canary = f"canary-{conversation}"
    steps = [FIRST.format(canary=canary)] if turn == 0 else []
    answers = await agent.run(*steps, TURN.format(turn=turn), thread=canary)
    expected = f"{canary},{2 * turn + 2},{canary}:{turn},did {canary}/{turn}"
    assert answers[-1] == f"<result>{expected}</result>"


async def load(agent: Any, conversations: int, turns: int) -> list[Sample]:
    """Run rounds of turns, in each all conversations at once; what is held before and after."""
    samples = [await Sample.take(agent)]
    for turn in range(turns):
        await asyncio.gather(*(talk(agent, number, turn) for number in range(conversations)))
        samples.append(await Sample.take(agent))
    return samples


def assert_nothing_leaked(samples: list[Sample]) -> None:
    before, first, last = samples[0], samples[1], samples[-1]
    middle = samples[(len(samples) + 1) // 2]
    assert last.memory - middle.memory < 16 * MIB
    assert last.files <= first.files
    assert last.live <= 32  # of a stack of the middleware's own
    cpus = os.cpu_count() or 2
    assert last.own_threads - before.own_threads <= cpus + 1  # one pool, and a clock
    assert last.handlers <= HANDLER_THREADS
    assert last.other_threads - before.other_threads <= min(32, cpus + 4)  # the event loop's pool


def report(samples: list[Sample]) -> None:
    for number, sample in enumerate(samples):
        print(f"after round {number}: {sample.memory // MIB} MiB, {sample}")


async def test_forty_conversations(agent: Any) -> None:
    assert_nothing_leaked(await load(agent, 40, 4))


@pytest.mark.load
@pytest.mark.timeout(1800)
@pytest.mark.skipif(os.environ.get("INTERPSTACK_LOAD") != "1", reason="set INTERPSTACK_LOAD=1")
async def test_two_hundred_conversations(agent: Any) -> None:
    begun = time.monotonic()
    samples = await load(agent, 200, 20)
    report(samples)
    print(f"4000 turns in {time.monotonic() - begun:.0f} s")
    assert_nothing_leaked(samples)


def _realms() -> list[QuickJSRealm]:
    """Realms that still hold guest memory."""
    found = [thing for thing in gc.get_objects() if isinstance(thing, QuickJSRealm)]
    return [realm for realm in found if realm.live.guest.memory_bytes]


async def test_closing_leaves_nothing(agent: Any) -> None:
    gc.collect()
    earlier = {id(realm) for realm in _realms()}  # of other tests
    await load(agent, 20, 1)
    pool = agent.middleware.stack._pool
    assert len(pool._sessions) == 20
    agent.middleware.stack.close()
    assert pool._sessions == {}
    gc.collect()
    assert {id(realm) for realm in _realms()} <= earlier
