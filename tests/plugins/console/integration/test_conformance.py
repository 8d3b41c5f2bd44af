"""The console's hidden bridge, held to the kit."""

from __future__ import annotations

from interpstack_testing import BridgeConformance


class TestConsole(BridgeConformance):
    uses = ()

    def make_plugins(self) -> list[str]:
        return ["console"]
