"""The engine and its realms."""

from __future__ import annotations

import json
import keyword
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import attrs
import pydantic_monty

from interpstack import (
    BridgeSet,
    Capability,
    Cell,
    ConfigurationError,
    Engine,
    EngineFailure,
    Execution,
    Image,
    Isolation,
    Limits,
    Realm,
    UnsupportedValue,
)
from interpstack_monty.execution import MontyExecution
from interpstack_monty.images import Saved, pack, unpack
from interpstack_monty.offer import offered, roots
from interpstack_monty.values import from_guest, to_guest
from interpstack_monty.workers import EMIT, RESERVED, Worker, Workers, kernel_source

__all__ = ["MontyEngine", "MontyRealm"]

#: Seconds that bringing values in or out may take.
_TRUSTED_SECONDS: Final = 5.0


class MontyEngine(Engine):
    """Python cells in processes of their own, run by Monty.

    Args:
        type_check: Refuse cells that call a bridge in a way that cannot be right, before
            anything of them has run.
        cells_per_process: Cells after which a worker process is replaced by a new one; `None`
            for never. With 1, no two cells share a process.

    Raises:
        ConfigurationError: An option is of the wrong type.
    """

    name: ClassVar[str] = "monty"
    language: ClassVar[str] = "python"
    isolation: ClassVar[Isolation] = Isolation.PROCESS
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.CPU_LIMIT,
            Capability.MEMORY_LIMIT,
            Capability.IMAGES,
            Capability.SUSPENSION,
            Capability.VALUES,
            Capability.DETERMINISM,
            Capability.UNDO,
        }
    )

    def __init__(self, *, type_check: bool = True, cells_per_process: int | None = None) -> None:
        if not isinstance(type_check, bool):
            raise ConfigurationError(f"monty: type_check takes a bool; got {type_check!r}")
        if cells_per_process is not None and (
            type(cells_per_process) is not int or cells_per_process < 1
        ):
            raise ConfigurationError(
                "monty: cells_per_process takes a whole number above 0, or None; "
                f"got {cells_per_process!r}"
            )
        self.type_check = type_check
        self.workers = Workers(cells_per_process)

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Realm:
        if image is None:
            return MontyRealm(self, limits, bridges, Saved(), {}, b"")
        return MontyRealm(self, limits, bridges, *unpack(image, self.name, limits))

    def close(self) -> None:
        self.workers.close()


