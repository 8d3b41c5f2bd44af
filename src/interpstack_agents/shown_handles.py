"""Values that stay with the host, as arguments of calls that people decide about.

A person sees `{"$handle": "…"}` with the digest of the content, and the decision holds for that. An
object whose only key is `$handle`, with any number of `$`, is shown with one more of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from interpstack import CellContext, GuestException, StandIn
from interpstack_agents.marked_values import Mark
from interpstack_agents.tool_bridges import plain_input

__all__ = [
    "has_handles",
    "read_handles",
    "shown_arguments",
    "shown_handles",
    "with_handles",
]

#: What a person reads of a value that stays with the host.
_FACTS: Final = ("type", "size", "digest", "name", "shape", "preview")
#: The whole text of a stand-in that was read from it.
_WHOLE: Final = "text"


def shown_handles(tree: Any) -> Any:
    """A tree of plain data and stand-ins as people see it; no two trees have the same form."""
    return _HANDLES.marked(tree)


def read_handles(tree: Any) -> Any:
    """The tree that `shown_handles` was given, with stand-ins for `with_handles`."""
    return _HANDLES.read(tree)


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


def with_handles(
    name: str, args: Mapping[str, Any], asked: Mapping[str, Any], context: CellContext | None
) -> dict[str, Any]:
    """The arguments of a call with the values in place of their stand-ins.

    Args:
        name: Name of the tool.
        args: The arguments, as a decision may have changed them.
        asked: The arguments that the decision was about.
        context: The context of the call.

    Raises:
        GuestException: A decision has changed what is shown of a handle.
    """
    known = {} if context is None else _stand_ins(asked)
    put_in = {} if context is None else context.put_in

    def real(value: Any) -> Any:
        if isinstance(value, StandIn):
            own = known.get(value.id)
            if own is None or value.id not in put_in or _text_of(own) != _text_of(value):
                raise GuestException(
                    f"a reviewer changed a handle in this call of {name}; an edit replaces "
                    "a handle by a value, or leaves it as it is"
                )
            return put_in[value.id]
        if isinstance(value, Mapping):
            return {key: real(item) for key, item in value.items()}
        return [real(item) for item in value] if isinstance(value, list) else value

    return {key: real(item) for key, item in args.items()}


def has_handles(args: Any) -> bool:
    """Whether arguments have stand-ins for values that stay with the host."""
    return bool(_stand_ins(args))


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


def _text_of(value: Any) -> str | None:
    if not isinstance(value, StandIn):
        return None
    if _WHOLE in value.about:  # it comes from such a text
        return str(value.about[_WHOLE])
    # Code chooses names and contents, so these are quoted.
    about = {key: json.dumps(item, ensure_ascii=False) for key, item in value.about.items()}
    facts = [value.id, *(f"{key} {about[key]}" for key in _FACTS if key in about)]
    return ", ".join(facts)


def _stand_in_of(text: str) -> StandIn:
    return StandIn(text.partition(",")[0], {_WHOLE: text})


_HANDLES: Final = Mark("handle", _text_of, _stand_in_of)
