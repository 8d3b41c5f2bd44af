"""Whose variables an eval uses: those of its conversation, or those that conversations share.

Shared variables are in the graph's store. A turn takes them from there when it begins, works with
them as with variables of the conversation, and gives them back when it has ended. So evals that are
run again, forks and other processes see what the turn began with, whatever others do meanwhile.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, Self

import attrs
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from interpstack import ConfigurationError, SessionState, call_blocking
from interpstack_agents import (
    ConversationContext,
    Persistence,
    PersistenceScope,
    Record,
    RecordRejected,
    are_records,
    json_records,
    read_json_records,
    shared_key,
    token_of,
)
from interpstack_langchain.state.channels import Channels
from interpstack_langchain.state.graph_state import mark_of, number_of
from interpstack_langchain.state.owners import configurable, owner_of, running_graph

__all__ = ["SharedPlace", "Variables"]

_log = logging.getLogger(__name__)
#: Where the store has shared variables, by the digests of their owners.
_NAMESPACE: Final = ("interpstack", "shared_variables")


@attrs.frozen(eq=False, repr=False)
class SharedPlace:
    """What one run of an agent offers to find and to keep shared variables.

    Attributes:
        store: The store of the graph; `None` without one.
        context: The context object of the run.
        is_async: Whether the graph runs on the event loop of the caller.
    """

    store: BaseStore | None
    context: Any
    is_async: bool

    @classmethod
    def of(cls, runtime: Runtime[Any], is_async: bool) -> Self:
        """The place of a running agent."""
        return cls(runtime.store, runtime.context, is_async)

    async def read(self, key: str) -> Sequence[Record]:
        """The stored records, oldest first; none if nothing is stored, or if it is damaged."""
        store = self._checked()
        if self.is_async:
            item = await store.aget(_NAMESPACE, key)
        else:
            item = await call_blocking(lambda: store.get(_NAMESPACE, key))
        if item is None:
            return ()
        try:
            records = read_json_records(item.value.get("records"))
        except ValueError:
            records = None
        if are_records(records) and records:
            return list(records)
        _log.warning("the shared variables %s are damaged, and begin anew", key)
        return ()

    async def write(self, key: str, records: Sequence[Record]) -> None:
        """Store records, in place of earlier ones."""
        store, value = self._checked(), {"records": json_records(records)}
        if self.is_async:
            await store.aput(_NAMESPACE, key, value, index=False)
        else:
            await call_blocking(lambda: store.put(_NAMESPACE, key, value, index=False))

    def _checked(self) -> BaseStore:
        if self.store is None:
            raise ConfigurationError(
                "the persistence mode of the interpreter shares variables between conversations, "
                "and keeps them in the graph's store, but this agent has none; pass one, as in "
                "create_agent(store=InMemoryStore(), …)"
            )
        return self.store


@attrs.frozen
class _InStep:
    """Where a conversation and the store had the same variables last.

    Attributes:
        owner: The key of the variables in the store.
        own: The newest record of the conversation by then.
        stored: The newest record of the store by then.
    """

    owner: str = ""
    own: str = ""
    stored: str = ""

    @classmethod
    def read(cls, noted: Any, owner: str) -> Self:
        """The note in a graph's state; an empty one where it is about other variables."""
        fields = noted if isinstance(noted, Mapping) else {}
        if fields.get("owner") != owner:
            return cls()
        return cls(owner, str(fields.get("own", "")), str(fields.get("stored", "")))


