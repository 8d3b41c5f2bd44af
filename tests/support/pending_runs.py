"""A run of a cell without an engine, whose requests a test makes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interpstack import (
    Bridge,
    BridgeSet,
    Cell,
    CellContext,
    CellGuard,
    CellRun,
    Image,
    Limits,
    Request,
    Settlement,
    Step,
    StepSource,
)
from interpstack.cells.guards import Guards
from interpstack.cells.requests import Requests
from interpstack_durable.pending_requests import PendingRequests

__all__ = ["PendingRun", "pay"]


class NotingGuard(CellGuard):
    """Notes the restored steps of earlier runs."""

    def __init__(self) -> None:
        self.noted: list[Any] = []

    def restored(self, step: Step, asked: Iterable[Request]) -> None:
        self.noted.append(("restored", [one.id for one in asked]))

    def replayed(self, bridge: Any, request: Request, settlement: Settlement) -> None:
        self.noted.append(("replayed", request.id))

    def resumed(self, bridges: Any, made: Any) -> None:
        self.noted.append(("resumed", dict(made)))


class _Realm:
    def image(self) -> Image:
        return Image("fake", "v1", b"state")


class _Clock:
    cpu_seconds = 1.5

    def go_on(self, cpu_seconds: float) -> None:
        self.cpu_seconds += cpu_seconds

    def wall_left(self) -> float | None:
        return 20.0


class PendingRun:
    """Requests of one run, whose handlers note that they are called."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.called: list[Any] = []
        self.guard = NotingGuard()

        async def handle(value: Any) -> Any:
            self.called.append(value)
            return value

        bridges = (
            Bridge(name="a.pay", handler=handle, raw=True),
            Bridge(name="a.print", handler=handle, raw=True, awaited=False, repeats=True),
        )
        cell = Cell(source="", seed=1)
        requests = Requests(
            bridges=BridgeSet({one.name: one for one in bridges}),
            limits=limits or Limits(),
            context=CellContext("s", cell),
            resolve_module=lambda specifier: None,
            guards=Guards((self.guard,)),
            earlier=StepSource().earlier,
            grace=StepSource().grace,
        )
        parts: Any = (_Realm(), requests, requests.context, _Clock())
        self.run = CellRun(*parts)
        self.pending = PendingRequests(self.run)

    async def settled(self) -> list[tuple[int, str]]:
        requests = self.run.requests
        while requests.open:
            assert await requests.wait(20)
        return [
            (one.id, one.error.name if one.error else one.text) for one in requests.take_settled()
        ]


def pay(number: int) -> Request:
    """A request of code."""
    return Request(number, "a.pay", f"call {number}")
