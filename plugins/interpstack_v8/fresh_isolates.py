"""New isolates for a realm: set up, with its bridges and its values."""

from __future__ import annotations

import json
from typing import Final

from interpstack import BridgeSet, EngineFailure, Limits
from interpstack_javascript.exchange import bind_arguments
from interpstack_javascript.modules import ModuleTable
from interpstack_v8.context import setup_scripts
from interpstack_v8.guest_modules import GuestModules
from interpstack_v8.isolates.failures import CellTimeout, IsolateLost
from interpstack_v8.isolates.isolate import Isolate

__all__ = ["KERNEL_SECONDS", "FreshIsolates"]

#: Seconds for commands that run the kernel's code alone.
KERNEL_SECONDS: Final = 5.0


class FreshIsolates:
    """Opens the isolates of one realm, one after another.

    Args:
        limits: Limits of a cell.
        bridges: The bridges on offer, until `bind` says otherwise. The guest sources are theirs.
        modules: Sources that the guest may import.
        give_up_seconds: As of the engine.
    """

    def __init__(
        self,
        limits: Limits,
        bridges: BridgeSet,
        modules: ModuleTable,
        give_up_seconds: float | None,
    ) -> None:
        self._limits = limits
        self._bridges = bridges
        self._modules = GuestModules(modules)
        self._give_up_seconds = give_up_seconds
        self._setup = setup_scripts(bridges.sources_for("javascript"))
        self._offered = ""  # to the last one

    def bind(self, bridges: BridgeSet) -> None:
        """Offer other bridges from now on."""
        self._bridges = bridges

    def open(self) -> Isolate:
        """A new isolate, with bridges and without variables.

        Raises:
            EngineFailure: It cannot be made, or takes no bridges.
        """
        self._modules.begin_set_up()
        isolate = Isolate(
            self._setup,
            self._limits.memory_bytes,
            self._modules.resolve,
            self._modules.load,
            give_up_seconds=self._give_up_seconds,
        )
        self._modules.end_set_up()
        self._offered = ""
        try:
            self.offer(isolate)
        except (CellTimeout, IsolateLost, EngineFailure) as error:
            isolate.close()
            raise EngineFailure(f"a new heap cannot be used: {error!r}") from error
        return isolate

    def offer(self, isolate: Isolate) -> None:
        """Offer the bridges in the last isolate that was opened, unless it has them already."""
        command = ["bind", *bind_arguments(self._bridges, self._limits)]
        text = json.dumps(command, separators=(",", ":"))
        if text != self._offered:
            isolate.enter("say", text, seconds=KERNEL_SECONDS)
            self._offered = text

    def fill(self, isolate: Isolate, values: str) -> bool:
        """Define saved values in a new isolate; False if they are too much for it.

        Args:
            isolate: Made by `open`.
            values: The values as the kernel wrote them, a JSON object. No other text can make this
                another command: the kernel parses the whole as JSON.
        """
        try:
            isolate.enter("say", f'["load",{values}]', seconds=KERNEL_SECONDS)
        except (CellTimeout, IsolateLost, EngineFailure):
            return False
        return True
