"""One look at an eval that may be put aside."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import attrs

from interpstack_durable.api import Look, Shown

__all__ = ["Watched"]


@attrs.define(eq=False)
class Watched:
    """A look at an eval.

    Attributes:
        look: The seconds after which the eval is put aside.
        hold: The lock on the eval, which may outlast the look.
        shown: Console output that the model has seen.
        heard: Parts of the console output of this look.
    """

    look: Look
    hold: AbstractAsyncContextManager[Any]
    shown: Shown
    heard: list[str] = attrs.field(factory=list)

    def new_console(self) -> str:
        """The console output that the model has not seen."""
        return self.shown.new("".join(self.heard))
