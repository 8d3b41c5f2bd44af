"""Connections that each process makes for itself: no two may share one after a fork."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from interpstack import ConfigurationError, start_anew_after_fork

__all__ = ["PerProcess", "first_line", "needed"]

_T = TypeVar("_T")


class PerProcess(Generic[_T]):
    """A connection, or a pool, that is opened when a process first asks for it.

    Args:
        make: Opens it.
        end: Closes it.
    """

    def __init__(self, make: Callable[[], _T], end: Callable[[_T], None]) -> None:
        self._make, self._end = make, end
        self._left: list[_T] = []  # of parents: closing them would end what the parents use
        self._one: list[_T] = []
        self.start_anew()
        start_anew_after_fork(self)

    def start_anew(self) -> None:
        """Leave everything to the parent; called in the child of a fork."""
        self._lock = threading.Lock()
        self._left += self._one
        self._one = []

    def get(self) -> _T:
        """The connection of this process."""
        with self._lock:
            if not self._one:
                self._one.append(self._make())
            return self._one[0]

    def close(self) -> None:
        """Close it; the next use opens it again."""
        with self._lock:
            while self._one:
                self._end(self._one.pop())


def needed(what: str, extra: str, error: ImportError) -> ConfigurationError:
    """The error for a driver that is not installed."""
    return ConfigurationError(
        f"{what} needs the package {error.name}; install it with: "
        f"pip install 'interpstack[{extra}]'"
    )


def first_line(error: BaseException) -> str:
    """The first line of a driver's error."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
