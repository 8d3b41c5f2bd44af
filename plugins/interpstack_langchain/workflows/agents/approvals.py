"""Interrupts of a graph as approvals of a run, and the decisions on them as answers to a graph.

An approval names its interrupt and the number of answers that the graph has taken at the same
place: an answer to one question is never taken for the next one, in whatever process.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from pydantic_core import to_jsonable_python

from interpstack_langchain.rules.decisions import Editable
from interpstack_langchain.rules.human_decisions import (
    DECISION_TYPES,
    allowed_decisions,
    human_decision,
)

__all__ = ["UnfitDecisions", "answers", "approvals"]

#: Characters of all approvals of one pause as JSON.
_MAX_CHARS: Final = 1 << 20


class UnfitDecisions(ValueError):
    """A decision does not fit its approval; nothing was done.

    Attributes:
        faults: What is wrong, by the ids of approvals.
    """

    def __init__(self, faults: Mapping[str, str]) -> None:
        super().__init__("; ".join(faults.values()))
        self.faults = dict(faults)


def approvals(
    interrupts: Sequence[Any], turn: int, faults: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return the approvals that a run shows, plain JSON.

    Args:
        interrupts: The open interrupts of the graph.
        turn: The number of answers that it has taken at this place.
        faults: Faults of decisions that were refused, by the ids of approvals.

    Raises:
        ValueError: They are larger than a run stores.
    """
    shown = [
        {"id": key, **question, **({"fault": faults[key]} if faults and key in faults else {})}
        for interrupt in interrupts
        for key, question in _questions(interrupt, turn)
    ]
    if (chars := len(json.dumps(shown))) > _MAX_CHARS:
        raise ValueError(
            f"the agent asks for approvals of {chars} characters; {_MAX_CHARS} can be stored"
        )
    return shown


def answers(
    interrupts: Sequence[Any],
    turn: int,
    decisions: Mapping[str, Any],
    editable: Mapping[str, Editable] = {},
) -> dict[str, Any] | None:
    """Return the answers with which a graph is resumed, by the ids of its interrupts.

    Args:
        interrupts: The open interrupts of the graph.
        turn: The number of answers that it has taken at this place.
        decisions: The decisions of a person, by the ids of approvals.
        editable: The tools that an edit may name, by the ids of those interrupts for which they are
            known.

    Returns:
        The answers; `None` if the decisions are on other approvals than those.

    Raises:
        UnfitDecisions: A decision does not fit.
    """
    found: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for interrupt in interrupts:
        decided = []
        for key, question in _questions(interrupt, turn):
            if key not in decisions:
                return None
            try:
                decided.append(_decision(question, decisions[key], editable.get(interrupt.id)))
            except ValueError as error:
                faults[key] = str(error)
        if not faults:
            batch = _is_batch(interrupt.value)
            found[interrupt.id] = {"decisions": decided} if batch else decided[0]
    if faults:
        raise UnfitDecisions(faults)
    return found


def _questions(interrupt: Any, turn: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the questions of one interrupt: one for each tool call that a middleware asks about."""
    key, value = f"{interrupt.id}.{turn}", interrupt.value
    if not _is_batch(value):
        shown = _plain(value)
        schema = getattr(interrupt, "response_schema", None)
        kind = shown.get("type") if isinstance(shown, dict) else None
        if kind == "tool_approval":
            fields = {one: shown.get(one) for one in ("args", "description")}
            yield key, {"tool": shown.get("name"), **fields, "decisions": _types(schema)}
        else:
            yield key, {"value": shown, **({} if schema is None else {"schema": _plain(schema)})}
        return
    for number, action in enumerate(value["action_requests"]):
        yield (
            f"{key}.{number}",
            {
                "tool": action["name"],
                "args": _plain(action["args"]),
                "description": action.get("description", ""),
                "decisions": allowed_decisions(value["review_configs"], number, action["name"]),
            },
        )


def _is_batch(value: Any) -> bool:
    """Return whether an interrupt is one of `HumanInTheLoopMiddleware`, or has its form."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("action_requests"), list)
        and isinstance(value.get("review_configs"), list)
    )


def _types(schema: Any) -> list[str]:
    """Return the types of decisions that a JSON Schema takes, as far as it says so."""
    text = json.dumps(_plain(schema))
    return [kind for kind in DECISION_TYPES if f'"const": "{kind}"' in text] or list(DECISION_TYPES)


def _decision(question: Mapping[str, Any], given: Any, editable: Editable | None) -> Any:
    """Return a decision as the graph takes it.

    Raises:
        ValueError: It does not fit.
    """
    if "decisions" not in question:
        return given
    decision = {"type": given} if isinstance(given, str) else given
    tool = str(question["tool"])
    if editable is None:
        return human_decision(tool, question["decisions"], decision)
    return human_decision(tool, question["decisions"], decision, partial(editable.refusal, tool))


def _plain(value: Any) -> Any:
    return to_jsonable_python(value, serialize_unknown=True, inf_nan_mode="null")
