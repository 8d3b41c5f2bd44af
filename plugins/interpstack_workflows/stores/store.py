"""The store of runs: everything that another process needs to continue a run."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

import attrs

from interpstack import ConfigurationError
from interpstack.checks import expect
from interpstack_state import (
    StateBusy,
    StateError,
    StateRejected,
    StateStore,
    StateTaken,
    StoredState,
    StoreThreads,
)
from interpstack_workflows.errors import LeaseLost, UnknownRun, WorkflowError
from interpstack_workflows.steps.entries import Entry, entry_from_json, entry_to_json
from interpstack_workflows.steps.step_forms import check_entry
from interpstack_workflows.stores.companions import Companions
from interpstack_workflows.stores.records import (
    Message,
    RunStatus,
    WorkflowRecord,
    damaged_run,
    run_from_json,
    run_to_json,
)

__all__ = ["Lease", "TakenRun", "WorkflowStore"]

_T = TypeVar("_T")

_log: Final = logging.getLogger(__name__)
_to_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


@attrs.frozen
class Lease:
    """The right to work on a run, for a time.

    Attributes:
        run_id: The id of the run.
        token: Fences writes: those with the token of an earlier lease are refused.
        seconds: Seconds for which it lasts after each renewal.
        until: The time by this runner's clock at which the runner stops to work under it, unless it
            is renewed; the store's clock lets it last a little longer.
    """

    run_id: str
    token: str
    seconds: float
    until: float

    def check_run(self, run_id: str) -> None:
        """Check that the lease is for a run.

        Raises:
            WorkflowError: The lease is for another run.
        """
        if self.run_id != run_id:
            raise WorkflowError(
                f"the lease is for the run {self.run_id!r:.200}, not for {run_id!r:.200}; claim "
                "the run itself"
            )


@attrs.frozen(kw_only=True)
class TakenRun:
    """A run with everything that its runner needs to continue it.

    Attributes:
        record: The record of the run; `None` if there is no such run.
        lease: The right to work on the run; `None` while another runner has it.
        entries: The entries of the run; none without a lease.
        messages: The messages to the run, with their numbers; none without a lease.
        held_until: The end of the lease of another runner by the store's clock, which changes when
            that runner renews it; `None` with a lease.
    """

    record: WorkflowRecord | None
    lease: Lease | None = None
    entries: Sequence[Entry] = ()
    messages: Sequence[tuple[int, Message]] = ()
    held_until: float | None = None


class WorkflowStore:
    """Keeps runs in a store of states: their records, entries, messages and leases.

    The blob of a state is the record of a run, its label the status, its log the entries, and its
    inbox the messages; all of them are JSON. When a method returns, its writes are safe. Methods
    may be called from several processes and event loops at once.

    Args:
        state: The store of states, which is closed with this one. Its space should be of workflows
            alone, as in `SQLiteStore("runs.db", space="workflows")`.
        clock: Returns the time for `Lease.until`, in seconds since 1970.

    Raises:
        ConfigurationError: The object is not a `StateStore`.
    """

    def __init__(self, state: StateStore, clock: Callable[[], float] = time.time) -> None:
        expect(state, StateStore, "a WorkflowStore takes a StateStore, such as SQLiteStore")
        self._state = state
        self._clock = clock
        self._companions = Companions(state)
        self._threads = StoreThreads(state.threads, "interpstack-workflows")
        self._is_closed = False

    @property
    def companions(self) -> Companions:
        """The data that other packages store beside the runs."""
        return self._companions

    async def create(self, run: WorkflowRecord) -> None:
        """Store a new run.

        Raises:
            WorkflowError: A run with this id exists.
        """
        data = _to_json(run_to_json(run)).encode()
        made = await self._use(
            "written",
            run.id,
            lambda: self._state.create(run.id, data, label=run.status, created=run.created),
        )
        if not made:
            raise WorkflowError(
                f"there is a run {run.id!r} already; leave out the id to get a new one"
            )

    async def read(self, run_id: str) -> WorkflowRecord | None:
        """Return the stored record of a run; `None` if there is no such run."""
        found = await self._use("read", run_id, lambda: self._state.read(run_id))
        return None if found is None else _record(found)

    async def runs(
        self, status: RunStatus | None = None, limit: int = 100
    ) -> Sequence[WorkflowRecord]:
        """Stored runs, the newest first; damaged ones are named in the log.

        Args:
            status: Only runs in this state; `None` for all.
            limit: The largest number of runs.
        """
        found = []
        for state in await self._use("listed", "", lambda: self._state.states(status, limit)):
            try:
                found.append(_record(state))
            except WorkflowError as error:
                _log.warning("%s", error)
        return found

    async def update(self, run: WorkflowRecord, lease: Lease) -> None:
        """Replace the record of a run, and renew the lease.

        Raises:
            LeaseLost: Another runner has claimed the run since.
            WorkflowError: The lease is for another run.
        """
        await self._save(run, lease, lease.seconds)

    async def leave(self, run: WorkflowRecord, lease: Lease) -> None:
        """Replace the record of a run, and give the lease back.

        Raises:
            LeaseLost: Another runner has claimed the run since.
            WorkflowError: The lease is for another run.
        """
        await self._save(run, lease, 0)

    async def _save(self, run: WorkflowRecord, lease: Lease, seconds: float) -> None:
        lease.check_run(run.id)
        data, token = _to_json(run_to_json(run)).encode(), lease.token
        await self._use(
            "written",
            run.id,
            lambda: self._state.save(run.id, token, data, seconds, label=run.status),
        )

    async def entries(self, run_id: str) -> Sequence[Entry]:
        """Return the entries of a run, in order.

        Raises:
            WorkflowError: They are damaged.
        """
        log = await self._use("read", run_id, lambda: self._state.log(run_id))
        return _entries(run_id, log)

    async def append(self, run_id: str, index: int, entries: Sequence[Entry], lease: Lease) -> None:
        """Store entries, together or not at all.

        Args:
            run_id: The id of the run.
            index: Position of the first entry: the number of entries that are stored already.
            entries: The entries.
            lease: The right of the runner.

        Raises:
            LeaseLost: Another runner has claimed the run since.
            WorkflowError: The lease is for another run, or the index is not that of the next entry.
        """
        lease.check_run(run_id)
        texts = [_to_json(entry_to_json(entry)) for entry in entries]
        await self._use(
            "written", run_id, lambda: self._state.append(run_id, lease.token, index, texts)
        )

    async def send(self, run_id: str, message: Message) -> None:
        """Store a message to a run.

        Raises:
            UnknownRun: There is no such run.
        """
        text = _to_json(attrs.asdict(message))
        if await self._use("written", run_id, lambda: self._state.send(run_id, text)) is None:
            raise _unknown(run_id)

    async def messages(self, run_id: str, after: int) -> Sequence[tuple[int, Message]]:
        """Messages to a run with their numbers, which count from 1, in the order of sending.

        Args:
            run_id: The id of the run.
            after: Only messages with a higher number.
        """
        sent = await self._use("read", run_id, lambda: self._state.inbox(run_id, after))
        return _messages(run_id, sent)

    async def take(
        self,
        run_id: str,
        owner: str,
        seconds: float,
        begin: Callable[[WorkflowRecord], WorkflowRecord] = lambda run: run,
    ) -> TakenRun:
        """Claim a run, change its record, and read everything of it.

        Args:
            run_id: The id of the run.
            owner: A name for the runner, for people who read the store.
            seconds: Seconds for which the lease lasts.
            begin: Takes the record of the run and returns the new one; the same object if nothing
                changes. May be called in another thread.

        Raises:
            UnknownRun: There is no such run.
            WorkflowError: The run is damaged; it is not claimed then.
        """
        token = f"{owner}/{secrets.token_hex(8)}"
        until = self._clock() + seconds  # before the store is asked, so that it ends first here
        return await self._use(
            "read", run_id, lambda: self._take(Lease(run_id, token, seconds, until), begin)
        )

    def _take(self, lease: Lease, begin: Callable[[WorkflowRecord], WorkflowRecord]) -> TakenRun:
        run_id, token = lease.run_id, lease.token
        try:
            taken = self._state.take(run_id, token, lease.seconds)
        except StateBusy as busy:
            found = self._state.read(run_id)
            record = None if found is None else _record(found)
            return TakenRun(record=record, held_until=busy.until)
        except StateRejected:
            self._state.renew(run_id, token, 0)
            raise
        if taken is None:
            raise _unknown(run_id)
        try:
            record = _record(taken.state)
            entries, messages = _entries(run_id, taken.log), _messages(run_id, taken.inbox)
            begun = begin(record)
            if begun is not record:
                data = _to_json(run_to_json(begun)).encode()
                self._state.save(run_id, token, data, lease.seconds, label=begun.status)
        except BaseException:
            self._state.renew(run_id, token, 0)
            raise
        return TakenRun(record=begun, lease=lease, entries=entries, messages=messages)

    async def renew(self, lease: Lease) -> Lease | None:
        """Return the lease, extended from now on; `None` if another runner has claimed the run."""
        until = self._clock() + lease.seconds
        try:
            await self._hold(lease, lease.seconds)
        except LeaseLost:
            return None
        return attrs.evolve(lease, until=until)

    async def release(self, lease: Lease) -> None:
        """Give a lease back; nothing happens if it is not valid any more."""
        with suppress(LeaseLost):
            await self._hold(lease, 0)

    async def _hold(self, lease: Lease, seconds: float) -> None:
        run_id = lease.run_id
        await self._use("written", run_id, lambda: self._state.renew(run_id, lease.token, seconds))

    async def delete(self, run_id: str) -> None:
        """Remove a run with all that belongs to it; nothing happens if there is no such run."""
        await self._companions.delete(run_id)
        await self._use("deleted", run_id, lambda: self._state.delete(run_id))

    async def aclose(self) -> None:
        """Close the store; closing twice is allowed."""
        if self._is_closed:
            return
        self._is_closed = True
        await self._companions.aclose()
        await asyncio.to_thread(self._threads.close)
        self._state.close()

    async def _use(self, use: str, run_id: str, function: Callable[[], _T]) -> _T:
        """Use the store of states, in a thread if it may wait.

        Args:
            use: What could not be done if it fails, as in "read".
            run_id: The run; empty for all runs.
            function: Uses it.
        """
        if self._is_closed:
            raise WorkflowError("the store was closed; open it again")
        try:
            return await self._threads.run(function)
        except StateTaken as error:
            raise LeaseLost(f"another runner has claimed the run {run_id!r}") from error
        except StateError as error:
            what = f"the record of the run {run_id!r:.80}" if run_id else "the runs"
            raise WorkflowError(f"{what} cannot be {use}: {error}") from error


def _record(found: StoredState) -> WorkflowRecord:
    """Return the run in a state.

    Raises:
        WorkflowError: It is damaged, or of a newer release.
    """
    try:
        text = found.data.decode()
    except UnicodeDecodeError as error:
        raise damaged_run(found.key, "it is not text") from error
    return run_from_json(_from_json(found.key, text), found.key)


def _entries(run_id: str, log: Sequence[str]) -> Sequence[Entry]:
    try:
        entries = [entry_from_json(_from_json(run_id, text)) for text in log]
        for entry in entries:
            check_entry(entry)
    except WorkflowError as error:
        raise WorkflowError(f"run {run_id!r:.80}: {error}") from error
    return entries


def _messages(run_id: str, inbox: Sequence[tuple[int, str]]) -> Sequence[tuple[int, Message]]:
    return [(number, _message(run_id, _from_json(run_id, text))) for number, text in inbox]


def _message(run_id: str, data: Any) -> Message:
    try:
        message = Message(**data)
    except (ConfigurationError, TypeError) as error:
        raise damaged_run(run_id, f"a message is malformed: {error}") from error
    if not (isinstance(message.name, str) and isinstance(message.id, str)):
        raise damaged_run(run_id, "a message is malformed")
    return message


def _from_json(run_id: str, text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise damaged_run(run_id, f"a stored text is not JSON: {error}") from error


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a number in JSON")


def _unknown(run_id: str) -> UnknownRun:
    return UnknownRun(f"there is no run {run_id!r:.200}; list the runs of the store")
