"""Evaluation of untrusted JSON Schemas for a bounded time.

A few nested keywords can describe more work than any machine does, so each keyword looks at the
clock, and at its depth: the package that finds references panics where Python's stack ends. Regular
expressions cannot be stopped: callers remove or refuse them.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, Final, TypeVar

__all__ = ["EvaluationTimeout", "bounded_dialect", "within"]

_T = TypeVar("_T")
#: Keywords inside each other, of which each takes up to four frames of Python's stack.
_MOST_DEPTH: Final = 200


class _Bounds:
    """The bounds of one evaluation.

    Attributes:
        until: When it has taken too long, by the monotonic clock.
        depth: The keywords that are being evaluated, each inside the one before.
    """

    __slots__ = ("depth", "until")

    def __init__(self, until: float) -> None:
        self.until, self.depth = until, 0

    def enter(self) -> None:
        """Begin with a keyword."""
        if time.monotonic() > self.until:
            raise EvaluationTimeout
        if self.depth >= _MOST_DEPTH:
            raise RecursionError(f"more than {_MOST_DEPTH} keywords are inside each other")
        self.depth += 1

    def leave(self) -> None:
        """End the keyword that began last."""
        self.depth -= 1


_bounds: ContextVar[_Bounds] = ContextVar("interpstack_schema_bounds")


class EvaluationTimeout(Exception):
    """An evaluation takes too long."""


def within(seconds: float, work: Callable[[], _T]) -> _T:
    """Do work in which keywords of a bounded dialect are evaluated.

    Raises:
        EvaluationTimeout: The work takes longer.
        RecursionError: The schema or the value is nested too deeply.
    """
    token = _bounds.set(_Bounds(time.monotonic() + seconds))
    try:
        return work()
    finally:
        _bounds.reset(token)


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
        bounds = _bounds.get()
        bounds.enter()
        try:
            yield from check(validator, value, instance, schema) or ()
        finally:
            bounds.leave()

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
