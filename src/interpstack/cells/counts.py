"""The number of requests that a cell may make."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from interpstack.cells.guards import Guards
from interpstack.checks import number_of
from interpstack.contracts.bridges import Bridge, BridgeSet
from interpstack.contracts.limits import Limits
from interpstack.contracts.protocol import MODULE, TIMER, GuestError, Request, Settlement

__all__ = ["RequestCounts"]


@attrs.define(eq=False, repr=False)
class RequestCounts:
    """Counts the requests of one cell, without timers and imports.

    Attributes:
        bridges: What is offered; each bridge may have a budget.
        limits: How many requests may be made.
        guards: May refuse requests, and count them.
        made: Requests so far.
        limited: Those among them that `Limits.requests` counts.
        by_bridge: The same as `made`, by bridge.
    """

    bridges: BridgeSet
    limits: Limits
    guards: Guards
    made: int = 0
    limited: int = 0
    by_bridge: dict[str, int] = attrs.field(factory=dict)
    _numbers: dict[int, tuple[int, int]] = attrs.field(factory=dict)

    def number(self, request: Request) -> None:
        """Count a request in the order of asking, so that every run refuses the same ones."""
        if request.bridge in (TIMER, MODULE) or request.id in self._numbers:
            return
        self.made += 1
        of_bridge = self.by_bridge[request.bridge] = self.by_bridge.get(request.bridge, 0) + 1
        limited = self._is_limited(request.bridge)
        self.limited += limited
        self._numbers[request.id] = (self.limited if limited else 0, of_bridge)

    def let_in(self, request: Request) -> None:
        """Count a request that an earlier run let in, so that no limit refuses it."""
        self.number(request)
        if request.id in self._numbers:
            self._numbers[request.id] = (0, 0)

    def replayed(self, request: Request, settlement: Settlement) -> None:
        """Count a request that is answered from a record: no call is made for it."""
        if self._numbers.pop(request.id, None) is not None:
            for guard in self.guards:
                guard.replayed(self.bridges.get(request.bridge), request, settlement)

    def restore(self, made: Mapping[str, int]) -> None:
        """Go on counting after requests of an earlier run, by bridge."""
        self.by_bridge, self.made = dict(made), sum(made.values())
        self.limited = sum(number for name, number in made.items() if self._is_limited(name))
        for guard in self.guards:
            guard.resumed(self.bridges, made)

    def refuse(self, request: Request, bridge: Bridge | None) -> GuestError | None:
        """The error of a numbered request that may not be made; `None` to make it."""
        number, of_bridge = self._numbers.pop(request.id)
        tool = {"tool": request.bridge}
        if self.limits.requests is not None and number > self.limits.requests:
            return GuestError("CallBudgetExceeded", self.limits.too_many_requests, data=tool)
        if bridge is None or not bridge.awaited:
            message = f"{request.bridge} is not offered in this session, or no longer"
            return GuestError("ToolError", message, data=tool)
        if bridge.budget is not None and of_bridge > bridge.budget:
            times = number_of(bridge.budget, "time")
            message = f"the cell may call {bridge.name} {times}; this was one more"
            return GuestError("CallBudgetExceeded", message, data=tool)
        return self.guards.admit(bridge, request)

    def _is_limited(self, name: str) -> bool:
        bridge = self.bridges.get(name)
        return bridge is None or bridge.counted
