"""Exceptions of tools: those that code catches, and those that leave the eval."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from interpstack import GuestException

__all__ = ["HostFailure", "call_for_code"]

_T = TypeVar("_T")


class HostFailure(Exception):
    """An exception that is not for code: it leaves the eval. Belongs in `HostTool.passes`.

    Attributes:
        error: The exception, which the adapter raises in its place.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


async def call_for_code(
    call: Awaitable[_T],
    message: Callable[[Exception], str | None],
    passes: tuple[type[Exception], ...] = (),
) -> _T:
    """Await the call of a tool, and sort its exceptions.

    Frameworks differ in which exceptions of a tool are words for the model, and which are faults
    of the program: code catches the former, the latter end the eval and reach the developer.

    Args:
        call: The call.
        message: The words of an exception that code catches; `None` for any other exception.
        passes: Exceptions that are raised as they are, such as `DecisionNeeded`.

    Raises:
        GuestException: The exception has words for code.
        HostFailure: It has none.
    """
    try:
        return await call
    except GuestException:
        raise
    except passes:
        raise
    except Exception as error:
        text = message(error)
        if text is None:
            raise HostFailure(error) from error
        raise GuestException(text) from error
