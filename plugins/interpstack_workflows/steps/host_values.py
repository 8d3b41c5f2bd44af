"""Values that the host passes to a run: arguments, signals, answers of people and of agents."""

from __future__ import annotations

import json
from typing import Any, Final

from interpstack import Limits, UnsupportedValue, encode
from interpstack.checks import repeated

__all__ = ["VALUE_BYTES", "plain_json"]

#: Bytes that a value may have as JSON, as everywhere where a value crosses to guest code.
VALUE_BYTES: Final = Limits().value_bytes
#: Whole numbers beyond it have no exact form in JavaScript's numbers.
_MOST_EXACT: Final = 2**53 - 1
_encoded = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def plain_json(value: Any, *, exact: bool = False) -> Any:
    """Return a copy of a value as plain JSON, as a script and a later resume see it.

    Args:
        value: A value of the host, perhaps without an end.
        exact: Whether to refuse whole numbers that a number of JavaScript cannot hold.

    Raises:
        ValueError: The value is not JSON, is nested too deeply, or is too large.
    """
    try:
        encode(value, VALUE_BYTES, _of_json)  # bounds the depth and the size
        text = _encoded(value)
    except UnsupportedValue as error:
        raise ValueError(error.reason) from None
    except (TypeError, RecursionError) as error:
        raise ValueError(f"the value is not JSON: {error}") from None
    return json.loads(text, object_pairs_hook=_object, parse_int=_exact if exact else int)


def _of_json(value: Any) -> Any:
    """Return a value that is of a subclass of JSON's types.

    Raises:
        UnsupportedValue: It is of another one; code gets some of these, but no script does.
    """
    if isinstance(value, (str, int, float, list, tuple, dict)):
        return value
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    raise UnsupportedValue(
        f"a {kind} is not JSON; pass it as text, or as None, bool, int, float, list or dict"
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    twice = repeated(name for name, _ in pairs)
    if twice is not None:
        raise ValueError(f"an object has two keys that are {twice!r:.80} as text; use one of them")
    return dict(pairs)


def _exact(digits: str) -> int:
    number = int(digits)
    if abs(number) > _MOST_EXACT:
        raise ValueError(
            f"the whole number {digits:.40} is beyond 2**53-1, so a script would get another one; "
            "pass it as text"
        )
    return number
