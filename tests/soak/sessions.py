"""The load on one engine: conversations whose cells count, fail, are cancelled, sleep and grow."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack

from cells import CELLS
from gates import Gate, Log, Tally

from interpstack import Bridge, InterpreterStack, Limits, Outcome, Session

__all__ = ["SessionLoad"]

#: Of cells that end by themselves, on a machine that may be busy.
_PATIENT = Limits(cpu_seconds=60, wall_seconds=250, memory_bytes=32 * 2**20)
#: Of cells that do not.
_IMPATIENT = Limits(cpu_seconds=0.25, wall_seconds=1.5, memory_bytes=32 * 2**20)
#: Conversations of an engine, of which fewer are awake.
_CONVERSATIONS, _AWAKE = 10, 5
#: Conversations whose cells do not end by themselves, or attack.
_HOSTILE = 2
#: Steps of a conversation, after which another one takes its place. The first ones have fewer, so
#: that conversations of all ages are there: an isolate of V8 grows for as long as it is used.
_STEPS = 60
_TRIES = 50
#: How often each step is taken, by its name.
_WEIGHTS = {
    "count": 50,
    "fan": 12,
    "grow": 12,
    "cancel": 10,
    "reset": 3,
}
_HOSTILE_WEIGHTS = {"hostile": 10, "endless": 2, "wait": 1}


class SessionLoad:
    """Runs steps in the conversations of one engine, until the gate has ended."""

    def __init__(self, engine: str, gate: Gate, log: Log, tally: Tally) -> None:
        self.engine, self._gate, self._log, self._tally = engine, gate, log, tally
        self._numbers = itertools.count()

    async def run(self) -> None:
        """Run all conversations."""
        bridges = [
            Bridge(name="soak.effect", handler=self._effect),
            Bridge(name="soak.nap", handler=_nap),
        ]
        async with AsyncExitStack() as stack:
            made = [
                InterpreterStack(
                    self.engine, bridges=bridges, limits=limits, max_live_sessions=_AWAKE
                )
                for limits in (_PATIENT, _IMPATIENT)
            ]
            patient, impatient = [await stack.enter_async_context(one) for one in made]
            async with asyncio.TaskGroup() as group:
                for number in range(_CONVERSATIONS):
                    group.create_task(self._converse(patient, number, _WEIGHTS))
                for number in range(_HOSTILE):
                    group.create_task(self._converse(impatient, number, _HOSTILE_WEIGHTS))

    async def _effect(self, name: str) -> int:
        self._log.write(name)
        await asyncio.sleep(self._tally.chance.random() * 0.01)
        return 1

    async def _converse(
        self, interpreters: InterpreterStack, place: int, weights: Mapping[str, int]
    ) -> None:
        """One conversation after another in one place."""
        for number in itertools.count():
            session = interpreters.session(f"{place}/{number}")
            talk = _Talk(self.engine, session, self._log, self._tally, self._numbers, weights)
            for _ in range(_STEPS if number else _STEPS * (place + 1) // _CONVERSATIONS):
                if self._gate.ended:
                    return
                async with self._gate.step():
                    await talk.step()
                await asyncio.sleep(0.005 if weights is _WEIGHTS else 0.25)
            await session.aclose()


class _Talk:
    """One conversation, and what it must answer."""

    def __init__(
        self,
        engine: str,
        session: Session,
        log: Log,
        tally: Tally,
        numbers: itertools.count[int],
        weights: Mapping[str, int],
    ) -> None:
        self._engine, self._session = engine, session
        self._log, self._tally, self._numbers = log, tally, numbers
        self._cells = CELLS[session.language.name]
        self._count: int | None = None
        self._weights = weights
        self._steps: dict[str, Callable[[], Awaitable[None]]] = {
            "count": self._counted,
            "fan": self._fanned,
            "grow": self._grown,
            "cancel": self._cancelled,
            "hostile": self._hostile,
            "reset": self._reset,
            "endless": self._endless,
            "wait": self._waited,
        }

    async def step(self) -> None:
        """Take a step of a random kind."""
        kind = self._tally.chance.choices(list(self._weights), list(self._weights.values()))[0]
        if self._count is None:
            await self._begin()
        await self._steps[kind]()
        self._tally.note(self._engine, kind)

    async def _begin(self) -> None:
        self._count = 0
        await self._answered(self._cells.first)

    def _name(self) -> str:
        return f"{self._engine}:{next(self._numbers)}"

    async def _answered(self, code: str, added: int = 0) -> None:
        """Run a cell that must answer with the count."""
        outcome = await self._session.eval(code)
        for _ in range(_TRIES if self._weights is _HOSTILE_WEIGHTS else 0):
            if outcome.error is None or outcome.error.name != "Timeout":
                break
            outcome = await self._session.eval(code)  # the machine is busy, and time is short
        if outcome.state == "lost":  # told; such a cell is sent with time that is short only
            self._count = None
            return
        self._count = (self._count or 0) + added
        if outcome.error is not None or outcome.text != str(self._count):
            self._report(code, f"{outcome.text} instead of {self._count}", outcome)
            self._count = None

    async def _counted(self) -> None:
        name = self._name()
        self._log.expect(name, 1, 1)
        await self._answered(self._cells.count.replace("NAME", name), 1)

    async def _fanned(self) -> None:
        name = self._name()
        for number in range(5):
            self._log.expect(f"{name}/{number}", 1, 1)
        await self._answered(self._cells.fan.replace("NAME", name), 5)

    async def _grown(self) -> None:
        await self._answered(self._cells.grow)

    async def _cancelled(self) -> None:
        """Cancel a cell with an effect at a random moment: it has counted, or it has not."""
        name = self._name()
        self._log.expect(name, 0, 1)
        running = asyncio.ensure_future(self._session.eval(self._cells.slow.replace("NAME", name)))
        await asyncio.wait({running}, timeout=self._tally.chance.random() * 0.1)
        running.cancel()
        await asyncio.wait({running})
        outcome = await self._session.eval(self._cells.look)
        if outcome.text not in (str(self._count), str((self._count or 0) + 1)):
            self._report("look", f"{outcome.text} instead of {self._count} or one more", outcome)
            self._count = None
        else:
            self._count = int(outcome.text)

    async def _hostile(self) -> None:
        await self._harmless(self._tally.chance.choice(self._cells.hostile))

    async def _endless(self) -> None:
        await self._harmless(self._cells.endless, "Timeout")

    async def _waited(self) -> None:
        await self._harmless(self._cells.waits, "Timeout")

    async def _harmless(self, code: str, error: str | None = None) -> None:
        """Run a cell that may fail, and look whether the count is as it was."""
        outcome = await self._session.eval(code)
        if error is not None and (outcome.error is None or outcome.error.name != error):
            self._report(code, f"not {error}", outcome)
        if outcome.state == "lost":  # told, and the code of an agent would begin anew
            self._count = None
            return
        await self._answered(self._cells.look)

    async def _reset(self) -> None:
        await self._session.reset()
        self._count = None

    def _report(self, code: str, what: str, outcome: Outcome) -> None:
        text = f"{outcome.error}, {outcome.state}, {outcome.notices}"
        self._tally.report(f"{self._engine} {self._session.key}: {code:.80}: {what}: {text:.300}")


async def _nap(seconds: float) -> None:
    await asyncio.sleep(seconds)
