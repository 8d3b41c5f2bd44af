"""A read-only journal, which replays its entries and ends the run after the last one."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final

import attrs

from interpstack import (
    MODULE,
    TIMER,
    Bridge,
    BridgeError,
    BridgeRegistry,
    Cell,
    CellExtension,
    ConfigurationError,
    HostOffer,
    Request,
    Session,
    Step,
    hookimpl,
)
from interpstack_durable.api import DurableRun, Journal, Journals
from interpstack_langchain.error_names import ERROR_NAMES

__all__ = ["NothingIsCalled", "ReadOnlyStore", "RecordEnds", "Rerun"]

#: Requests that need no bridge.
_BUILT_IN: Final = (TIMER, MODULE)


class RecordEnds(Exception):
    """Raised when the code waits for an answer after the end of the record.

    Attributes:
        waiting: The requests that the code waits for.
    """

    def __init__(self, waiting: Sequence[Request]) -> None:
        super().__init__("the record ends here")
        self.waiting = tuple(waiting)


@attrs.define(eq=False, repr=False)
class ReadOnlyStore:
    """A journal's entries; see `interpstack_durable.cell_journal.JournalStore`.

    Attributes:
        key: Identifies the eval.
        entries: The recorded entries of the eval.
    """

    key: str
    entries: Sequence[Mapping[str, Any]]
    suspends: bool = False
    pause_grace: float = 0.0

    async def load(self) -> Sequence[Mapping[str, Any]]:
        return self.entries

    async def append(self, index: int, entry: Mapping[str, Any]) -> None:
        raise RecordEnds(())

    async def append_spent(self, record: Mapping[str, Any]) -> None:
        raise RecordEnds(())

    def spent(self) -> Sequence[Mapping[str, Any]]:
        return ()

    async def keep_suspended(self, text: str) -> None:
        raise RecordEnds(())

    async def suspended(self) -> str | None:
        return None

    async def take_answers(self, journal: Journal) -> None:
        """`_ReadOnlyJournal` ends the run after the last entry."""

    async def pause(
        self,
        journal: Journal,
        paused: Sequence[tuple[Request, BaseException]],
        running: Sequence[Request],
    ) -> BaseException:
        return RecordEnds([request for request, _ in paused])


@attrs.define(eq=False, repr=False)
class Rerun:
    """One run of a recorded eval.

    Attributes:
        store: The entries of the eval's journal.
        began: The clock of the eval in seconds since 1970, if none is recorded.
        bridges: Names to be offered to the code, each with fields of its bridge.
        waiting: Unanswered requests of the code.
        over: Set when the whole record was replayed.
    """

    store: ReadOnlyStore
    began: float
    bridges: Mapping[str, Mapping[str, bool]]
    waiting: dict[int, Request] = attrs.field(factory=dict)
    over: asyncio.Event = attrs.field(factory=asyncio.Event)

    def offer(self) -> HostOffer:
        """The offer that is bound to the session."""
        return HostOffer(parts=[Journals(lambda host: self.store), self], error_names=ERROR_NAMES)


class NothingIsCalled:
    """The plugin that makes a run a replay; bound by `Rerun.offer`."""

    name = "replay"

    @hookimpl
    def interpstack_register_bridges(self, register: BridgeRegistry, offer: HostOffer) -> None:
        for name, fields in _rerun(offer).bridges.items():
            if name in _BUILT_IN:
                continue
            try:
                made = Bridge(
                    name=name,
                    handler=_refuse,
                    raw=True,
                    owner="replay",
                    listed=fields.get("listed", True),
                    positional=fields.get("positional", False),
                    yields=fields.get("yields", False),
                )
                register.bridge(made)
            except BridgeError:
                continue  # of a thread whose tools had other names by then

    @hookimpl(wrapper=True)
    def interpstack_open_cell(
        self, session: Session, cell: Cell
    ) -> Generator[None, list[CellExtension], list[CellExtension]]:
        run = _rerun(session.offer)
        opened = yield
        return [
            DurableRun(_ReadOnlyJournal(one.journal, run)) if isinstance(one, DurableRun) else one
            for one in opened
        ]


def _rerun(offer: HostOffer) -> Rerun:
    run = offer.part(Rerun)
    if run is None:
        raise ConfigurationError("a replay needs a session that is bound to `Rerun.offer`")
    return run


class _ReadOnlyJournal(Journal):
    def __init__(self, recorded: Journal, run: Rerun) -> None:
        self.seed = recorded.seed
        self._recorded = recorded
        self._run = run

    async def begin(self, now: float) -> float:
        return await self._recorded.begin(self._run.began)

    def replay(self, asked: Sequence[Request]) -> Step | None:
        step = self._recorded.replay(asked)
        waiting = self._run.waiting
        waiting.update((request.id, request) for request in asked)
        for settlement in step.settlements if step is not None else ():
            waiting.pop(settlement.id, None)
        return step

    async def resume(self) -> None:
        """End the run, unless only timers are open: then the code may have ended.

        The cell loop drops pending requests at the end of a cell, so the caller of the cell
        inspects them here.
        """
        self._run.over.set()
        calls = [r for r in self._run.waiting.values() if r.bridge != TIMER]
        if calls:
            raise RecordEnds(calls)

    async def record(self, asked: Sequence[Request], step: Step) -> None:
        raise RecordEnds(tuple(self._run.waiting.values()))

    async def keep(self, asked: Sequence[Request] | None, ended: Step) -> None:
        raise RecordEnds(())

    def undelivered(self, asked: Sequence[Request]) -> None:
        """Undelivered answers are not delivered in a replay."""

    async def pause(
        self,
        asked: Sequence[Request],
        step: Step,
        paused: Sequence[tuple[Request, BaseException]],
        running: Sequence[Request] = (),
    ) -> BaseException:
        return RecordEnds([request for request, _ in paused])

    async def keep_amounts(self, record: Mapping[str, Any]) -> None:
        raise RecordEnds(())

    def amounts(self) -> Sequence[Mapping[str, Any]]:
        return self._recorded.amounts()

    def noted(self, key: str) -> Any:
        return self._recorded.noted(key)

    async def note(self, notes: Mapping[str, Any]) -> None:
        raise RecordEnds(())


async def _refuse(value: Any) -> None:
    raise RuntimeError("a replay calls nothing")
