"""Cells in the background of one session: suspended after some seconds, and continued later."""

from __future__ import annotations

import asyncio
import secrets
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

import attrs

from interpstack import ConfigurationError, Outcome, Session, SessionClosed
from interpstack.checks import shown
from interpstack_durable.background.kept_realms import free_kept_realm
from interpstack_durable.background.memory_store import MemoryJournalStore
from interpstack_durable.background.running_cell import RunningCell
from interpstack_durable.background.time_slices import StillRunning, check_seconds, cut_off
from interpstack_durable.cell_journal import JournalStore
from interpstack_durable.journals import Journals

__all__ = ["BackgroundCells", "CellAnswer", "close_cells"]

#: Cells that have ended and are remembered, to say what happened to them.
_MAX_ENDED: Final = 64


@attrs.frozen(kw_only=True)
class CellAnswer:
    """The answer of a cell in the background after one time slice.

    Attributes:
        id: The id of the cell.
        outcome: The outcome of the cell; `None` while it runs.
        console: Console output since the previous time slice.
        attachments: Objects that bridges have attached since the previous time slice, such as
            images; `outcome.attachments` has all of the cell.
        waits_for: The calls and timers that the guest waits for.
        missing: The reason why there is no such cell, in words; empty if there is one.
    """

    id: str
    outcome: Outcome | None = None
    console: str = ""
    attachments: tuple[Any, ...] = ()
    waits_for: tuple[str, ...] = ()
    missing: str = ""


def _check_session(session: Any) -> None:
    if not isinstance(session, Session):
        raise ConfigurationError(
            f"BackgroundCells takes a session, as stack.session(…) makes it; got {shown(session)}"
        )
    # The plugin may have been passed as a module, under that name.
    names = {name for name, _ in session.stack.each("interpstack_open_cell")}
    if not names & {"durable", "interpstack_durable"}:
        raise ConfigurationError(
            "BackgroundCells needs the plugin 'durable'; add it to plugins=[…] of the stack"
        )


def _check_id(value: Any) -> None:
    if not isinstance(value, str):
        raise ConfigurationError(f"id must be a string, as CellAnswer.id is; got {shown(value)}")


#: Cells of sessions that are open; they end with their session.
_open: weakref.WeakKeyDictionary[Session, weakref.WeakSet[BackgroundCells]] = (
    weakref.WeakKeyDictionary()
)


async def close_cells(session: Session) -> None:
    """Terminate the cells in the background of a session that closes."""
    for cells in list(_open.pop(session, ())):
        await cells.aclose()


