"""Exceptions of handlers, as errors that the guest catches; hostile exceptions do no harm."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

from interpstack.contracts.errors import UnsupportedValue
from interpstack.contracts.protocol import GuestError

__all__ = ["GuestException", "describe_error", "ends_program"]

#: Characters of an exception's message that reach the guest, ...
_MESSAGE_CHARS: Final = 2000
#: ... of the name of its class, ...
_NAME_CHARS: Final = 200
#: ... and of the message, and the data as JSON, that a handler chose.
_CHOSEN_CHARS: Final = 10_000
#: Exceptions for whoever runs the program, not for the code that called.
_ENDS_PROGRAM: Final = (KeyboardInterrupt, SystemExit)
#: Reads the name of a class without asking its metaclass.
_name_of: Final[Any] = type.__dict__["__name__"].__get__
#: The same for the members of a group of exceptions.
_members_of: Final[Any] = BaseExceptionGroup.__dict__["exceptions"].__get__


class GuestException(Exception):
    """Raised by a handler to choose the error that the guest catches.

    Args:
        message: The error's message.
        name: The error's name in the guest.
        data: Extra properties; plain JSON values.

    Raises:
        TypeError: `data` is not JSON, or the message or the name is not a string.
        ValueError: `data` has numbers that JSON lacks, or more than 10,000 characters as JSON.
    """

    def __init__(self, message: str, *, name: str = "ToolError", **data: Any) -> None:
        super().__init__(message)
        if not (isinstance(message, str) and isinstance(name, str)):
            raise TypeError("GuestException takes a message and a name that are strings")
        if len(json.dumps(data, allow_nan=False)) > _CHOSEN_CHARS:  # shown where it is made
            raise ValueError(f"GuestException takes at most {_CHOSEN_CHARS} characters of data")
        self.error = GuestError(name, message, data=data)


def describe_error(error: BaseException, tool: str) -> GuestError:
    """A host exception as the guest may see it: no stack, no host paths of its own.

    The class of the exception is not trusted: each of its methods may raise, or lie.
    """
    own = type(error)  # `isinstance` asks the object, too
    if own is asyncio.CancelledError:
        return GuestError("ToolError", f"{tool} was cancelled", data={"tool": tool})
    kind = str.__str__(_name_of(own))[:_NAME_CHARS]
    wrong_input = issubclass(own, TypeError) and not issubclass(own, UnsupportedValue)
    try:
        if isinstance(error, GuestException):
            return _chosen(error.error, tool)
        message = str.__str__(str(error))[:_MESSAGE_CHARS]
    except BaseException as broken:
        if ends_program(broken):
            raise
        message = ""
    name = "TypeError" if wrong_input else "ToolError"
    return GuestError(name, message or kind, data={"tool": tool, "kind": kind})


def _chosen(error: GuestError, tool: str) -> GuestError:
    """The error that a handler chose, which may have been changed since, as plain data."""
    own = {"tool": tool} if tool else {}
    data = json.dumps({**own, **error.data}, allow_nan=False)
    if len(data) > _CHOSEN_CHARS:
        raise ValueError("the data of a GuestException are too long")
    name, message = str.__str__(error.name), str.__str__(error.message)
    return GuestError(name[:_NAME_CHARS], message[:_CHOSEN_CHARS], data=json.loads(data))


def ends_program(error: BaseException) -> bool:
    """Whether an exception is, or a group of them holds, one that ends the program."""
    inner, seen = [error], set()
    while inner:
        one = inner.pop()
        if issubclass(type(one), _ENDS_PROGRAM):
            return True
        if id(one) not in seen and issubclass(type(one), BaseExceptionGroup):
            inner += _members_of(one)
        seen.add(id(one))
    return False
