"""The decisions that a person can make on a tool call, and their check.

The forms are those of LangChain's `HumanInTheLoopMiddleware`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

__all__ = ["DECISION_TYPES", "allowed_decisions", "human_decision"]

#: Keys of a decision beside its type.
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "approve": (),
    "edit": ("edited_action",),
    "reject": ("message",),
    "respond": ("message",),
}
#: The types of decisions.
DECISION_TYPES: Final = tuple(_KEYS)
#: Keys of an edited action. An interface may send the action request back, with its description.
_ACTION_KEYS: Final = ("name", "args", "description")


def allowed_decisions(reviews: Any, place: int, tool: str) -> list[str]:
    """The types of decisions that an interrupt allows on one of its calls.

    Two calls of one tool may allow different decisions, so a rule counts for the call at its place.

    Args:
        reviews: The `review_configs` of the interrupt, which any tool may have made.
        place: The place of the call in the `action_requests`.
        tool: The name of its tool.

    Returns:
        Those of the rule at the same place. If that is for another tool, those of the first rule
        for this tool; if there is none, all types.
    """
    rules = reviews if isinstance(reviews, list) else []
    for rule in [*rules[place : place + 1], *rules]:
        allowed = rule.get("allowed_decisions") if isinstance(rule, Mapping) else None
        if isinstance(allowed, list) and rule.get("action_name") == tool:
            return [str(one) for one in allowed]
    return list(DECISION_TYPES)


def human_decision(
    tool: str,
    allowed: Sequence[str],
    given: Any,
    refusal: Callable[[str, Mapping[Any, Any]], str] = lambda name, args: "",
) -> dict[str, Any]:
    """Check a decision on a call, and return it as a graph takes it.

    Args:
        tool: Name of the tool that was shown.
        allowed: Types of decisions that can be made on this call.
        given: The decision of a person.
        refusal: Takes the name and the arguments of an edited call; returns the reason to refuse
            the edit, or an empty text.

    Returns:
        `type`, and `edited_action` or, if there is one, `message`.

    Raises:
        ValueError: The decision does not fit; the message says what fits.
    """
    kind = given.get("type") if isinstance(given, Mapping) else given
    if not isinstance(given, Mapping) or not isinstance(kind, str) or kind not in allowed:
        raise ValueError(f"{tool} can be decided with {', '.join(allowed)}; got {kind!r:.200}")
    keys = ("type", *_KEYS[kind])
    if unknown := [key for key in given if key not in keys]:
        takes = " and ".join(f'"{key}"' for key in keys)
        raise ValueError(f"the decision to {kind} {tool} takes {takes}; got {unknown[0]!r:.200}")
    if kind == "edit":
        return {"type": kind, "edited_action": _edited(tool, given.get("edited_action"), refusal)}
    message = given.get("message")
    if not isinstance(message, str) and (kind == "respond" or message is not None):
        how = "respond for" if kind == "respond" else kind
        none = "" if kind == "respond" else ", or without one"
        raise ValueError(f'{how} {tool} with a "message" of text{none}; got {message!r:.200}')
    return {"type": kind, "message": message} if message is not None else {"type": kind}


def _edited(
    tool: str, given: Any, refusal: Callable[[str, Mapping[Any, Any]], str]
) -> dict[str, Any]:
    """The call that a person requested in place of the shown one."""
    action = given if isinstance(given, Mapping) else {}
    name, args = action.get("name", tool), action.get("args")
    if not isinstance(name, str) or not name or not isinstance(args, Mapping):
        raise ValueError(
            f'edit {tool} with "edited_action": {{"name": …, "args": {{…}}}}; got {given!r:.200}'
        )
    if unknown := [key for key in action if key not in _ACTION_KEYS]:
        raise ValueError(
            f'the "edited_action" of {tool} takes "name" and "args"; got {unknown[0]!r:.200}'
        )
    if why := refusal(name, args):
        raise ValueError(why)
    return {"name": name, "args": dict(args)}
