"""All extensions of one run of a cell by plugins; opened by `interpstack_open_cell`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs

from interpstack.cells.guards import Guards
from interpstack.cells.steps import StepSource
from interpstack.checks import expect
from interpstack.contracts.errors import ConfigurationError
from interpstack.contracts.extensions import CellExtension, CellGuard, Wrapper
from interpstack.contracts.protocol import Settlement

__all__ = ["Extensions"]

#: The hook that finds the wrappers of a `request`.
_Find = Callable[..., Iterable[Wrapper[Settlement]]]


@attrs.frozen(eq=False, repr=False)
class Extensions:
    """All that plugins add to one run of a cell.

    Attributes:
        steps: The source of the guest's steps; by default, each step is computed.
        guards: Limit the resources that the cell uses, and count them.
        wraps: Finds the wrappers of a request; `None` where no plugin has any.
    """

    steps: StepSource = attrs.field(factory=StepSource)
    guards: Guards = attrs.field(factory=Guards)
    wraps: _Find | None = None

    @classmethod
    def of(cls, opened: Sequence[CellExtension], wraps: _Find | None = None) -> Extensions:
        """The extensions that plugins opened, with the lookup of wrappers of requests.

        Raises:
            ConfigurationError: A plugin returned something else, or two returned a step source.
        """
        sources = [one for one in opened if isinstance(one, StepSource)]
        for one in opened:
            accepted = "interpstack_open_cell returns a CellGuard, a StepSource or None"
            expect(one, (CellGuard, StepSource), accepted)
        if len(sources) > 1:
            named = " and ".join(type(one).__name__ for one in sources)
            raise ConfigurationError(f"a cell has one step source; two plugins opened one: {named}")
        guards = Guards(tuple(one for one in opened if isinstance(one, CellGuard)))
        return cls(sources[0] if sources else StepSource(), guards, wraps)
