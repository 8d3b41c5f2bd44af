"""Completions of cells that reach their end or exceed a limit."""

from __future__ import annotations

import re
from typing import Any, Final

import pydantic_monty

from interpstack import Completion, GuestError, Limits
from interpstack_monty.crossing.errors import is_memory_limit

__all__ = ["UNDONE", "completion_of", "failure_of", "shown_chars"]

#: Said wherever a cell had to be taken back.
UNDONE: Final = "this cell's changes to variables were undone"
#: The largest number of omitted characters that is reported.
_MOST_OMITTED: Final = 2**31
#: What the kernel's `show` returns: omitted characters, whether the value is a handle, whether it
#: is `None`, and the text.
_ANSWER: Final = re.compile(r"([0-9]{1,20}) ([01]) ([01]) (.*)", re.DOTALL)
_UNREADABLE: Final = (
    "the cell's result cannot be read: it ended with `return` outside a function, or the "
    "functions that the engine keeps in the session were replaced"
)


def shown_chars(limits: Limits) -> int:
    """Characters of a result that the guest gives at most."""
    return max(8192, 2 * limits.result_chars)


def completion_of(output: Any, room: int) -> Completion:
    """The checked answer of the kernel's `show`, which a cell may have replaced.

    Args:
        output: As Monty's client gave it; `None` for a cell without a last expression.
        room: Characters of the text that are returned at most.
    """
    if output is None:
        return Completion(text="None", undefined=True)
    found = _ANSWER.fullmatch(output) if isinstance(output, str) else None
    if found is None:
        return Completion(error=GuestError("EngineFailure", _UNREADABLE))
    cut, handle, undefined, text = found.groups()
    return Completion(
        text=text[:room],
        omitted_chars=min(int(cut), _MOST_OMITTED),
        handle=handle == "1",
        undefined=undefined == "1",
    )


def failure_of(error: Exception, limits: Limits) -> GuestError:
    """The failure of a cell that Monty stopped, or whose process died."""
    if is_memory_limit(error):
        return _out_of_memory(limits)
    if isinstance(error, pydantic_monty.MontyCrashedError):
        return GuestError("EngineFailure", f"the guest's process died; {UNDONE}")
    why = str(error).partition("\n")[0][:300]
    return GuestError("EngineFailure", f"{why}; {UNDONE}")


def _out_of_memory(limits: Limits) -> GuestError:
    """The failure of a cell that wanted more memory than there is."""
    limit = limits.memory_bytes
    used_up = "all memory" if limit is None else f"its memory limit of {limit // 2**20} MiB"
    return GuestError("OutOfMemory", f"the guest used up {used_up}; {UNDONE}")
