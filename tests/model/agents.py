"""Simulated LangGraph agents whose evals wait for approvals: the product's whole adapter.

The checkpointer is LangGraph's own one in memory, behind a network that fails; each process has a
client of it. The locks between processes are those of a simulated database server. A person reads
the interrupts that are stored, and answers them with and without an id, late, twice, and from pages
that have become old.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import attrs
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Interrupt
from tests.model.evals import PATIENCE, Plan
from tests.model.loop import HOST, Host, SimLoop
from tests.model.stores import Faults
from tests.model.watching import SeenEngine, World, digest_of
from tests.model.worlds import STORE_SECONDS

from interpstack import Request
from interpstack.values import from_storable
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_langchain.durability import databases
from interpstack_langchain.durability.checkpoint_writes import JOURNAL_CHANNEL
from interpstack_langchain.durability.database_locks import DatabaseLocks

__all__ = ["AgentWorld"]

_CONFIG: Any = {"configurable": {"thread_id": "t"}}
#: The answer that the running call of the graph was given, until LangGraph has read its checkpoint.
_given: ContextVar[list[Any] | None] = ContextVar("given", default=None)


class SimLocks(DatabaseLocks):
    """The locks of the database, for one process; they end with the process."""

    place = "the simulated database"

    def __init__(self, world: AgentWorld, host: Host) -> None:
        super().__init__()
        self._world, self._held, self._host = world, world.held, host

    def take(self, number: int) -> bool:
        holder = self._held.get(number)
        if holder is not None and holder.alive and holder is not self._host:
            return False
        if holder is not self._host:
            self._world.note("take_over", seconds=0)  # a lock has no end of its own
        self._held[number] = self._host
        return True

    def give_back(self, number: int) -> None:
        if self._held.get(number) is self._host:
            del self._held[number]


class SaverClient(InMemorySaver):
    """The checkpointer of one process; all of them have the same checkpoints.

    The calls of one process have their effects in the order in which they began, as those of
    LangGraph's checkpointers for SQLite and PostgreSQL do, which have a lock around each.
    `docs/explanation/proof.md` says what happens without that.
    """

    def __init__(self, world: AgentWorld, host: Host) -> None:
        super().__init__()
        self._world = world
        self._turn = asyncio.Lock()
        #: What `_identified` returns for this checkpointer.
        self.identity = ("simulated", str(host)), SimLocks(world, host)
        for name in ("storage", "writes", "blobs"):
            setattr(self, name, getattr(world.server, name))

    async def _way(self, what: str, *, back: bool) -> None:
        world = self._world
        if world.odd(0.7):
            await asyncio.sleep(world.chance.random() * STORE_SECONDS)
        if world.odd(world.faults.after if back else world.faults.before):
            world.note("fault", what=f"{what} {'has no answer' if back else 'fails'}")
            raise OSError(f"{what}: the database is not there")

    async def aget_tuple(self, config: Any) -> Any:
        async with self._turn:
            await self._way("read", back=False)
            found = super().get_tuple(config)
        given = _given.get()
        if given and not config["configurable"].get("checkpoint_ns"):
            self._world.answered(given.pop(), found)
        return found

    async def aput(self, config: Any, *args: Any) -> Any:
        async with self._turn:
            await self._way("checkpoint", back=False)
            stored = super().put(config, *args)
        await self._way("checkpoint", back=True)
        return stored

    async def aput_writes(
        self, config: Any, writes: Any, task_id: str, task_path: str = ""
    ) -> None:
        entry = any(channel == JOURNAL_CHANNEL for channel, _ in writes)
        what = "entry" if entry else "writes"
        async with self._turn:
            await self._way(what, back=False)
            super().put_writes(config, writes, task_id, task_path)
        for channel, value in writes:
            if channel == JOURNAL_CHANNEL and "of" not in value:
                self._world.entry(task_id, from_storable(value))
        await self._way(what, back=True)


@attrs.define(eq=False)
class _AgentProcess:
    """What one process has in its memory."""

    host: Host
    agent: Any
    ended: asyncio.Future[None]


@attrs.define(eq=False, kw_only=True)
class AgentWorld(World):
    """One thread of an agent on two hosts, and the person who approves its calls.

    Attributes:
        plan: What happens. Its calls have different numbers, which name them.
        server: The checkpoints.
        held: The locks, by their numbers.
        faults: What goes wrong on the way to the database.
    """

    plan: Plan
    run: str = "agent"
    server: InMemorySaver = attrs.field(factory=InMemorySaver, init=False)
    held: dict[int, Host] = attrs.field(factory=dict, init=False)
    faults: Faults = attrs.field(init=False)
    _processes: dict[str, _AgentProcess] = attrs.field(factory=dict, init=False)
    _lives: int = attrs.field(default=0, init=False)
    _numbers: dict[int, str] = attrs.field(factory=dict, init=False)  # keys by requests
    _tasks: list[str] = attrs.field(factory=list, init=False)
    _pages: list[Sequence[Interrupt]] = attrs.field(factory=list, init=False)

    # -- what the database and the guest show ----------------------------------------------

    def key(self, seed: int, number: int) -> str:
        return self._numbers.get(number, f"timer {number}")

    def requested(self, seed: int, requests: Sequence[Request]) -> None:
        for one in requests:
            if isinstance(one.wire, Mapping) and "n" in one.wire:
                self._numbers[one.id] = f"n{one.wire['n']}"

    def entry(self, task: str, entry: Mapping[str, Any]) -> None:
        """Note that a write of an entry was acknowledged; the saver keeps the first of a task."""
        if task not in self._tasks:
            self._tasks.append(task)
        part = entry.get("kept", entry)
        answers = []
        for number, value, error, *_ in part.get("settled", ()):
            said = digest_of([json.loads(value), error and error[1]])
            answers.append((self.key(0, number), said))
        self.note(
            "record",
            index=self._tasks.index(task),
            entry=digest_of({**entry, "commands": None}),
            answers=answers,
            step=[key for key, _ in answers] if "now" in entry else [],
            asked=max((one[0] for one in part.get("asked", ())), default=0),
        )
        notes = entry.get("notes", {})
        pause = notes.get(f"pause {notes.get('pauses')}")
        if pause is not None:
            keys = [self.key(0, int(number)) for number in pause["questions"]]
            self.note("ask", questions=[(f"about {key}", key) for key in keys])

    def _stored(self, found: Any) -> list[Interrupt]:
        writes = [] if found is None else found.pending_writes or []
        return [one for _, channel, value in writes if channel == "__interrupt__" for one in value]

    def answered(self, given: Any, found: Any) -> None:
        """Note what a person has decided, in a run of the graph that has just read its state.

        An answer without an id belongs to the question that is stored then: that is what a person
        sees who looks at the thread.
        """
        if isinstance(given, list):  # decisions without an id
            stored = self._stored(found)
            if len(stored) != 1:
                return
            asked = _asked(stored[0])
            self._show(asked)
            self._decides(dict(zip(asked, given, strict=False)))
        else:
            self._decides(given)

    def _show(self, keys: Sequence[str]) -> None:
        self.note("show", questions=[(f"about {key}", key) for key in keys])

    def _decides(self, decisions: Mapping[str, str]) -> None:
        self.note("decide", decisions={f"about {key}": one for key, one in decisions.items()})

    # -- processes -------------------------------------------------------------------------

    def died(self, host: Host) -> None:
        super().died(host)
        process = self._processes.pop(host.name)
        if not process.ended.done():
            process.ended.set_result(None)

    def _process(self, name: str) -> _AgentProcess:
        if name not in self._processes:
            deaths = self.plan.deaths
            host = Host(name, self._lives, self.plan.offsets["AB".index(name)])
            host.dies_at = deaths[self._lives] if self._lives < len(deaths) else None
            if self._lives in self.plan.stalls:
                at, seconds = self.plan.stalls[self._lives]
                host.stalls[at] = seconds
            self._lives += 1
            ended = self.loop.create_future()
            self._processes[name] = _AgentProcess(host, self._agent(host), ended)
        return self._processes[name]

    def _agent(self, host: Host) -> Any:
        from tests.support.scripted import Script

        async def free(n: int) -> int:
            return await self._made(n, gated=False)

        async def pay(n: int) -> int:
            return await self._made(n, gated=True)

        tools = [
            StructuredTool.from_function(coroutine=one, name=one.__name__, description="Call.")
            for one in (free, pay)
        ]
        interpreter = CodeInterpreterMiddleware(
            ptc=tools, interrupt_on={"pay": True}, engine=SeenEngine(self)
        )
        saver = SaverClient(self, host)
        return create_agent(Script(), middleware=[interpreter], checkpointer=saver)

    async def _made(self, n: int, *, gated: bool) -> int:
        key = f"n{n}"
        number = next(one for one, known in self._numbers.items() if known == key)
        self.note("call", key=key, number=number, gated=gated)
        if self.odd(0.8):
            await asyncio.sleep(self.chance.choice([0.01, 0.2, 2.0, 20.0]) * self.chance.random())
        self.note("answer", key=key)
        return n * 10

    # -- the operator and the person -------------------------------------------------------

    async def drive(self, loop: SimLoop) -> None:
        """Let the thread begin, answer its questions and resume it until its eval has ended."""
        self.loop = loop
        self.faults = Faults(self.chance, *self.plan.faulty)
        identified, databases._identified = databases._identified, _identified
        try:
            await self._driven()
        finally:
            databases._identified = identified
            databases._known.clear()

    async def _driven(self) -> None:
        attempts, patience = 0, PATIENCE
        while patience:
            attempts += 1
            troubled = attempts <= self.plan.troubled
            if not troubled:
                self.faults.calm()
                patience -= 1
            names = self.chance.sample("AB", 2)
            begun = bool(self._tasks)  # else each of them calls the model, and runs an eval
            double = begun and troubled and self.odd(self.plan.people.get("double", 0))
            runs = names if double else names[:1]
            ends = [asyncio.ensure_future(self._attempt(name, troubled)) for name in runs]
            if any([await end for end in ends]):
                return
            await asyncio.sleep(self.chance.random() * self.chance.choice([0.1, 3.0, 60.0]))
        self.note("stuck", why=f"{attempts} attempts")

    async def _attempt(self, name: str, troubled: bool) -> bool:
        """Call the graph once; True if the eval has ended."""
        process = self._process(name)
        given, noted = self._input(troubled)
        context = contextvars.copy_context()
        context.run(HOST.set, process.host)
        context.run(_given.set, noted)
        task = self.loop.create_task(self._reported(process, given), context=context)
        waits: set[Any] = {task, process.ended}
        cancel = troubled and self.odd(self.plan.people.get("cancel", 0))
        seconds = self.chance.random() * 3 if cancel else None
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not task.done() and not process.ended.done():
            self.note("cancel")
            context.run(task.cancel)
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        return task.done() and not task.cancelled() and task.result()

    def _input(self, troubled: bool) -> tuple[Any, list[Any]]:
        """What the graph is called with, and the answer in it."""
        found = self.server.get_tuple(_CONFIG)
        if found is None:
            return {"messages": [("user", json.dumps([self.plan.source]))]}, []
        stored = self._stored(found)
        if stored:
            self._pages.append(stored)
        if not stored or (troubled and self.odd(self.plan.people.get("nothing", 0.1))):
            return None, []
        page = stored
        if troubled and self.odd(self.plan.people.get("stale", 0)):
            page = self.chance.choice(self._pages)
        if len(stored) == 1 and self.odd(self.plan.people.get("plain", 0.5)):
            said = [self._says() for _ in _asked(stored[0])]
            return Command(resume={"decisions": [_decision(one) for one in said]}), [said]
        for one in page:
            self._show(_asked(one))
        answers = {one.id: {key: self._says() for key in _asked(one)} for one in page}
        decided = {
            name: {"decisions": [_decision(one) for one in said.values()]}
            for name, said in answers.items()
        }
        return Command(resume=decided), [{k: v for one in answers.values() for k, v in one.items()}]

    def _says(self) -> str:
        return "reject" if self.odd(self.plan.people.get("reject", 0)) else "approve"

    async def _reported(self, process: _AgentProcess, given: Any) -> bool:
        try:
            state = await process.agent.ainvoke(given, _CONFIG)
        except asyncio.CancelledError:
            self.note("suspend")
            raise
        except Exception as error:  # noqa: BLE001 - judged by the model
            self.note("error", name=type(error).__name__, text=str(error))
            return False
        answers = [one.text for one in state["messages"] if isinstance(one, ToolMessage)]
        if state.get("__interrupt__") or not answers:
            self.note("suspend")
            return False
        self.note("settle", end=answers[0])
        return True


def _asked(shown: Interrupt) -> list[str]:
    """The calls that an interrupt shows."""
    return [f"n{one['args']['n']}" for one in shown.value["action_requests"]]


def _decision(said: str) -> dict[str, str]:
    return {"type": said}


async def _identified(saver: Any) -> Any:
    return saver.identity
