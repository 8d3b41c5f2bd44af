"""Areas of the kit: tests for every engine, and tests for what an engine declares."""

from __future__ import annotations

from enum import Enum

from interpstack.contracts.engine import Capability, Engine

__all__ = ["Area"]


class Area(Enum):
    """One module of tests.

    An area named like a `Capability` applies if the engine declares it, and `DIALECTS` to engines
    that run the dialect of the guest.
    """

    CELLS = "cells"  #: values of cells, persistence of scope, redeclaration, top-level await
    CROSSING = "values that cross"  #: the codec, both ways
    CONSOLE = "console"  #: output: whole, in order, bounded
    ATTACHMENTS = "attachments"  #: images and files that code shows, as they were, bounded
    ERRORS = "errors"  #: of the guest, shown without the host's paths
    REQUESTS = "requests"  #: batching, order, answers, failures
    ENDS = "ends of cells"  #: un-awaited requests, refusal after the end, cancellation, deadlock
    LIMITS = "limits"  #: wall time, budgets, sizes: what every engine needs
    ISOLATION = "isolation"  #: between realms, and what the isolation class promises
    HOSTILE = "hostile guests"
    LIFE = "life cycle"  #: closing in any state, a thousand realms, no growth
    CPU_LIMIT = Capability.CPU_LIMIT.value
    MEMORY_LIMIT = Capability.MEMORY_LIMIT.value
    IMAGES = Capability.IMAGES.value
    SUSPENSION = Capability.SUSPENSION.value
    KEPT_REALMS = Capability.KEPT_REALMS.value
    UNDO = Capability.UNDO.value
    VALUES = Capability.VALUES.value
    MODULES = Capability.MODULES.value
    DIALECTS = "dialects"  #: cells in a variant of the language
    DETERMINISM = Capability.DETERMINISM.value

    @property
    def capability(self) -> Capability | None:
        """The capability that this area tests; `None` if every engine must pass it."""
        return next((item for item in Capability if item.value == self.value), None)

    @property
    def required(self) -> bool:
        """Whether every engine must pass it, whatever it declares."""
        return self.capability is None and self is not Area.DIALECTS

    def applies(self, engine: Engine, dialect: str | None) -> bool:
        """Whether an engine declares what the area tests.

        Args:
            engine: The engine under test.
            dialect: The dialect of which the guest has samples, if any.
        """
        if self is Area.DIALECTS:
            return dialect is not None and dialect in engine.dialects
        return self.capability is None or self.capability in engine.capabilities
