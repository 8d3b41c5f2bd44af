"""The treatment of a tool's exception that code does not catch."""

from __future__ import annotations

from collections.abc import Iterable

from interpstack import Outcome

__all__ = ["ToolFailed", "message_of", "uncaught"]


class ToolFailed(Exception):
    """A tool's exception that an earlier run of the eval recorded, with its message.

    No `RuntimeError`: LangGraph's `RetryPolicy` would give up, where the process died between the
    record of a failure and the note that its call is to be made again.
    """


def uncaught(outcome: Outcome, raised: Iterable[Exception]) -> Exception | None:
    """The exception of a tool that ended an eval, if one did.

    Args:
        outcome: The outcome of the eval.
        raised: Exceptions of tools in this run of the eval, in order.
    """
    error = outcome.error
    if error is None or "kind" not in error.data:
        return None
    kind = error.data["kind"]
    for exception in raised:
        if type(exception).__name__ == kind and message_of(exception) == error.message:
            return exception
    return ToolFailed(f"{error.data.get('tool')} raised {kind}: {error.message}")


def message_of(error: BaseException) -> str:
    """The error message that code received; see `interpstack.cells.raised.describe_error`."""
    try:
        return (str(error) or type(error).__name__)[:2000]
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - a broken __str__ must not hide the error
        return type(error).__name__
