"""Methods of a store that one thread runs from their beginning to their end.

A store whose checkpointer blocks has methods that use it several times. To hand a thread each
single use, and the loop its result, takes longer than the use.
"""

from __future__ import annotations

import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["runs_method", "whole"]

_T = TypeVar("_T")


class _Thread(threading.local):
    runs_method = False


_thread = _Thread()


def runs_method() -> bool:
    """Whether this thread runs a method: what blocks may then be called at once."""
    return _thread.runs_method


def whole(method: Coroutine[Any, Any, _T]) -> _T:
    """Run a method in this thread.

    Args:
        method: A coroutine that waits for nothing while `runs_method` is true.
    """
    _thread.runs_method = True
    try:
        method.send(None)
    except StopIteration as ended:
        result: _T = ended.value
        return result
    finally:
        _thread.runs_method = False
        method.close()
    raise RuntimeError("a method of a store may wait for its checkpointer only")
