"""Extensions of evals, cells and requests by plugins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

__all__ = ["CellExtension", "Wrapper"]

_T = TypeVar("_T")
#: Gets the function that makes the call, awaits it once or not at all, and returns the call's
#: value or another. The call's own exceptions, such as a pause or a cancellation, reach the host
#: even if a wrapper catches them.
Wrapper: TypeAlias = Callable[[Callable[[], Awaitable[_T]]], Awaitable[_T]]


class CellExtension:
    """Base class of the extensions of one run of a cell; see `interpstack_open_cell`.

    A `CellGuard` limits the resources of the run; a `StepSource` of the package `interpstack`
    supplies the guest's steps.
    """
