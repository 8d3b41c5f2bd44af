"""Realms of the engine: a state between cells, and values that go into it and come out."""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs
import pydantic_monty

from interpstack import (
    BridgeSet,
    Cell,
    ConfigurationError,
    EngineFailure,
    Execution,
    Image,
    Realm,
    UnsupportedValue,
)
from interpstack_monty.crossing.errors import is_memory_limit, is_time_limit
from interpstack_monty.crossing.export_values import lost, why
from interpstack_monty.crossing.values import to_guest
from interpstack_monty.execution import MontyExecution
from interpstack_monty.images import ENGINE, pack, unpack
from interpstack_monty.offer import tree
from interpstack_monty.state import FAILURES, MontyState
from interpstack_monty.workers import RESERVED, TRUSTED_SECONDS, KernelReplaced, MontyWorker

__all__ = ["MontyRealm"]


class MontyRealm(Realm):
    """A state between cells, behind the protocol of engines.

    Args:
        state: The state. A process is taken only while a cell runs.
        suspended: The state of the cell that was running when an image was taken.
        snapshot: Monty's dump of that cell.
    """

    starts_at_once: ClassVar[bool] = True

    def __init__(self, state: MontyState, suspended: Mapping[str, Any], snapshot: bytes) -> None:
        self.state = state
        self._running: MontyExecution | None = None
        self._suspended = suspended
        self._snapshot = snapshot

    def bind(self, bridges: BridgeSet) -> None:
        self.state.bind(bridges)

    def start(self, cell: Cell) -> Execution:
        self._running = MontyExecution(self.state, cell, self._ended)
        return self._running

    def resume(self, before: Image | None = None) -> Execution:
        if not self._suspended:
            raise ConfigurationError("no cell was running when this image was taken")
        if before is not None:
            self.state.go_to(unpack(before, ENGINE, self.state.limits)[0])
        suspended, self._suspended = self._suspended, {}
        self._running = MontyExecution.restored(self.state, self._ended, suspended, self._snapshot)
        self._snapshot = b""
        return self._running

    def image(self) -> Image:
        running, snapshot = self._suspended, self._snapshot
        if self._running is not None:
            running, snapshot = self._running.suspend()
        return pack(ENGINE, self.state.saved, self.state.limits, running, snapshot)

    def values(self) -> Mapping[str, Any]:
        saved = self.state.saved
        exported: dict[str, Any] = dict(saved.kept)
        exported.update((name, lost(reason)) for name, reason in saved.lost.items())
        if saved.names:
            exported.update(self.state.exported(saved.names))
        return {name: exported[name] for name in self.names()}

    def names(self) -> Sequence[str]:
        return self.state.names()

    def load(self, values: Mapping[str, Any]) -> None:
        saved = self.state.saved
        missing, kept, inputs = dict(saved.lost), dict(saved.kept), {}
        bridges = tree(self.state.bridges)
        for name, wire in values.items():
            if isinstance(wire, dict) and wire.get("$") == "lost":
                missing[name] = str(wire.get("v"))
            elif not _speakable(name) or name in bridges:
                kept[name] = wire
            else:
                missing.pop(name, None)
                try:
                    inputs[name] = to_guest(wire)
                except (UnsupportedValue, RecursionError, TypeError, ValueError) as error:
                    missing[name] = why(error)
        if inputs:
            missing.update(self._bind(inputs))
        self.state.go_to(attrs.evolve(self.state.saved, lost=missing, kept=kept))

    def close(self) -> None:
        if self._running is not None:
            self._running.close()
            self._running = None

    def _ended(self, execution: MontyExecution) -> None:
        """Note that an execution has ended."""
        if self._running is execution:
            self._running = None

    def _bind(self, inputs: Mapping[str, Any]) -> Mapping[str, str]:
        """Bind values in the state; why some could not be, by name."""
        worker = self.state.open_worker()
        try:
            with worker.watched(TRUSTED_SECONDS):
                refused = _bound(worker, inputs)
                self.state.commit(worker)
        except FAILURES as error:
            raise EngineFailure(f"the values could not be loaded: {why(error)}") from error
        finally:
            worker.release()
        return refused


def _bound(worker: MontyWorker, inputs: Mapping[str, Any]) -> Mapping[str, str]:
    try:
        worker.run("None", inputs=inputs)
    except (pydantic_monty.MontyRuntimeError, KernelReplaced) as error:
        if is_memory_limit(error) or is_time_limit(error):
            raise
        if len(inputs) == 1:
            return {name: why(error) for name in inputs}
        # Monty refuses all for one: it is looked for by halves.
        items = list(inputs.items())
        half = len(items) // 2
        return {**_bound(worker, dict(items[:half])), **_bound(worker, dict(items[half:]))}
    return {}


def _speakable(name: str) -> bool:
    """Whether a cell can and may refer to a global by this name."""
    return (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and not name.startswith(RESERVED)
        and unicodedata.normalize("NFKC", name) == name
    )
