"""Readers of the kernel's answers, for guests whose memory may be damaged."""

from __future__ import annotations

from typing import Any, Final

from interpstack.contracts.errors import EngineFailure
from interpstack.values import read_json

__all__ = ["read_drained"]

_COMPLETION: Final = {
    "text": str,
    "omitted": int,
    "exact": bool,
    "handle": bool,
    "undefined": bool,
}
#: Characters of the reason of a rejected promise, which the kernel cuts to fewer.
_REASON_CHARS: Final = 1000
_ERROR: Final = {"name": str, "message": str, "stack": str}


def read_drained(text: str) -> dict[str, Any]:
    """The kernel's answer to `drain` or `end`.

    Raises:
        EngineFailure: The answer does not have the kernel's form.
    """
    try:
        drained = read_json(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise EngineFailure(f"the guest's memory is damaged: {error}") from error
    if not _is_sound(drained):
        raise EngineFailure("the guest's memory is damaged: its kernel answers something else")
    return dict(drained)


def _is_sound(drained: Any) -> bool:
    return (
        isinstance(drained, dict)
        and _all(drained.get("calls"), _is_call)
        and _all(drained.get("requests"), _is_request)
        and _all(drained.get("cancelled"), _is_id)
        and _all(drained.get("rejected"), _is_reason)
        and _is_promises(drained.get("promises"))
        and _is_count(drained.get("unheard"))
        and type(drained.get("importing")) is int
        and type(drained.get("idle")) is bool
        and _is_completion(drained.get("completion", 0))
    )


def _all(items: Any, accepts: Any) -> bool:
    return type(items) is list and all(map(accepts, items))


def _is_call(item: Any) -> bool:
    return type(item) is list and len(item) == 2 and type(item[0]) is str


def _is_request(item: Any) -> bool:
    return (
        type(item) is list
        and 3 <= len(item) <= 4
        and _is_id(item[0])
        and type(item[1]) is str
        and (len(item) == 3 or type(item[3]) is bool)
    )


def _is_id(item: Any) -> bool:
    return type(item) is int and 0 < item < 2**53


def _is_reason(item: Any) -> bool:
    return type(item) is str and len(item) <= _REASON_CHARS


def _is_promises(item: Any) -> bool:
    """Whether it is two counts with names of calls, or there is none, as from older images."""
    if item is None:
        return True
    return (
        type(item) is list
        and 2 <= len(item) <= 7
        and all(type(count) is int and 0 <= count < 2**53 for count in item[:2])
        and _all(item[2:], _is_name)
    )


def _is_count(item: Any) -> bool:
    return item is None or (type(item) is int and 0 <= item < 2**53)


def _is_name(item: Any) -> bool:
    return type(item) is str and len(item) <= _REASON_CHARS


def _is_completion(completion: Any) -> bool:
    if completion is None:
        return True
    if type(completion) is not dict:
        return False
    shape, part = (
        (_ERROR, completion["error"]) if "error" in completion else (_COMPLETION, completion)
    )
    if type(part) is not dict or not _is_place(completion.get("place")):
        return False
    return all(type(part.get(key)) is kind for key, kind in shape.items())


def _is_place(place: Any) -> bool:
    """Whether it is a line and a column, or the engine reported none."""
    if place is None:
        return True
    return type(place) is list and len(place) == 2 and all(type(n) is int for n in place)