class BackgroundCells:
    """The cells of a session that may run in the background, one at a time.

    The offer of the session needs the part `cells.journals`, and the stack the plugin `durable`.

    Args:
        session: The session. Nothing else may run cells in it, reset it or restore a state while a
            cell is in the background.
        make_store: Makes the store for the journal of a cell, by the id of the cell. A cell whose
            store outlives the process continues in another one, after `adopt`.

    Raises:
        ConfigurationError: It is not a session, or its stack lacks the plugin `durable`.
    """

    def __init__(
        self, session: Session, make_store: Callable[[str], JournalStore] | None = None
    ) -> None:
        _check_session(session)
        self._session = session
        _open.setdefault(session, weakref.WeakSet()).add(self)
        self._make_store = make_store or (lambda cell: MemoryJournalStore(secrets.token_hex(8)))
        self._cell: RunningCell | None = None
        self._count = 0
        self._ended: OrderedDict[str, str] = OrderedDict()
        #: The part of the session's offer by which the plugin `durable` finds the current cell.
        self.journals = Journals(
            self._store_for,
            lambda host: None if self._cell is None else self._cell.in_flight,
            lambda host: None if self._cell is None else self._cell.time_slice,
        )

    def _store_for(self, host: Any) -> JournalStore | None:
        """The store of the current cell, for its own run only."""
        cell = self._cell
        if cell is None:
            return None
        if asyncio.current_task() is not cell.run:
            raise self._taken(cell)
        return cell.store

    def _taken(self, cell: RunningCell) -> ConfigurationError:
        return ConfigurationError(
            f"cell {cell.id} of session {self._session.key!r} is still running and holds "
            "its variables; wait for it, or terminate it"
        )

    @property
    def running(self) -> str | None:
        """The id of the cell that has not ended, if there is one."""
        return None if self._cell is None else self._cell.id

    async def eval(self, code: str, *, yield_after: float, host: Any = None) -> CellAnswer:
        """Run a cell, in the background if it takes long.

        Args:
            code: Source text.
            yield_after: Seconds after which a cell that waits for its calls is suspended.
            host: See `Session.eval`.

        Raises:
            ConfigurationError: A cell of the session has not ended; or an argument is wrong, or
                the session is not bound to an offer with `journals`. Nothing was run.
            SessionClosed: The session was closed.
        """
        check_seconds(yield_after, "yield_after")
        while (number := str(self._count + 1)) in self._ended:
            self._count += 1
        cell = self._adopt(number, code)
        try:
            return await self.wait(number, yield_after, host=host)
        except (ConfigurationError, SessionClosed):
            if not await cell.store.load():
                self._end(cell, "it was refused, and never ran")
            raise

    def adopt(self, id: str, code: str) -> None:  # noqa: A002 - the word for it
        """Take over a cell that another process has suspended, so that `wait` continues it.

        Args:
            id: The id that the cell had there.
            code: The source, which the journal must fit.

        Raises:
            ConfigurationError: A cell of the session has not ended; or the code or the id is not
                text.
        """
        self._adopt(id, code)

    def _adopt(self, id: str, code: str) -> RunningCell:  # noqa: A002
        _check_id(id)
        if not isinstance(code, str):
            raise ConfigurationError(f"code must be a string; got {shown(code)}")
        self._check_bound()
        if self._cell is not None:
            raise self._taken(self._cell)
        self._cell = RunningCell(id, code, self._make_store(id))
        return self._cell

    def _check_bound(self) -> None:
        if self._session.offer.part(Journals) is not self.journals:
            raise ConfigurationError(
                f"session {self._session.key!r} is not bound to these cells, so no cell could be "
                "suspended; call session.bind(HostOffer(parts=[cells.journals])) first"
            )

    async def wait(self, id: str, seconds: float, *, host: Any = None) -> CellAnswer:  # noqa: A002
        """Continue a cell, for at most some seconds.

        A handler's exception for the host is raised by this method; the cell remains, and continues
        with the next call.

        Args:
            id: The id of the cell.
            seconds: Seconds after which the cell is suspended again.
            host: See `Session.eval`.

        Raises:
            ConfigurationError: Another caller waits for the cell, or an argument is wrong.
        """
        check_seconds(seconds, "seconds")
        _check_id(id)
        cell = self._cell
        if cell is None or cell.id != id:
            return self._missing(id)
        if cell.time_slice is not None:
            raise ConfigurationError(
                f"another caller waits for cell {id}; only one may wait at a time"
            )
        cell.begin(seconds, lambda: self._run(cell, host))
        return self._answer(cell, await cell.ended())

    async def _run(self, cell: RunningCell, host: Any) -> Outcome:
        await cell.stop_recording()
        cell.heard.clear()
        return await self._session.eval(cell.code, host=host, on_console=cell.heard.append)

    async def terminate(self, id: str) -> CellAnswer:  # noqa: A002
        """Terminate a cell and its calls in flight; a cell that ends by itself first has ended.

        Its changes to variables are undone.

        Raises:
            ConfigurationError: The id is not a string.
        """
        _check_id(id)
        cell = self._cell
        if cell is None or cell.id != id:
            return self._missing(id)
        if cell.time_slice is not None and cell.run is not None:
            cell.time_slice.cut()
            await asyncio.wait({cell.run})
            await asyncio.sleep(0)  # whoever waits for the cell gets its outcome
            if self._cell is not cell:
                return self._missing(id)
        self._end(cell, "it was terminated")
        self._ended[cell.id] += cut_off(await cell.stop_calls())
        await free_kept_realm(self._session.stack, await cell.store.suspended())
        return self._missing(id)

    async def aclose(self) -> None:
        """Terminate the cell that still runs, if there is one."""
        if self._cell is not None:
            await self.terminate(self._cell.id)

    def _answer(self, cell: RunningCell, ended: Outcome | StillRunning) -> CellAnswer:
        attached = cell.seen.new_attachments(ended.attachments)
        answer = CellAnswer(id=cell.id, attachments=attached)
        if isinstance(ended, StillRunning):
            console = cell.seen.new("".join(cell.heard))
            return attrs.evolve(answer, console=console, waits_for=ended.waits_for)
        self._end(cell, "it has ended, and its outcome was returned")
        return attrs.evolve(answer, outcome=ended, console=cell.seen.new(ended.console))

    def _end(self, cell: RunningCell, why: str) -> None:
        if self._cell is cell:
            self._cell = None
        self._ended[cell.id] = why
        while len(self._ended) > _MAX_ENDED:
            self._ended.popitem(last=False)

    def _missing(self, id: str) -> CellAnswer:  # noqa: A002
        known = "no cell is running" if self._cell is None else f"cell {self._cell.id} is running"
        why = self._ended.get(id, "there is no such cell")
        return CellAnswer(id=id, missing=f"cell {id}: {why}; {known}")
