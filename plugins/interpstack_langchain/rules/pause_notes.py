"""Pauses and decisions as journals note them, checked before anything is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langgraph.types import Interrupt

from interpstack_durable.api import UnreadableJournal

__all__ = ["read_decision", "read_pause"]

#: Further keys of a decision, by its type.
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "approve": (),
    "edit": ("name", "args"),
    "reject": ("message",),
    "respond": ("message",),
}


def read_pause(note: Any) -> Mapping[str, Any]:
    """A pause with its questions.

    Args:
        note: The journal's note.

    Raises:
        UnreadableJournal: The note is damaged.
    """
    sound = (
        _has(note, questions=Mapping, others=list)
        and isinstance(note.get("owners", {}), Mapping)
        and isinstance(note.get("running", []), list)
        and all(_has(one, name=str, input=str) for one in note.get("running", []))
        and all(isinstance(key, str) for key in note["questions"])
        and all(isinstance(one, Interrupt) for one in note["others"])
        and all(map(_is_question, note["questions"].values()))
    )
    if not sound:
        raise _damaged("a pause")
    pause: Mapping[str, Any] = note
    return pause


def read_decision(note: Any) -> Mapping[str, Any] | None:
    """A decision about a call; `None` if there is none.

    Args:
        note: The journal's note.

    Raises:
        UnreadableJournal: The note is damaged.
    """
    if note is None:
        return None
    keys = _KEYS.get(note["type"]) if _has(note, type=str, digest=str, shown=str) else None
    if keys is None or any(key not in note for key in keys) or not _is_changed(note):
        raise _damaged("a decision")
    decision: Mapping[str, Any] = note
    return decision


def _is_question(question: Any) -> bool:
    if not _has(question, digest=str, payload=Mapping) or not _is_changed(question):
        return False
    payload = question["payload"]
    if not _has(payload, action_requests=list, review_configs=list):
        return False
    actions, reviews = payload["action_requests"], payload["review_configs"]
    return (
        len(actions) == len(reviews) == 1
        and _has(actions[0], name=str, args=Mapping)
        and _has(reviews[0], allowed_decisions=list)
        and all(isinstance(one, str) for one in reviews[0]["allowed_decisions"])
    )


def _is_changed(note: Mapping[str, Any]) -> bool:
    """Whether the rules that were asked, and the call that was changed, have their form."""
    changed = note.get("changed", {"name": "", "args": {}})
    return isinstance(note.get("by", []), list) and _has(changed, name=str, args=Mapping)


def _has(note: Any, **kinds: type) -> bool:
    """Whether this is a mapping with these keys, whose values are of these types."""
    return isinstance(note, Mapping) and all(
        isinstance(note.get(key), kind) for key, kind in kinds.items()
    )


def _damaged(what: str) -> UnreadableJournal:
    return UnreadableJournal(
        f"the journal of this eval is damaged: {what} is malformed. Nothing was done, and the "
        "eval is unchanged"
    )