class MontyRealm(Realm):
    """A state between cells: bytes. A process is taken only while a cell runs.

    Attributes:
        engine: Whose realm this is.
        limits: Limits of a cell.
        saved: The state.
        bridges: What is offered.
        running: The execution that has not ended, if there is one.
    """

    def __init__(
        self,
        engine: MontyEngine,
        limits: Limits,
        bridges: BridgeSet,
        saved: Saved,
        suspended: Mapping[str, Any],
        snapshot: bytes,
    ) -> None:
        self.engine = engine
        self.limits = limits
        self.bridges = bridges
        self.saved = saved
        self.running: MontyExecution | None = None
        self._suspended = suspended
        self._snapshot = snapshot

    def bind(self, bridges: BridgeSet) -> None:
        self.bridges = bridges

    def start(self, cell: Cell) -> Execution:
        if cell.language not in (None, MontyEngine.language):
            raise ConfigurationError(f"engine 'monty' runs python, not {cell.language!r}")
        self.running = MontyExecution(self, cell)
        return self.running

    def resume(self, before: Image | None = None) -> Execution:
        if not self._suspended:
            raise ConfigurationError("no cell was running when this image was taken")
        if before is not None:
            self.saved = unpack(before, MontyEngine.name, self.limits)[0]
        suspended, self._suspended = self._suspended, {}
        self.running = MontyExecution.restored(self, suspended, self._snapshot)
        self._snapshot = b""
        return self.running

    def image(self) -> Image:
        running, snapshot = self._suspended, self._snapshot
        if self.running is not None:
            running, snapshot = self.running.suspend()
        return pack(MontyEngine.name, self.saved, self.limits, running, snapshot)

    def values(self) -> Mapping[str, Any]:
        saved = self.saved
        told: dict[str, Any] = dict(saved.kept)
        told.update((name, _lost(why)) for name, why in saved.lost.items())
        if saved.names:
            told.update(self._exported(saved.names))
        return {name: told[name] for name in self.names()}

    def names(self) -> Sequence[str]:
        saved = self.saved
        return tuple(dict.fromkeys([*saved.kept, *saved.lost, *saved.names]))

    def load(self, values: Mapping[str, Any]) -> None:
        lost, kept, inputs = dict(self.saved.lost), dict(self.saved.kept), {}
        for name, wire in values.items():
            if isinstance(wire, dict) and wire.get("$") == "lost":
                lost[name] = str(wire.get("v"))
            elif not name.isidentifier() or keyword.iskeyword(name):
                kept[name] = wire
            else:
                inputs[name] = to_guest(wire)
                lost.pop(name, None)
        self.saved = attrs.evolve(self.saved, lost=lost, kept=kept)
        if inputs:
            worker = self.open_worker()
            try:
                with worker.watched(_TRUSTED_SECONDS) as session:
                    session.feed_run("None", inputs=inputs)
                    self.commit(worker)
            except pydantic_monty.MontyError as error:
                raise EngineFailure(f"the values could not be loaded: {error}") from error
            finally:
                worker.release()

    @property
    def weight_bytes(self) -> int:
        return len(self.saved.dump)

    def close(self) -> None:
        if self.running is not None:
            self.running.close()
            self.running = None

    # -- for executions --------------------------------------------------------------------

    def open_worker(self) -> Worker:
        """A worker with the state in it, and the bridges bound.

        Raises:
            EngineFailure: The state cannot be brought into a worker.
        """
        worker = self.engine.workers.take(self.limits)
        try:
            with worker.watched(_TRUSTED_SECONDS) as session:
                if self.saved.dump:
                    session.load_session(self.saved.opened())
                else:
                    session.feed_run(kernel_source(), external_lookup={EMIT: _never})
                binding = offered(self.bridges, self.limits.value_bytes)
                if binding != self.saved.bound:
                    session.feed_run(binding)
                worker.bound = binding
        except pydantic_monty.MontyError as error:
            worker.release()
            raise EngineFailure(f"the guest's state cannot be opened: {error}") from error
        except BaseException:
            worker.release()
            raise
        return worker

    def commit(self, worker: Worker) -> None:
        """Make what is in a worker the state; call it inside `watched`.

        Raises:
            MontyError: The state cannot be dumped; the one from before stays.
        """
        session = worker.session
        found = session.feed_run("[*__interpstack_locals__()]")
        hidden = self.saved.roots | roots(worker.bound)
        names = tuple(
            name
            for name in found
            if isinstance(name, str) and not name.startswith(RESERVED) and name not in hidden
        )
        dump = session.dump()
        lost = {name: why for name, why in self.saved.lost.items() if name not in names}
        self.saved = self.saved.after(
            dump, names=names, lost=lost, bound=worker.bound, roots=hidden
        )

    def _exported(self, names: Sequence[str]) -> Mapping[str, Any]:
        worker = self.open_worker()
        told = f"__interpstack_export__(__interpstack_locals__(), {json.dumps(names)}, {2**28})"
        try:
            with worker.watched(_TRUSTED_SECONDS) as session:
                values = session.feed_run(told)
        except pydantic_monty.MontyError as error:
            raise EngineFailure(f"the values could not be read: {error}") from error
        finally:
            worker.release()
        return {name: _portable(*values[name]) for name in names}


def _portable(value: Any, reason: str | None) -> Any:
    if reason is not None:
        return _lost(reason)
    try:
        return from_guest(value)
    except UnsupportedValue as error:
        return _lost(str(error))


def _lost(why: str) -> Any:
    return {"$": "lost", "v": why}


def _never(*values: Any) -> None:
    raise RuntimeError("no cell is running")
