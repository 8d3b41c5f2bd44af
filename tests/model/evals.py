"""Simulated evals with approvals: a small adapter of the product's parts, on two hosts.

The adapter is written as `interpstack_pydantic_ai` is: it claims the conversation, checks the
decisions against the stored questions, runs the code against its journal, and stores questions or
the answer. Kernel, plugin `durable`, conversations, claims, journals and checks of decisions are
the product's; the guest is the fake engine's.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import attrs
from tests.model.loop import HOST, Host, SimLoop
from tests.model.stores import Faults, StoreClient, StoreServer
from tests.model.watching import SeenEngine, World, digest_of

from interpstack import (
    Bridge,
    CellContext,
    GuestException,
    HostOffer,
    InterpreterStack,
)
from interpstack_accounts.api import Account, Budget
from interpstack_agents import (
    CallQuestion,
    ClaimedConversation,
    Conversations,
    DecisionNeeded,
    DecisionRejected,
    check_decisions,
)
from interpstack_agents.approvals import Approved, Denied
from interpstack_durable.api import BackgroundCells, Journals
from interpstack_state import StateBusy, StateTaken

__all__ = ["PATIENCE", "EvalWorld", "Plan"]

#: The run, the conversation and the eval have these names.
_RUN, _CONVERSATION, _EVAL = "eval", "c", "e"
_JOURNAL = f"eval:{_CONVERSATION}:{_EVAL}"
_LEASE_SECONDS = 10.0
#: Tries of the operator after the last fault until the run counts as stuck.
PATIENCE = 40


@attrs.frozen
class Plan:
    """What happens in one simulation.

    Attributes:
        source: The code.
        world: Whether it runs in `evals` or in `agents`.
        deaths: Callbacks of a process after which the process dies, one for each process in turn.
        stalls: By the number of the process, after which callback it stops for how many seconds.
        offsets: How wrong the clocks of the machines are, in seconds.
        faulty: The shares of calls of the store that fail before and after their effect.
        troubled: How many attempts of the operator have faults.
        budget: The number of calls that the run may make; `None` for no limit.
        slices: Seconds of a time slice, for a cell in the background; `None` for another.
        people: How people behave: shares of rejections, stale pages, double runs and others.
    """

    source: str
    world: str = "evals"
    deaths: Sequence[int] = ()
    stalls: Mapping[int, tuple[int, float]] = attrs.field(factory=dict)
    offsets: Sequence[float] = (0.0, 0.0)
    faulty: tuple[float, float] = (0.0, 0.0)
    troubled: int = 0
    budget: int | None = None
    slices: float | None = None
    people: Mapping[str, float] = attrs.field(factory=dict)


@attrs.define(eq=False)
class _Process:
    """What one process has in its memory."""

    host: Host
    conversations: Conversations
    stack: InterpreterStack
    ended: asyncio.Future[None]


@attrs.define(eq=False, kw_only=True)
class EvalWorld(World):
    """One eval on two hosts, and the person who approves its calls.

    Attributes:
        plan: What happens.
    """

    plan: Plan
    run: str = _RUN
    _server: StoreServer = attrs.field(init=False)
    _processes: dict[str, _Process] = attrs.field(factory=dict, init=False)
    _lives: int = attrs.field(default=0, init=False)
    _questions: dict[str, str] = attrs.field(factory=dict, init=False)
    _pages: list[list[dict[str, Any]]] = attrs.field(factory=list, init=False)
    _decided: dict[str, Any] = attrs.field(factory=dict, init=False)
    _settled: bool = attrs.field(default=False, init=False)

    @property
    def budgets(self) -> dict[str, int]:
        return {} if self.plan.budget is None else {_RUN: self.plan.budget}

    # -- what the store sees ---------------------------------------------------------------

    def _saw(self, name: str, key: str, *args: Any, length: int = 0, **named: Any) -> None:
        if name == "claim":
            if key == _JOURNAL:
                self.note("fence")
            else:
                self.note("take_over", seconds=args[1])
        elif name == "renew":
            self.note("renew", seconds=args[1])
        elif name == "delete" and key != _JOURNAL:
            self.note("renew", seconds=0)
        elif name == "save":
            self.note("renew", seconds=args[2])
            opened = json.loads(args[1])["data"].get("open")
            if opened and opened["questions"]:
                asked = [(one["id"], self._questions[one["id"]]) for one in opened["questions"]]
                self.note("ask", questions=asked)
        elif name == "append":
            _, index, entries = args
            for number, text in enumerate(entries):
                self._noted_entry(index + number, json.loads(text))
        elif name == "fault":
            self.note("fault", what=repr(key))
        elif name == "refused" and isinstance(args[-1], StateTaken) and key == _JOURNAL:
            self.note("refused")

    def _noted_entry(self, index: int, entry: Mapping[str, Any]) -> None:
        part = entry.get("kept", entry)
        seed = int.from_bytes(blake2b(_JOURNAL.encode(), digest_size=16).digest(), "big")
        answers = []
        for number, value, error, *_ in part.get("settled", ()):
            said = digest_of([json.loads(value), error and error[1]])
            answers.append((self.key(seed, number), said))
        step = [key for key, _ in answers] if "now" in entry else []
        asked = max((one[0] for one in part.get("asked", ())), default=0)
        self.note(
            "record",
            index=index,
            entry=digest_of(entry),
            answers=answers,
            step=step,
            asked=asked,
        )

    # -- processes -------------------------------------------------------------------------

    def died(self, host: Host) -> None:
        super().died(host)
        process = self._processes.pop(host.name)
        if not process.ended.done():
            process.ended.set_result(None)

    def _process(self, name: str) -> _Process:
        """The process of a machine, started if there is none."""
        if name not in self._processes:
            deaths, stalls = self.plan.deaths, self.plan.stalls
            host = Host(name, self._lives, self.plan.offsets["AB".index(name)])
            host.dies_at = deaths[self._lives] if self._lives < len(deaths) else None
            if self._lives in stalls:
                at, seconds = stalls[self._lives]
                host.stalls[at] = seconds
            self._lives += 1
            client = StoreClient(self._server)
            bridges = [
                Bridge(name="kit.free", handler=self._free),
                Bridge(name="kit.pay", handler=self._pay, passes=(DecisionNeeded,)),
            ]
            self._processes[name] = _Process(
                host,
                Conversations(client, lease_seconds=_LEASE_SECONDS),
                InterpreterStack(
                    SeenEngine(self), ["accounts", "console", "durable"], bridges=bridges
                ),
                self.loop.create_future(),
            )
        return self._processes[name]

    # -- tools -----------------------------------------------------------------------------

    async def _free(self, n: int, context: CellContext) -> Any:
        return await self._made(n, context, gated=False)

    async def _pay(self, n: int, context: CellContext) -> Any:
        question = CallQuestion.of(context.call_key, "pay", {"n": n})
        self._questions[question.id] = self.key(context.cell.seed, context.request_id)
        decision = context.host.get(question.id)
        if decision is None:
            raise DecisionNeeded([question])
        if isinstance(decision, Denied):
            raise GuestException(decision.message)
        return await self._made(n, context, gated=True)

    async def _made(self, n: int, context: CellContext, *, gated: bool) -> Any:
        number = context.request_id
        key = self.key(context.cell.seed, number)
        self.note("call", key=key, number=number, gated=gated)
        if self.chance.random() < 0.8:
            await asyncio.sleep(self.chance.choice([0.01, 0.2, 2.0, 20.0]) * self.chance.random())
        self.note("answer", key=key)
        if n % 5 == 4:
            raise ValueError(f"no {n}")
        return n * 10

    # -- the adapter -----------------------------------------------------------------------

    async def _activation(self, process: _Process, decisions: Mapping[str, Any]) -> str:
        """Run or continue the eval in a process, as an adapter does; return its answer."""
        async with process.conversations.claim(_CONVERSATION) as conversation:
            data = conversation.data
            if "answer" in data:
                return str(data["answer"])
            opened = data.get("open") or {"questions": []}
            asked = [CallQuestion.from_dict(one) for one in opened["questions"]]
            if asked and not decisions:
                raise DecisionNeeded(asked)  # nothing of the code runs before a decision
            if decisions:
                check_decisions(asked, decisions, lambda question, args: None)
            try:
                outcome = await self._ran(process, conversation, decisions)
            except DecisionNeeded as needed:
                data["open"] = {"questions": [one.to_dict() for one in needed.questions]}
                await conversation.save()
                raise
            error = outcome.error
            data["answer"] = f"{outcome.text} {error and error.message}"
            data.pop("open", None)
            await conversation.save()
            await conversation.journal(_EVAL).delete()
            return str(data["answer"])

    async def _ran(
        self, process: _Process, conversation: ClaimedConversation, decisions: Mapping[str, Any]
    ) -> Any:
        budget = Budget() if self.plan.budget is None else Budget(requests=self.plan.budget)
        journal = conversation.journal(_EVAL)
        async with process.stack.session() as session:
            with Account(budget).use():
                if self.plan.slices is None:
                    session.bind(HostOffer(parts=[Journals(lambda host: journal)]))
                    return await session.eval(self.plan.source, host=decisions)
                cells = BackgroundCells(session, lambda cell: journal)
                session.bind(HostOffer(parts=[cells.journals]))
                cells.adopt("1", self.plan.source)
                while True:
                    answer = await cells.wait("1", self.plan.slices, host=decisions)
                    if answer.outcome is not None:
                        return answer.outcome
                    await asyncio.sleep(self.chance.random() * self.chance.choice([0.5, 10]))

    # -- the operator and the person -------------------------------------------------------

    async def drive(self, loop: SimLoop) -> None:
        """Let the run begin, answer its questions and start it again until it has ended."""
        self.loop = loop
        faults = Faults(self.chance, *self.plan.faulty)
        self._server = StoreServer(faults, self._saw)
        people, attempts, patience = self.plan.people, 0, PATIENCE
        while patience:
            attempts += 1
            troubled = attempts <= self.plan.troubled
            if not troubled:
                faults.calm()
                patience -= 1
            names = self.chance.sample("AB", 2)
            runs = names if troubled and self.odd(people.get("double", 0)) else names[:1]
            ends = [asyncio.ensure_future(self._attempt(name, troubled)) for name in runs]
            if any([await end for end in ends]) or self._settled:
                if self.odd(0.5):  # another process reports the same end
                    await self._attempt(names[1], troubled=False)
                return
            await asyncio.sleep(self.chance.random() * self.chance.choice([0.1, 3.0, 60.0]))
        self.note("stuck", why=f"{attempts} attempts")

    async def _attempt(self, name: str, troubled: bool) -> bool:
        """Start the run once; True if it has ended."""
        process = self._process(name)
        decisions = self._decide(troubled)
        context = contextvars.copy_context()
        context.run(HOST.set, process.host)
        task = self.loop.create_task(self._reported(process, decisions), context=context)
        cancel = troubled and self.odd(self.plan.people.get("cancel", 0))
        waits: set[Any] = {task, process.ended}
        leaves = troubled and not cancel and self.plan.people.get("impatient", 0)
        seconds = self.chance.random() * 3 if cancel else None
        if leaves:  # the operator starts another process meanwhile
            seconds = _LEASE_SECONDS + self.chance.random() * 20
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not task.done() and not process.ended.done() and not leaves:
            self.note("cancel")
            context.run(task.cancel)
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        return task.done() and not task.cancelled() and task.result()

    async def _reported(self, process: _Process, decisions: Mapping[str, Any]) -> bool:
        try:
            end = await self._activation(process, decisions)
        except DecisionNeeded as needed:
            self._pages.append([one.to_dict() for one in needed.questions])
            self.note("suspend")
        except DecisionRejected:
            self._pages.append([])  # the person looks again
            self.note("suspend")
        except asyncio.CancelledError:
            self.note("suspend")
            raise
        except StateBusy:
            self.note("suspend")
        except Exception as error:  # noqa: BLE001 - judged by the model
            self.note("error", name=type(error).__name__, text=str(error))
        else:
            self.note("settle", end=end)
            self._settled = True
            return True
        return False

    def _decide(self, troubled: bool) -> Mapping[str, Any]:
        """What the person answers to a page: to the last one, to an older one, or to none."""
        if not self._pages:
            return {}
        page = self._pages[-1]
        if troubled and self.odd(self.plan.people.get("stale", 0)):
            page = self.chance.choice(self._pages)
        if not page:  # the questions that the store has
            row = self._server.state.read(f"conversation:{_CONVERSATION}")
            data = json.loads(row.data)["data"] if row is not None and row.data else {}
            page = (data.get("open") or {"questions": []})["questions"]
        if not page:
            return {}
        self.note("show", questions=[(one["id"], self._questions[one["id"]]) for one in page])
        made: dict[str, Any] = {}
        for one in page:
            rejects = self.odd(self.plan.people.get("reject", 0))
            again = self._decided.get(one["id"]) if self.odd(0.7) else None
            made[one["id"]] = again or (Denied("no") if rejects else Approved())
        self._decided |= made
        said = {
            key: "approve" if isinstance(one, Approved) else "reject" for key, one in made.items()
        }
        self.note("decide", decisions=said)
        return made