@attrs.frozen(eq=False, repr=False)
class Variables:
    """The variables of one middleware's evals.

    Attributes:
        mode: The persistence mode.
        channels: Names of the interpreter's channels, of which each has variables of its own.
    """

    mode: Persistence
    channels: Channels

    @property
    def shared(self) -> bool:
        """Whether conversations may share variables."""
        return self.mode.scope == PersistenceScope.SHARED

    def owner(self, state: Mapping[str, Any], context: Any, graph: str | None = None) -> str:
        """Identifies the variables that an eval of the running graph uses.

        Args:
            state: The state of the graph.
            context: The context object of the run.
            graph: The graph, if it is not the one that runs now.

        Raises:
            ConfigurationError: The mode returned no usable key.
        """
        place = running_graph() if graph is None else graph
        if not self.shared or ":" in place:  # a subgraph without a state of its own
            return owner_of(state, graph)
        values = configurable()
        thread = values.get("thread_id")
        about = ConversationContext(
            thread=None if thread is None else str(thread), config=values, context=context
        )
        return f"{PersistenceScope.SHARED}:{self.mode.name}:{shared_key(self.mode, about)}|{place}"

    async def take_shared(
        self, state: Mapping[str, Any], place: SharedPlace, turn: str
    ) -> dict[str, Any]:
        """Take the shared variables at the start of a turn.

        Args:
            state: The state of the graph.
            place: The run.
            turn: Identifies the turn that begins.

        Returns:
            The update of the interpreter's channels.

        Raises:
            ConfigurationError: The agent has no store, or the mode returned no usable key.
        """
        if ":" in running_graph():
            return {}
        owner = self.owner(state, place.context)
        key, records = self._key(owner), state.get("interpreter_record") or []
        last = _InStep.read(state.get("interpreter_shared"), key)
        own, stored = token_of(records), await place.read(key)
        theirs = token_of(stored)
        if last.owner and own not in ("", last.own):  # the last turn was cut short
            if theirs in ("", last.stored):
                return await self._given(key, records, place)
            _log.warning(
                "thread %s ended a turn early, and another conversation has changed the shared "
                "variables since: the changes of that turn are lost",
                configurable().get("thread_id"),
            )
        elif last.owner and own and (not stored or theirs == last.stored):
            return {} if stored else await self._given(key, records, place)
        if not (stored or records):
            return {"interpreter_shared": attrs.asdict(_InStep(key))}
        record = await call_blocking(lambda: self._next(stored, owner, number_of(state)))
        return {
            "interpreter_record": [record],
            "interpreter_turn": mark_of(turn, record),
            "interpreter_shared": attrs.asdict(_InStep(key, record["id"], theirs)),
        }

    def _next(self, stored: Sequence[Record], owner: str, number: int) -> Record:
        """A record of the stored variables that follows those of the conversation.

        Without stored variables, it has none: those of the conversation have another owner.
        """
        number = 1 + max(number, stored[-1]["sequence"] if stored else 0)
        fresh = {"id": secrets.token_hex(8)}
        if not stored:
            return {**self.mode.dump(SessionState(values={}), owner, number)[0], **fresh}
        *earlier, newest = stored
        try:
            state = self.mode.load(newest, owner, earlier)
        except RecordRejected:
            # The first eval is refused it, too, and its reader learns why.
            alone = {"previous": type(before)()} if (before := newest.get("previous")) else {}
            return {**newest, "sequence": number, **alone, **fresh}
        record, notice = self.mode.dump(state, owner, number)
        if notice:
            _log.warning("shared variables were not taken: %s", notice)
        return {**record, **fresh}

    async def give_shared(self, state: Mapping[str, Any], place: SharedPlace) -> dict[str, Any]:
        """Give the shared variables back at the end of a turn.

        If another conversation has given back its changes meanwhile, those of this turn replace
        them, and the log says so.

        Returns:
            The update of the interpreter's channels.
        """
        if ":" in running_graph():
            return {}
        key = self._key(self.owner(state, place.context))
        records = state.get("interpreter_record") or []
        last, own = _InStep.read(state.get("interpreter_shared"), key), token_of(records)
        if not are_records(records) or own in ("", last.own):
            return {}
        theirs = token_of(await place.read(key))
        if theirs not in (last.stored, own):
            _log.warning(
                "thread %s replaces shared variables that another conversation has changed since "
                "the turn began",
                configurable().get("thread_id"),
            )
        return await self._given(key, records, place)

    async def _given(
        self, key: str, records: Sequence[Record], place: SharedPlace
    ) -> dict[str, Any]:
        await place.write(key, records)
        own = token_of(records)
        return {"interpreter_shared": attrs.asdict(_InStep(key, own, own))}

    def _key(self, owner: str) -> str:
        """The key in the store: owners may have any characters, and be long."""
        named = f"{owner}|{self.channels.suffix}"
        return blake2b(named.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
