"""Handles of a conversation in the state of its graph, or in a store by the key of its thread.

In the state, a handle is an entry of a channel, with its content. An eval adds entries as state
updates of the call that makes the handle: its journal has them beside the answer of that call, and
they leave with the eval's answer, as the updates of tools do.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import attrs
from langgraph.types import Command

from interpstack import CellContext, call_blocking
from interpstack_handles.api import (
    HandleLimits,
    HandleMissing,
    HandleRecord,
    Handles,
    HandleStorage,
    check_room,
    record_from,
    record_to,
)
from interpstack_langchain.evals.eval_call import EvalCall
from interpstack_langchain.langgraph_internals.task_writes import pairs
from interpstack_langchain.state.channels import Channels
from interpstack_langchain.state.graph_state import HANDLES, joined_handles
from interpstack_langchain.state.owners import as_mapping, owner_of
from interpstack_state import StateRejected

__all__ = ["changed_handles", "handles_in_graph"]

#: Contents are text or JSON for the most part, and written by an eval that a person waits for.
_LEVEL: Final = 1


def changed_handles(
    commands: Sequence[tuple[int, Command[Any]]], channels: Channels
) -> dict[str, Any]:
    """The entries that calls of an eval added, by id; `None` for those that they dropped."""
    own, changed = channels.own(HANDLES), dict[str, Any]()
    for _, command in commands:
        for key, value in pairs(command.update):
            changed |= value if key == own else {}
    return changed


def handles_in_graph(handles: Handles, channels: Channels, key: bytes | None) -> object:
    """The part of offers with these settings.

    Args:
        handles: The `interpstack_handles.api.Handles` of the middleware.
        channels: The channels of the interpreter.
        key: Signs what is stored in the graph.
    """

    def storage(context: CellContext) -> HandleStorage:
        running: EvalCall = context.host
        owner = owner_of(channels.view(as_mapping(running.request.state)), running.graph)
        if handles.store is not None:
            return handles.of(owner)
        return GraphHandles(running, context, channels, owner, key)

    return attrs.evolve(handles, storage=storage)


@attrs.frozen(eq=False)
class GraphHandles(HandleStorage):
    """The handles of a conversation in the state of its graph.

    Attributes:
        running: The eval.
        context: The context of the call.
        channels: The channels of the interpreter.
        owner: Identifies the conversation.
        key: Signs the entries; `None` for no signatures.
    """

    running: EvalCall
    context: CellContext
    channels: Channels
    owner: str
    key: bytes | None

    async def records(self) -> Sequence[HandleRecord]:
        return self._records()

    def _records(self) -> list[HandleRecord]:
        return [record_from(json.loads(entry["record"])) for entry in self._entries().values()]

    def _entries(self) -> Mapping[str, Any]:
        changed = changed_handles(self.running.commands, self.channels)
        entries: Mapping[str, Any] = joined_handles(self.running.handles, [changed])
        for entry in entries.values():
            self._check(entry)
        return entries

    async def content(self, record: HandleRecord) -> bytes:
        entry = self._entries().get(record.id)
        if entry is None:
            raise HandleMissing(record.id)
        return await call_blocking(partial(_expanded, entry["data"], record))

    async def add(self, record: HandleRecord, data: bytes, limits: HandleLimits) -> None:
        compressed = await call_blocking(partial(zlib.compress, data, _LEVEL))
        records = self._records()
        if any(one.id == record.id for one in records):
            return
        check_room(records, record, limits)
        entry: dict[str, Any] = {"record": json.dumps(record_to(record)), "data": compressed}
        if self.key is not None:
            entry["signature"] = _signature(entry, self.owner, self.key)
        self._update({record.id: entry})

    async def drop(self, record: HandleRecord) -> None:
        self._update({record.id: None})

    def _update(self, changed: Mapping[str, Any]) -> None:
        update = {self.channels.own(HANDLES): dict(changed)}
        self.running.returned(self.context, Command(update=update))

    def _check(self, entry: Any) -> None:
        """Refuse an entry that was changed, or that belongs to another conversation.

        Raises:
            StateRejected: It is one.
        """
        parts = entry if isinstance(entry, Mapping) else {}
        whole = isinstance(parts.get("record"), str) and isinstance(parts.get("data"), bytes)
        if whole and self.key is not None:
            given = parts.get("signature")
            right = _signature(parts, self.owner, self.key)
            whole = isinstance(given, bytes) and hmac.compare_digest(given, right)
        if not whole:
            raise StateRejected(
                "a stored handle is damaged, was changed, or belongs to another conversation"
            )


def _expanded(data: bytes, record: HandleRecord) -> bytes:
    """The content of a handle, which is compared with its digest.

    Raises:
        StateRejected: It is another one.
    """
    reader = zlib.decompressobj()
    try:
        content = reader.decompress(data, record.size + 1)
    except zlib.error as error:
        raise StateRejected(f"the stored content of handle {record.id} is damaged") from error
    if hashlib.sha256(content).hexdigest() != record.digest:
        raise StateRejected(f"the stored content of handle {record.id} is damaged")
    return content


def _signature(entry: Mapping[str, Any], owner: str, key: bytes) -> bytes:
    # The record has the digest of the content.
    parts = (owner.encode("utf-8", "surrogatepass"), entry["record"].encode())
    covered = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hmac.new(key, b"interpstack handle\0" + covered, hashlib.sha256).digest()
