"""Exceptions of cells, in the short form in which a notebook shows them."""

from __future__ import annotations

from interpstack import GuestError
from interpstack_notebook.texts import printable

__all__ = ["CellFailed", "GuestCodeError", "guest_failure", "interrupted"]


class CellFailed(Exception):
    """A cell that could not be run, such as one with a wrong argument."""

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython prints in place of a traceback of the extension."""
        return [f"Error: {self}"]


class GuestCodeError(CellFailed):
    """An error of guest code; it stops a notebook that runs all of its cells.

    Attributes:
        error: The error, whose texts are the guest's.
    """

    def __init__(self, error: GuestError) -> None:
        super().__init__(printable(f"{error.name or 'Error'}: {error.message}".rstrip(": ")))
        self.error = error

    def _render_traceback_(self) -> list[str]:
        lines = [str(self)]
        if self.error.stack.strip():
            lines.append(printable(self.error.stack.rstrip()))
        if self.error.place is not None:
            lines.append(self.error.place.excerpt(printable))
        return lines


def guest_failure(error: GuestError) -> GuestCodeError:
    """The exception for an error of guest code."""
    return GuestCodeError(error)


def interrupted(error: KeyboardInterrupt) -> KeyboardInterrupt:
    """The interrupt of a cell, shown in one line: people know where they have stopped it."""
    line = "KeyboardInterrupt: the code was stopped; the session continues"
    vars(error)["_render_traceback_"] = lambda: [line]  # of the object: IPython names its class
    return error
