"""Evaluation of untrusted JSON Schemas for a bounded time.

A few nested keywords can describe more work than any machine does, so each keyword looks at the
clock. Regular expressions cannot be stopped: callers remove or refuse them.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, TypeVar

__all__ = ["OutOfTime", "bounded_dialect", "within"]

_T = TypeVar("_T")
#: When the evaluation at hand has taken too long, by the monotonic clock.
_until: ContextVar[float] = ContextVar("interpstack_schema_until")


class OutOfTime(Exception):
    """An evaluation takes too long."""


def within(seconds: float, work: Callable[[], _T]) -> _T:
    """Do work in which keywords of a bounded dialect are evaluated.

    Raises:
        OutOfTime: The work takes longer.
    """
    token = _until.set(time.monotonic() + seconds)
    try:
        return work()
    finally:
        _until.reset(token)


@functools.cache
def bounded_dialect(kind: Any) -> Any:
    """A dialect of JSON Schema whose keywords look at the clock; its use belongs in `within`.

    Args:
        kind: The class of validators of the package `jsonschema` for the dialect.
    """
    from jsonschema.validators import extend

    keywords = {name: _timed(check) for name, check in kind.VALIDATORS.items()}
    keywords["uniqueItems"] = _timed(_unique)  # jsonschema compares each with each
    return extend(kind, keywords)  # type: ignore[no-untyped-call]


def _timed(check: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    def timed(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if time.monotonic() > _until.get():
            raise OutOfTime
        yield from check(validator, value, instance, schema) or ()

    return timed


def _unique(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """The keyword `uniqueItems`, in linear time."""
    from jsonschema.exceptions import ValidationError

    if not wanted or not validator.is_type(instance, "array"):
        return
    if len({json.dumps(_whole(item), sort_keys=True) for item in instance}) < len(instance):
        yield ValidationError("the array has items that are equal")


def _whole(value: Any) -> Any:
    """A value in which equal numbers look alike: 1.0 is 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _whole(item) for key, item in value.items()}
    return value
