"""Leases, messages and entries of a run, as the writes to its checkpoints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from interpstack_workflows.api import Entry, Lease, Message, WorkflowError, entry_from_json

__all__ = ["claims", "is_held", "lease_of", "messages_of", "sent_messages", "stored_entries"]


def _writes(found: CheckpointTuple, kind: str) -> Iterator[tuple[str, Any]]:
    """The rest of the name and the text of each task of a kind."""
    for task, _, text in found.pending_writes or ():
        start, _, rest = task.partition("-")
        if start == kind:
            yield rest, text


def claims(found: CheckpointTuple) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Claims of a run, by their tokens."""
    return ((int(number), json.loads(text)) for number, text in _writes(found, "claim"))


def messages_of(found: CheckpointTuple) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Messages to a run as they are stored, by their numbers."""
    return ((int(number), json.loads(text)) for number, text in _writes(found, "message"))


def sent_messages(found: CheckpointTuple, after: int) -> Sequence[tuple[int, Message]]:
    """The messages with a higher number than `after`."""
    sent = sorted(messages_of(found))
    return [(number, Message(**data["message"])) for number, data in sent if number > after]


def lease_of(run_id: str, found: CheckpointTuple) -> Lease | None:
    """The last lease on a run, which may have ended."""
    token, claim = max(claims(found), key=lambda one: one[0], default=(0, None))
    if claim is None:
        return None
    prolonged = {int(number): json.loads(text) for number, text in _writes(found, "until")}
    return Lease(run_id, claim["owner"], token, prolonged.get(token, claim)["until"])


def is_held(held: Lease, lease: Lease) -> bool:
    """Whether a lease is the last one, and was not given back.

    Another run may have had the same id before, so the owner counts, too.
    """
    return (held.token, held.owner) == (lease.token, lease.owner) and held.until > 0


def stored_entries(found: CheckpointTuple) -> Iterator[tuple[int, Entry]]:
    """The entries that count, with their places.

    Writes of a runner that has lost its lease end where the next one has begun.
    """
    batches: dict[tuple[int, int], list[str]] = {}
    for task, _, text in found.pending_writes or ():
        place, by = task.split("-")
        batches.setdefault((int(by), int(place)), []).append(text)
    begun: dict[int, int] = {}  # the first entry of each lease, of which there are few
    for token, index in batches:
        begun[token] = min(index, begun.get(token, index))
    placed: dict[int, str] = {}
    for (token, index), texts in sorted(batches.items()):
        if not any(later > token and first <= index for later, first in begun.items()):
            placed.update((index + offset, text) for offset, text in enumerate(texts))
    for number in range(len(placed)):
        if number not in placed:
            return
        try:
            yield number, entry_from_json(json.loads(placed[number]))
        except ValueError as error:
            raise WorkflowError(f"the record of the run is damaged: {error}") from error
