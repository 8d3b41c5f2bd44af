"""The engine and its realms."""

from __future__ import annotations

import keyword
import unicodedata
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
    ImageError,
    Isolation,
    Limits,
    Realm,
    UnsupportedValue,
)
from interpstack_monty.crossing.errors import is_memory_limit, is_time_limit
from interpstack_monty.crossing.export_values import export, globals_in, lost, why
from interpstack_monty.crossing.values import to_guest
from interpstack_monty.execution import MontyExecution
from interpstack_monty.images import Saved, pack, unpack
from interpstack_monty.offer import offered, roots, tree
from interpstack_monty.workers import (
    EMIT,
    RESERVED,
    TRUSTED_SECONDS,
    KernelReplaced,
    Worker,
    Workers,
    kernel_source,
)

__all__ = ["MontyEngine", "MontyRealm"]

#: What Monty's client raises, and what a replaced kernel does beside that.
_FAILURES: Final = (pydantic_monty.MontyError, KernelReplaced)


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
        told.update((name, lost(reason)) for name, reason in saved.lost.items())
        if saved.names:
            told.update(self._exported(saved.names))
        return {name: told[name] for name in self.names()}

    def names(self) -> Sequence[str]:
        saved = self.saved
        return tuple(dict.fromkeys([*saved.kept, *saved.lost, *saved.names]))

    def load(self, values: Mapping[str, Any]) -> None:
        missing, kept, inputs = dict(self.saved.lost), dict(self.saved.kept), {}
        bridges = tree(self.bridges)
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
        self.saved = attrs.evolve(self.saved, lost=missing, kept=kept)

    def close(self) -> None:
        if self.running is not None:
            self.running.close()
            self.running = None

    # -- for executions --------------------------------------------------------------------

    def ended(self, execution: MontyExecution) -> None:
        """Note that an execution has ended."""
        if self.running is execution:
            self.running = None

    def go_back(self, saved: Saved) -> None:
        """Take up an earlier state."""
        self.saved = saved

    def open_worker(self) -> Worker:
        """A worker with the state in it, and the bridges bound.

        Raises:
            EngineFailure: The state cannot be brought into a worker.
        """
        worker = self.engine.workers.take(self.limits)
        try:
            with worker.watched(TRUSTED_SECONDS) as session:
                if self.saved.dump:
                    session.load_session(self.saved.opened())
                else:
                    worker.run(kernel_source(), external_lookup={EMIT: _never})
                binding = offered(self.bridges, self.limits.value_bytes)
                if binding != self.saved.bound:
                    worker.run(binding)
                worker.bound = binding
        except (*_FAILURES, ImageError) as error:
            worker.release()
            raise EngineFailure(f"the guest's state cannot be opened: {error}") from error
        except BaseException:
            worker.release()
            raise
        return worker

    def commit(self, worker: Worker) -> Sequence[str]:
        """Make what is in a worker the state; call it inside `watched`.

        Returns:
            Names of bridges that the cell gave another value; they are bound anew before the
            next cell.

        Raises:
            MontyError: The state cannot be dumped; the one from before stays.
            KernelReplaced: Its names cannot be read; likewise.
        """
        bound = roots(worker.bound)
        hidden = self.saved.roots | bound
        found = globals_in(worker, hidden, bound)
        dump = worker.session.dump()
        own = frozenset(found.own)
        self.saved = self.saved.after(
            dump,
            names=found.own,
            lost={name: why for name, why in self.saved.lost.items() if name not in own},
            bound="" if found.taken else worker.bound,
            roots=hidden,
        )
        return found.taken

    def _exported(self, names: Sequence[str]) -> Mapping[str, Any]:
        worker = self.open_worker()
        try:
            with worker.watched(TRUSTED_SECONDS):
                return export(worker, names)
        except _FAILURES as error:
            reason = f"it could not be read: {why(error)}"
            return {name: lost(reason) for name in names}
        finally:
            worker.release()

    def _bind(self, inputs: Mapping[str, Any]) -> Mapping[str, str]:
        """Bind values in the state; why some could not be, by name."""
        worker = self.open_worker()
        try:
            with worker.watched(TRUSTED_SECONDS):
                refused = _bound(worker, inputs)
                self.commit(worker)
        except _FAILURES as error:
            raise EngineFailure(f"the values could not be loaded: {why(error)}") from error
        finally:
            worker.release()
        return refused


def _bound(worker: Worker, inputs: Mapping[str, Any]) -> Mapping[str, str]:
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
    """Whether a cell can name a global, and may."""
    return (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and not name.startswith(RESERVED)
        and unicodedata.normalize("NFKC", name) == name
    )


def _never(*values: Any) -> None:
    raise RuntimeError("no cell is running")
