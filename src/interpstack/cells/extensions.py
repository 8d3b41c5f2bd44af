"""What plugins add to one run of a cell; opened by `interpstack_open_cell`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from interpstack.cells.guards import CellGuard, Guards
from interpstack.cells.steps import StepSource
from interpstack.checks import shown
from interpstack.errors import ConfigurationError

__all__ = ["CellExtension", "sorted_out"]

#: What `interpstack_open_cell` may return.
CellExtension: TypeAlias = CellGuard | StepSource


def sorted_out(extensions: Sequence[CellExtension]) -> tuple[StepSource, Guards]:
    """The step source and the guards among what plugins opened.

    Raises:
        ConfigurationError: A plugin returned something else, or two returned a step source.
    """
    guards = tuple(one for one in extensions if isinstance(one, CellGuard))
    sources = [one for one in extensions if isinstance(one, StepSource)]
    for one in extensions:
        if not isinstance(one, (CellGuard, StepSource)):
            raise ConfigurationError(
                f"interpstack_open_cell returns a CellGuard, a StepSource or None; got {shown(one)}"
            )
    if len(sources) > 1:
        named = " and ".join(type(one).__name__ for one in sources)
        raise ConfigurationError(f"a cell has one step source; two plugins opened one: {named}")
    return (sources[0] if sources else StepSource()), Guards(guards)
