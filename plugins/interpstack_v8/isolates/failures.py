"""The ways in which a command of an isolate fails, and the exceptions of jsrun that mean them."""

from __future__ import annotations

from typing import Final

import jsrun

from interpstack import EngineFailure
from interpstack_javascript.cells import CellTimeout

__all__ = [
    "CellTimeout",
    "IsolateGone",
    "IsolateLost",
    "OutOfHeap",
    "RejectionsOverflowed",
    "failure_of",
]

#: What jsrun says of code that it stopped.
_STOPPED: Final = ("timed out", "Failed to get property")
#: deno_core passes every promise that was rejected meanwhile to one call, as its arguments.
_OVERFLOW: Final = "Maximum call stack size exceeded"


class IsolateLost(Exception):
    """Raised when the isolate and its contents are lost; the message names the reason."""


class IsolateGone(IsolateLost):
    """Raised when the isolate was lost before the command began, because of an earlier command."""


class OutOfHeap(IsolateLost):
    """The guest wanted more memory than V8 may have."""


class RejectionsOverflowed(EngineFailure):
    """A module rejected too many promises for one call; the guest is sound, and they are gone."""


def failure_of(error: Exception, late: bool) -> Exception:
    """The exception for a failed command, made from the exception of jsrun."""
    text = str(error)
    if isinstance(error, jsrun.RuntimeTerminated):
        return OutOfHeap(text)
    # Code that is stopped inside a module says so in its own way.
    if late or (isinstance(error, RuntimeError) and any(one in text for one in _STOPPED)):
        return CellTimeout()
    if isinstance(error, jsrun.JavaScriptError):
        if "execution terminated" in text:
            return IsolateGone("it was stopped while it was idle")
        if _OVERFLOW in text:
            return RejectionsOverflowed(text)
    return EngineFailure(f"the guest could not be entered: {text or repr(error)}")
