"""The creation, leases, messages and entries of a run, as the writes to its checkpoints.

Other programs may have changed the database. A write of a known kind that has another form is an
error: to leave it out would lose an answer or a claim, or have an agent called again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from langgraph.checkpoint.base import CheckpointTuple

from interpstack import ConfigurationError
from interpstack_workflows.api import (
    Entry,
    Lease,
    Message,
    WorkflowError,
    check_entry,
    damaged_run,
    entry_from_json,
)

__all__ = [
    "CREATION",
    "claims",
    "creation_of",
    "is_held",
    "lease_of",
    "messages_of",
    "read_json",
    "sent_messages",
    "stored_entries",
]

#: The task that makes a run.
CREATION: Final = "create"
#: Digits of the longest number in the name of a task; the store itself writes ten.
_MOST_DIGITS: Final = 18
#: No lease ends later, in seconds since 1970: the end of the year 9999.
_LATEST: Final = 253_402_300_799


def read_json(run_id: str, text: object) -> Any:
    """A value from a checkpoint, which is JSON in a text.

    Raises:
        WorkflowError: The value is not text, or the text is not JSON.
    """
    if not isinstance(text, str):
        raise damaged_run(run_id, "a stored value is not text")
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise damaged_run(run_id, f"a stored text is not JSON: {error}") from error


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a number in JSON")


def _numbered(run_id: str, found: CheckpointTuple, kind: str) -> Iterator[tuple[int, Any]]:
    """The number and the value of each task of a kind."""
    for task, _, text in found.pending_writes or ():
        start, _, rest = task.partition("-")
        if start == kind:
            yield _number(run_id, rest), read_json(run_id, text)


def _number(run_id: str, digits: str) -> int:
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS):
        raise damaged_run(run_id, f"a stored value has the number {digits[:40]!r}")
    return int(digits)


def creation_of(run_id: str, found: CheckpointTuple) -> Mapping[str, Any] | None:
    """The creation of a run: who made it, and its first record; `None` in records of old releases.

    Raises:
        WorkflowError: The stored value is damaged.
    """
    text = next((text for task, _, text in found.pending_writes or () if task == CREATION), None)
    if text is None:
        return None
    made = read_json(run_id, text)
    if not isinstance(made, dict) or not isinstance(made.get("by"), str) or "run" not in made:
        raise damaged_run(run_id, "its creation is malformed")
    return made


def claims(run_id: str, found: CheckpointTuple) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Claims of a run, by their tokens."""
    for number, claim in _numbered(run_id, found, "claim"):
        kinds = (claim.get("owner"), claim.get("by")) if isinstance(claim, dict) else ()
        if [type(one) for one in kinds] != [str, str]:
            raise damaged_run(run_id, "a claim is malformed")
        yield number, claim


def messages_of(run_id: str, found: CheckpointTuple) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Messages to a run as they are stored, by their numbers."""
    for number, data in _numbered(run_id, found, "message"):
        if not isinstance(data, dict) or not isinstance(data.get("message"), dict):
            raise damaged_run(run_id, "a message is malformed")
        yield number, data


def sent_messages(run_id: str, found: CheckpointTuple, after: int) -> Sequence[tuple[int, Message]]:
    """The messages with a higher number than `after`."""
    sent = sorted(messages_of(run_id, found), key=lambda one: one[0])
    return [(number, _message(run_id, one["message"])) for number, one in sent if number > after]


def _message(run_id: str, data: Mapping[str, Any]) -> Message:
    try:
        message = Message(**data)
    except (ConfigurationError, TypeError) as error:
        raise damaged_run(run_id, f"a message is malformed: {error}") from error
    if not (isinstance(message.name, str) and isinstance(message.id, str)):
        raise damaged_run(run_id, "a message is malformed")
    return message


def lease_of(run_id: str, found: CheckpointTuple) -> Lease | None:
    """The last lease on a run, which may have ended."""
    token, claim = max(claims(run_id, found), key=lambda one: one[0], default=(0, None))
    if claim is None:
        return None
    prolonged = dict(_numbered(run_id, found, "until"))
    ends = prolonged.get(token, claim)
    until = ends.get("until") if isinstance(ends, dict) else None
    seconds = claim.get("seconds", 0.0)  # earlier releases did not write it
    if not (_is_time(until) and _is_time(seconds)):
        raise damaged_run(run_id, "the end of a claim is malformed")
    return Lease(run_id, claim["owner"], token, until, seconds)  # type: ignore[arg-type]


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= _LATEST


def is_held(held: Lease, lease: Lease) -> bool:
    """Whether a lease is the last one, and was not given back.

    Another run may have had the same id before, so the owner counts, too.
    """
    return (held.token, held.owner) == (lease.token, lease.owner) and held.until > 0


def stored_entries(
    run_id: str, found: CheckpointTuple, before: int | None = None
) -> Iterator[tuple[int, Entry]]:
    """The entries that count, with their places.

    Writes of a runner that has lost its lease end where the next one has begun.

    Args:
        run_id: The run.
        found: The checkpoint of its entries.
        before: The token of a lease under which nothing was written yet; `None` for any.

    Raises:
        WorkflowError: They are damaged.
    """
    batches: dict[tuple[int, int], list[object]] = {}
    for task, _, text in found.pending_writes or ():
        place, _, by = task.partition("-")
        key = _number(run_id, by), _number(run_id, place)
        batches.setdefault(key, []).append(text)
    begun: dict[int, int] = {}  # the first entry of each lease, of which there are few
    for token, index in batches:
        if before is not None and token >= before:  # it would take the place of others
            raise damaged_run(run_id, f"its entry {index} is of a lease that there was not")
        begun[token] = min(index, begun.get(token, index))
    placed: dict[int, object] = {}
    for (token, index), texts in sorted(batches.items()):
        if not any(later > token and first <= index for later, first in begun.items()):
            placed.update((index + offset, text) for offset, text in enumerate(texts))
    for number in range(len(placed)):
        if number not in placed:  # what follows has no place: its steps would run again
            raise damaged_run(run_id, f"its entry {number} is missing")
        try:
            entry = entry_from_json(read_json(run_id, placed[number]))
            check_entry(entry)
            yield number, entry
        except WorkflowError as error:
            raise WorkflowError(f"run {run_id!r:.80}: {error}") from error
