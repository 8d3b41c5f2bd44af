"""Retries of cells that ended with an exception of a handler.

The exception was passed to the code, and recorded, before the host could know that the code would
not catch it. So a later entry marks the step from which the journal is no longer valid. Failed
calls after that step are made again. Successful calls are not; the code receives their recorded
answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from interpstack import MODULE, TIMER, GuestError

__all__ = ["effective", "retry_entry"]

_Entry = Mapping[str, Any]
#: Fields of an entry that belong to a step or to undelivered answers.
_OF_STEPS: Final = frozenset({"asked", "now", "settled", "drawn", "computed", "kept"})
#: Requests that do nothing.
_HARMLESS: Final = frozenset({TIMER, MODULE})


def retry_entry(entries: Sequence[_Entry], error: GuestError) -> dict[str, Any] | None:
    """Return an entry after which the next run of the cell makes failed calls again.

    Args:
        entries: All entries of the cell, as they are stored.
        error: The error that the code received and did not catch.

    Returns:
        The entry to append; `None` if code made another call after it received the failure, since
        it would do so again.
    """
    entries = effective(entries)
    failed = _delivered_at(entries, error)
    if failed is None:
        return None
    steps = [index for index, entry in enumerate(entries[:failed]) if "now" in entry]
    start = steps[-1] + 1 if steps else 0
    answers: dict[int, Any] = {}
    for entry in entries[start:]:
        for answer in (*entry.get("settled", ()), *entry.get("kept", {}).get("settled", ())):
            if answer[2] is None:
                answers[answer[0]] = answer
    kept = {"asked": [], "settled": list(answers.values()), "pausing": False}
    drawn = next((e["drawn"] for e in reversed(entries) if "drawn" in e), None)
    return {"retry": {"from": start, "kept": kept}, **({} if drawn is None else {"drawn": drawn})}


def _delivered_at(entries: Sequence[_Entry], error: GuestError) -> int | None:
    """Return the index of the first step that delivered the failure, with no request after it."""
    first = None
    for index in range(len(entries) - 1, -1, -1):
        entry = entries[index]
        if any(_is(answer[2], error) for answer in entry.get("settled", ())):
            first = index
        asked = (*entry.get("asked", ()), *entry.get("kept", {}).get("asked", ()))
        if any(bridge not in _HARMLESS for _, bridge, *_ in asked):
            break
    return first


def _is(recorded: Sequence[Any] | None, error: GuestError) -> bool:
    return recorded is not None and list(recorded[:2]) == [error.name, error.message]


def effective(entries: Sequence[_Entry]) -> list[_Entry]:
    """Return the valid parts of the entries, each at its index."""
    valid: list[_Entry] = []
    for entry in entries:
        retry = entry.get("retry")
        if retry is None:
            valid.append(entry)
            continue
        start = retry["from"]
        valid[start:] = [_without_steps(earlier) for earlier in valid[start:]]
        rest = {key: value for key, value in entry.items() if key != "retry"}
        valid.append({**rest, "kept": retry["kept"]})
    return valid


def _without_steps(entry: _Entry) -> _Entry:
    return {key: value for key, value in entry.items() if key not in _OF_STEPS}
