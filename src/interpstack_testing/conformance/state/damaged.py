"""Damaged and forged stored values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hypothesis import strategies as st

__all__ = ["DAMAGED", "NAMES", "stored_values"]


def _nested(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"$": "map", "v": [[level, value]]}
    return value


#: Values that no realm exports, by their defect.
DAMAGED: Final[Mapping[str, Any]] = {
    "another base": {"$": "bigint", "v": "0x1"},
    "a number for digits": {"$": "bigint", "v": 5},
    "no digits": {"$": "bigint", "v": "-"},
    "separated digits": {"$": "bigint", "v": "1_0"},
    "unknown kind": {"$": "zz"},
    "no kind": {"$": None},
    "a list for a kind": {"$": ["map"], "v": []},
    "no body": [{"$": "set"}],
    "unknown number": {"$": "number", "v": "one"},
    "date in words": {"$": "date", "v": "today"},
    "date without a body": {"$": "date"},
    "date of a flag": {"$": "date", "v": True},
    "no base64": {"$": "bytes", "v": "!"},
    "cut base64": {"$": "bytes", "v": "AAA"},
    "half a pair": {"$": "map", "v": [[1]]},
    "text for a pair": {"$": "map", "v": ["ab"]},
    "text for items": {"$": "set", "v": "abc"},
    "text for a list": {"$": "list", "v": "abc"},
    "keys that are no text": {"$": "object", "v": [[1, 2]]},
    "error without a name": {"$": "error", "v": {"message": "", "stack": ""}},
    "error of numbers": {"$": "error", "v": {"name": 1, "message": 2, "stack": 3}},
    "reference to text": {"$": "same", "v": "loaded"},
    "reference to a flag": {"$": "same", "v": ["loaded", True]},
    "reference before the first": {"$": "same", "v": -1},
    "reference among further properties": {"$": "list", "v": [], "own": [["a", {"$": "same"}]]},
    "lost without a reason": {"$": "lost"},
    "lost inside": {"a": {"$": "lost", "v": "why"}},
    "refused": {"$": "unreadable", "v": "why"},
    "deep": _nested(250),
    "very deep": _nested(20_000),
    "behind a far date": [{"$": "date", "v": 1e15}, {"$": "zz"}],
}
#: Names of variables that mean something to guests.
NAMES: Final = ("loaded", "", "a b", "1", "__proto__", "constructor", "undefined", "NaN", "this",
                "globalThis", "None", "__builtins__", "print", "\ud800", "x" * 1000)  # fmt: skip

_KINDS: Final = ["undefined", "number", "bigint", "date", "bytes", "map", "set", "list", "object",
                 "error", "same", "lost", "$", ""]  # fmt: skip
_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["NaN", "-0", "-1f", "AAAA", "name", "message"])
)
#: Any JSON, most of which says with a tag that it is something else.
stored_values: Final[st.SearchStrategy[Any]] = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.fixed_dictionaries({"$": st.sampled_from(_KINDS)}, optional={"v": inner})
        | st.fixed_dictionaries(
            {"$": st.sampled_from(_KINDS), "v": st.lists(st.lists(inner, max_size=3), max_size=2)}
        )
    ),
    max_leaves=8,
)
