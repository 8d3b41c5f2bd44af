"""Ends a waiting cell, as Ctrl-C would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pydantic_monty
from pydantic_monty import FutureSnapshot, MontyComplete, NameLookupSnapshot

__all__ = ["cancel"]

#: Suspensions that a cell may make meanwhile.
_STEPS: Final = 1000
_STOP: Final[Any] = {"exc_type": "KeyboardInterrupt", "message": "the cell was stopped"}


def cancel(at: pydantic_monty.SyncSnapshot, given_up: Callable[[Exception], bool]) -> bool:
    """Answer every request of the cell with `KeyboardInterrupt` until the cell has ended.

    Args:
        at: The suspension of the cell.
        given_up: Returns whether an error means that Monty, and not the cell itself, ended the run.

    Returns:
        Whether it ended; its state can then be kept.

    Raises:
        MontyError: The session is lost.
    """
    try:
        for _ in range(_STEPS):
            if isinstance(at, MontyComplete):
                return True
            if isinstance(at, NameLookupSnapshot):
                at = at.resume()
            elif not isinstance(at, FutureSnapshot):
                at = at.resume(_STOP)
            elif at.pending_call_ids:
                at = at.resume({at.pending_call_ids[0]: _STOP})
            else:
                return False
    except pydantic_monty.MontyRuntimeError as error:
        return not given_up(error)
    return False
