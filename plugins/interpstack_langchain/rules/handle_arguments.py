"""Values that stay with the host, as arguments of calls that people decide about.

A person sees a handle, with the digest of its content, and the decision holds for that. The rules
that ask see the values themselves: code could hide from them by keeping a value otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import ToolCall

from interpstack import CellContext, GuestException, StandIn
from interpstack_agents import plain_input
from interpstack_langchain.rules.shown_values import shown_handle, storable

__all__ = ["described", "has_handles", "shown_arguments", "with_handles"]


def shown_arguments(given: dict[str, Any], context: CellContext) -> dict[str, Any]:
    """The arguments of a call with stand-ins for the values that an exchange has put in.

    Args:
        given: The arguments, with the values.
        context: The context of the call.
    """
    shown = context.shown_input
    if shown is None:
        return given
    if isinstance(shown, dict):
        made = plain_input(shown)
        if made.keys() == given.keys():
            return dict(made)
    # The call has other fields than the input of code, such as a subagent's.
    stand_ins = _stand_ins(shown)
    put_in = [(context.put_in[name], one) for name, one in stand_ins.items()]
    return {
        key: next((one for whole, one in put_in if value is whole or value == whole), value)
        for key, value in given.items()
    }


def with_handles(call: ToolCall, asked: ToolCall, context: CellContext | None) -> dict[str, Any]:
    """The arguments of a call with the values in place of their stand-ins.

    Args:
        call: The call, as a decision may have changed it.
        asked: The call that the decision was about.
        context: The context of the call.

    Raises:
        GuestException: A decision has changed what is shown of a handle.
    """
    known = {} if context is None else _stand_ins(asked["args"])
    put_in = {} if context is None else context.put_in

    def real(value: Any) -> Any:
        if isinstance(value, StandIn):
            own = known.get(value.id)
            if own is None or value.id not in put_in or shown_handle(own) != shown_handle(value):
                raise GuestException(
                    f"a reviewer changed a handle in this call of {call['name']}; an edit replaces "
                    "a handle by a value, or leaves it as it is"
                )
            return put_in[value.id]
        if isinstance(value, Mapping):
            return {key: real(item) for key, item in value.items()}
        return [real(item) for item in value] if isinstance(value, list) else value

    return {key: real(item) for key, item in call["args"].items()}


def has_handles(args: Any) -> bool:
    """Whether arguments have stand-ins for values that stay with the host."""
    return bool(_stand_ins(args))


def described(payload: Mapping[str, Any], call: ToolCall, whole: Any) -> dict[str, Any]:
    """A question about a call, with what is shown of handles in place of their values.

    Args:
        payload: The question of a rule, which saw the values.
        call: The call, with stand-ins.
        whole: The arguments that the rule saw.
    """
    shown, seen = str(storable(call["args"])), str(whole)
    requests = [
        {
            **one,
            "args": call["args"],
            **(
                {"description": one["description"].replace(seen, shown)}
                if "description" in one
                else {}
            ),
        }
        for one in payload["action_requests"]
    ]
    return {**payload, "action_requests": requests}


def _stand_ins(value: Any) -> dict[str, StandIn]:
    found: dict[str, StandIn] = {}
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, StandIn):
            found[one.id] = one
        elif isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return found
