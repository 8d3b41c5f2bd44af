"""An engine whose cells are lists of calls, to try bridges without any guest code.

A cell is a JSON list of `[bridge, wire tree]`. All calls are made at once; the cell ends when the
awaited ones are answered. Its text is a JSON list with `{"answer": wire}`,
`{"error": {"name", "message", …}}`, or `{}` for what is not awaited.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from interpstack.contracts.bridges import BridgeSet
from interpstack.contracts.engine import Capability, Engine, Execution, Isolation, Realm
from interpstack.contracts.limits import Limits
from interpstack.contracts.protocol import (
    Cell,
    Completion,
    Image,
    Notification,
    Progress,
    Request,
    Settlement,
)

__all__ = ["CallerEngine"]


class CallerEngine(Engine):
    """Calls any bridge with anything, hidden ones too, as a guest that broke out would."""

    name: ClassVar[str] = "caller"
    #: The properties from which plugins decide on their offer.
    language: ClassVar[str] = "javascript"
    isolation: ClassVar[Isolation] = Isolation.NONE
    capabilities: ClassVar[frozenset[Capability]] = frozenset()

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Realm:
        return _Realm(bridges)


class _Realm(Realm):
    def __init__(self, bridges: BridgeSet) -> None:
        self.bridges = bridges

    def bind(self, bridges: BridgeSet) -> None:
        self.bridges = bridges

    def start(self, cell: Cell) -> Execution:
        return _Execution(self.bridges, json.loads(cell.source))

    def close(self) -> None:
        self.bridges = BridgeSet()


class _Execution(Execution):
    def __init__(self, bridges: BridgeSet, items: Sequence[tuple[str, Any]]) -> None:
        self._results: list[Any] = [None] * len(items)
        self._notifications: list[Notification] = []
        self._requests: list[Request] = []
        self._ended = False
        for index, (name, wire) in enumerate(items):
            bridge = bridges.get(name)
            if bridge is None or bridge.awaited:
                self._requests.append(Request(index + 1, name, wire))
            else:
                self._results[index] = {}
                self._notifications.append(Notification(name, wire))

    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        notifications, self._notifications = self._notifications, []
        requests, self._requests = self._requests, []
        completion = None
        if not self._ended and None not in self._results:
            self._ended = True
            completion = Completion(text=json.dumps(self._results))
        return Progress(notifications=notifications, requests=requests, completion=completion)

    def settle(self, settlements: Sequence[Settlement]) -> None:
        for settlement in settlements:
            error = settlement.error
            self._results[settlement.id - 1] = (
                {"answer": json.loads(settlement.text)}
                if error is None
                else {"error": {**attrs.asdict(error), **error.data}}
            )

    def abort(self, reason: str) -> Progress:
        self._ended = True
        notifications, self._notifications = self._notifications, []
        return Progress(notifications=notifications)
