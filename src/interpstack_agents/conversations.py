"""Conversations in a store of states: records of variables, and journals of evals.

A conversation is one state: its blob is JSON with the records that the persistence mode makes, and
with data of the adapter. The log of a state beside it is the journal of an eval. One process at a
time claims a conversation, and renews its claim; a process that lost its claim can write neither
the conversation nor a journal.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, TypeVar

import attrs

from interpstack import ConfigurationError, Request, Slots
from interpstack.checks import shown
from interpstack_agents.approvals import open_questions
from interpstack_agents.journals import JournalBase, Notes
from interpstack_agents.live_session import SavedState
from interpstack_agents.records import Record, are_records, joined, json_records, read_json_records
from interpstack_state import (
    STORE_URLS,
    StateBusy,
    StateError,
    StateRejected,
    StateStore,
    StateTaken,
    StoreThreads,
    open_store,
)

__all__ = ["ClaimedConversation", "Conversations", "StateJournal"]

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_FORM: Final = 1
#: Claims are renewed this often before they end.
_RENEWALS: Final = 3


@attrs.define(eq=False, repr=False)
class _ConversationClaim:
    """A store, and the token with which this process claims a conversation in it."""

    store: StateStore
    threads: StoreThreads
    token: str
    seconds: float

    async def run(self, method: Callable[..., _T], *args: Any, **kwargs: Any) -> _T:
        """Call a method of the store, which may block."""
        return await self.threads.run(partial(method, *args, **kwargs))


class StateJournal(JournalBase):
    """The journal of one eval in the log of a state; see `ClaimedConversation.journal`.

    Args:
        key: The key of the state.
        claim: The claim on the conversation.
    """

    def __init__(self, key: str, claim: _ConversationClaim) -> None:
        super().__init__(key)
        self._claim = claim
        self._claimed = False

    async def load(self) -> Sequence[Mapping[str, Any]]:
        return [json.loads(text) for text in await self._claim.run(self._claim.store.log, self.key)]

    async def append(self, index: int, entry: Mapping[str, Any]) -> None:
        claim = self._claim
        if not self._claimed:
            # The conversation's claim keeps others away. This token is valid until the next claim.
            await claim.run(claim.store.claim, self.key, claim.token, 0)
            self._claimed = True
        await claim.run(claim.store.append, self.key, claim.token, index, [json.dumps(entry)])

    async def pause(
        self,
        journal: Notes,
        paused: Sequence[tuple[Request, BaseException]],
        running: Sequence[Request],
    ) -> BaseException:
        """All questions of the paused calls in one `DecisionNeeded`."""
        return open_questions([error for _, error in paused])

    async def delete(self) -> None:
        """Delete the journal, because its eval ended or will never go on."""
        await self._claim.run(self._claim.store.delete, self.key)


@attrs.define(eq=False, repr=False)
class ClaimedConversation:
    """A conversation that this process has claimed; made by `Conversations.claim`.

    Attributes:
        key: Identifies the conversation.
        records: The records of its variables, oldest first.
        data: Plain JSON data of the adapter, stored together with the records by `save`.
    """

    key: str
    records: Sequence[Record]
    data: dict[str, Any]
    _claim: _ConversationClaim
    _stored: bool = False

    @property
    def stored(self) -> bool:
        """Whether the store has a state of the conversation."""
        return self._stored

    def fill(self, records: Sequence[Record], data: dict[str, Any]) -> None:
        """Take what is stored."""
        self.records, self.data = records, data

    def saved(self, turn: str = "") -> SavedState:
        """The state for `LiveSessions.enter`; see `SavedState`."""
        return attrs.evolve(SavedState.of(self.records), turn=turn)

    def journal(self, name: str) -> StateJournal:
        """The journal of an eval of this conversation.

        Args:
            name: Identifies the eval in the conversation; letters and digits without `:`.
        """
        return StateJournal(f"eval:{self.key}:{name}", self._claim)

    async def save(self, record: Record | None = None) -> None:
        """Store the data and the records in one step.

        Args:
            record: A new record; `None` for none.

        Raises:
            StateError: The store failed, or another process has claimed the conversation.
        """
        records = joined(self.records, [] if record is None else [[record]])
        text = json.dumps({"form": _FORM, "records": json_records(records), "data": self.data})
        claim = self._claim
        await claim.run(
            claim.store.save, _state_key(self.key), claim.token, text.encode(), claim.seconds
        )
        self.records, self._stored = records, True


class Conversations:
    """The conversations of an adapter in a store of states.

    Args:
        store: A `StateStore`, or the URL of one; see `interpstack_state.open_store`.
        lease_seconds: Seconds that a claim outlives its process. Another process waits as long for
            a conversation that is in use.

    Raises:
        ConfigurationError: The store has no logs, the URL is wrong, or the seconds are not a
            number above 0.
    """

    def __init__(self, store: StateStore | str, *, lease_seconds: float = 30.0) -> None:
        opened = open_store(store, space="conversations") if isinstance(store, str) else store
        if not isinstance(opened, StateStore):
            raise ConfigurationError(
                f"store takes a StateStore or the URL of one ({STORE_URLS}); got {shown(store)}"
            )
        number = isinstance(lease_seconds, (int, float)) and not isinstance(lease_seconds, bool)
        if not number or not 0 < lease_seconds <= 3600:
            raise ConfigurationError(
                f"lease_seconds takes a number above 0, at most 3600; got {shown(lease_seconds)}"
            )
        self.store = opened
        self._threads = StoreThreads(opened.threads, "interpstack-conversations")
        self._owns_store = opened is not store
        self.lease_seconds = float(lease_seconds)
        self._slots: dict[str, Slots] = {}

    def close(self) -> None:
        """Close the store if it was opened by its URL; the caller closes one of its own."""
        self._threads.close()
        if self._owns_store:
            self.store.close()

    @asynccontextmanager
    async def claim(self, key: str) -> AsyncIterator[ClaimedConversation]:
        """Claim a conversation; other evals of it wait, in this process and in others.

        Args:
            key: Identifies the conversation, a text of at most 1,000 bytes in UTF-8.

        Raises:
            ConfigurationError: The key is no such text.
            StateBusy: Another process has claimed the conversation for longer than
                `lease_seconds`.
            StateRejected: The stored conversation is damaged, or of another release.
            StoreUnavailable: The store failed.
        """
        if not key:
            raise ConfigurationError("the key of a conversation is a text that is not empty")
        claim = _ConversationClaim(
            self.store, self._threads, secrets.token_hex(16), self.lease_seconds
        )
        slots = self._slots.setdefault(key, Slots(1))
        try:
            async with slots.slot():
                blob = await self._claimed(key, claim)
                conversation = ClaimedConversation(key, [], {}, claim, stored=bool(blob))
                renewing = asyncio.create_task(_renew(_state_key(key), claim))
                try:
                    if blob:
                        conversation.fill(*_read(key, blob))
                    yield conversation
                finally:
                    renewing.cancel()
                    await asyncio.gather(renewing, return_exceptions=True)
                    await _release(_state_key(key), claim, stored=conversation.stored)
        finally:
            if not slots.busy:
                self._slots.pop(key, None)

    async def _claimed(self, key: str, claim: _ConversationClaim) -> bytes | None:
        """Claim a conversation, and return its blob; wait for the end of a claim that lapses."""
        waited = 0.0
        while True:
            try:
                return await claim.run(
                    self.store.claim, _state_key(key), claim.token, self.lease_seconds
                )
            except StateBusy as busy:
                if waited > self.lease_seconds:
                    raise
                pause = min(0.5, max(busy.wait_seconds, 0.01))
            await asyncio.sleep(pause)
            waited += pause


def _state_key(key: str) -> str:
    return f"conversation:{key}"


async def _release(key: str, claim: _ConversationClaim, *, stored: bool) -> None:
    """End a claim. One that cannot be ended lapses by itself, so a failure is logged only."""
    try:
        if stored:
            await claim.run(claim.store.renew, key, claim.token, 0)
        else:
            await claim.run(claim.store.delete, key, claim.token)
    except StateError as error:
        _log.warning("a conversation stays claimed for some seconds: %s", error)


async def _renew(key: str, claim: _ConversationClaim) -> None:
    """Renew a claim until it is lost: from then on, the store refuses what this process writes."""
    while True:
        await asyncio.sleep(claim.seconds / _RENEWALS)
        try:
            await claim.run(claim.store.renew, key, claim.token, claim.seconds)
        except StateTaken:
            return
        except StateError as error:  # the next renewal may be in time
            _log.warning("the claim of a conversation could not be renewed: %s", error)


def _read(key: str, blob: bytes) -> tuple[Sequence[Record], dict[str, Any]]:
    """The records and the data of a stored conversation."""
    try:
        stored = json.loads(blob)
        form = stored["form"]
        if form == _FORM:
            records, data = read_json_records(stored["records"]), stored["data"]
            if are_records(records) and isinstance(data, dict):
                return records, data
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StateRejected(f"the stored conversation {key!r:.80} is damaged: {error}") from error
    if form == _FORM:
        raise StateRejected(f"the stored conversation {key!r:.80} is damaged")
    raise StateRejected(
        f"the stored conversation {key!r:.80} has the form {form!r:.20}; this release reads the "
        f"form {_FORM}: continue it with the release that stored it"
    )
