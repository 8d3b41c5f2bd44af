"""Errors by which callback handlers refuse calls of models on purpose.

An error of a handler with `raise_error` keeps a model from being called. LangChain offers no other
way for a handler to do that, and logs each such error as a fault of the handler before it raises
it: a used-up budget filled logs with warnings. So the logger drops the records of marked errors,
which their callers get all the same.

The test module `test_refusals` shows what breaks if LangChain logs them elsewhere.
"""

from __future__ import annotations

import logging
import sys
from typing import Final, TypeVar
from weakref import WeakSet

__all__ = ["refusal"]

_E = TypeVar("_E", bound=BaseException)

_REFUSALS: Final[WeakSet[BaseException]] = WeakSet()


def refusal(error: _E) -> _E:
    """Mark an error that a handler raises to refuse a call; returns it."""
    _REFUSALS.add(error)
    return error


def _is_fault(record: logging.LogRecord) -> bool:
    """Whether a record, made where an error is handled, is about no refusal."""
    return sys.exc_info()[1] not in _REFUSALS


logging.getLogger("langchain_core.callbacks.manager").addFilter(_is_fault)
