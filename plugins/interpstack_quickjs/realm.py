"""Realms of the engine: the methods of the protocol, over a live guest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from interpstack import (
    BridgeSet,
    Cell,
    ConfigurationError,
    EngineFailure,
    Execution,
    Image,
    Realm,
)
from interpstack_javascript.exchange import MEMBER_SECONDS, read_answer
from interpstack_javascript.exported import ExportStopped, LargeVariables, exported
from interpstack_quickjs.execution import QuickJSExecution
from interpstack_quickjs.integers import fitting_values
from interpstack_quickjs.live_guest import LiveGuest

__all__ = ["QuickJSRealm"]


class QuickJSRealm(Realm):
    """A live guest, behind the protocol of engines.

    Args:
        live: The guest.
        suspended: Name of the cell that was running when the guest's image was taken.
    """

    starts_at_once: ClassVar[bool] = True

    def __init__(self, live: LiveGuest, suspended: str | None) -> None:
        self.live = live
        self._suspended = suspended
        self._large = LargeVariables()

    def bind(self, bridges: BridgeSet) -> None:
        self.live.bind(bridges)

    def start(self, cell: Cell) -> Execution:
        return QuickJSExecution(self.live, cell)

    def resume(self, before: Image | None = None) -> Execution:
        if self._suspended is None:
            raise ConfigurationError("no cell was running when this image was taken")
        heap = self.live.heap_of(before)
        name, self._suspended = self._suspended, None
        return QuickJSExecution(self.live, Cell(source="", name=name), heap)

    def image(self) -> Image:
        return self.live.image()

    def values(self) -> Mapping[str, Any]:
        text = exported(self._read, self._large.known())
        return self._large.read(_told("values", text, dict))

    def names(self) -> Sequence[str]:
        names: Sequence[str] = _told("names", self.live.read("names"), list)
        return names

    def _read(self, command: str, seconds: float) -> str:
        try:
            return self.live.read(*json.loads(command), seconds=seconds)
        except EngineFailure as error:  # the guest's memory is as before
            raise ExportStopped(str(error)) from error

    def members(self, path: Sequence[str]) -> Sequence[str]:
        text = self.live.read("members", list(path), seconds=MEMBER_SECONDS)
        names: Sequence[str] = read_answer(text)
        return names

    def load(self, values: Mapping[str, Any]) -> None:
        self.live.change("load", fitting_values(values))

    def close(self) -> None:
        self.live.close()


def _told(what: str, text: str, kind: type) -> Any:
    """The answer of a command that changes nothing."""
    value = read_answer(text)
    if not isinstance(value, kind):
        raise EngineFailure(f"the guest's memory is damaged: its {what} are something else")
    return value
