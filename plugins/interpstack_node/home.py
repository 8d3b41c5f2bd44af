"""The realm of a cell, as its execution sees it."""

from __future__ import annotations

from typing import Protocol

from interpstack import BridgeSet, Limits
from interpstack_javascript.modules import ModuleTable
from interpstack_node.kernels.process import KernelProcess
from interpstack_node.modules.questions import ModuleQuestions

__all__ = ["Home"]


class Home(Protocol):
    """The realm of a cell, as far as its execution needs it."""

    @property
    def limits(self) -> Limits:
        """Limits of a cell."""

    @property
    def bridges(self) -> BridgeSet:
        """The bridges on offer."""

    @property
    def modules(self) -> ModuleTable:
        """Sources that the guest may import."""

    @property
    def files(self) -> ModuleQuestions:
        """Built-in modules, packages and files that the guest may import."""

    @property
    def is_awake(self) -> bool:
        """Whether there is a kernel that can be entered without a wait for its start."""

    def attach(self) -> KernelProcess:
        """The kernel, started and filled if need be."""

    def entered(self) -> None:
        """Note that the guest may change its variables from now on."""

    def ended(self, values: str | None) -> None:
        """Note the end of a cell, and the guest's variables."""

    def never_ran(self) -> None:
        """Note that a cell has ended whose kernel is gone, or that never began."""

    def give_up(self) -> None:
        """End the kernel; the next cell finds the values that are saved."""

    def take_notices(self) -> tuple[str, ...]:
        """Notices about variables that were lost between cells."""
