"""The engine and its realms."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import attrs

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
)
from interpstack_javascript.exchange import (
    MEMBER_SECONDS,
    bind_arguments,
    read_answer,
)
from interpstack_javascript.modules import ModuleTable
from interpstack_quickjs.execution import MAX_MEMORY, QuickJSExecution
from interpstack_quickjs.guest import STATUS_OK, Guest, Heap, OutOfRoom
from interpstack_quickjs.heap.base import Base, base_heaps
from interpstack_quickjs.webassembly.instance import spares
from interpstack_quickjs.webassembly.machine import Trapped

__all__ = ["QuickJSEngine"]

#: Seconds that code of the guest, such as `toJSON`, may take while its values are exported.
_EXPORT_SECONDS: Final = 0.5
#: Seconds to tell the guest what is offered, which takes milliseconds; a guest can put code of
#: its own in the way.
_BIND_SECONDS: Final = 1.0
#: Seconds for other commands, where cells have no limit.
_KERNEL_SECONDS: Final = 30.0
#: Bytes of the largest memory that is kept for the next copy.
_MAX_SCRATCH: Final = 16 * 2**20


class QuickJSEngine(Engine):
    """QuickJS in WebAssembly: the default engine, safe for untrusted code."""

    name: ClassVar[str] = "quickjs"
    language: ClassVar[str] = "javascript"
    dialects: ClassVar[tuple[str, ...]] = ("typescript",)
    isolation: ClassVar[Isolation] = Isolation.WASM
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability)

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Realm:
        base = base_heaps.get(bridges.sources_for(self.language))
        if image is None:
            return _opened(base, limits, _State(base.heap), bridges)
        state = _state_of(image, base, limits)
        try:
            return _opened(base, limits, state, bridges)
        except EngineFailure as error:
            raise ImageError(f"the image cannot be opened: {error}") from error


def _opened(base: Base, limits: Limits, state: _State, bridges: BridgeSet) -> QuickJSRealm:
    realm = QuickJSRealm(base, limits, state)
    try:
        realm.bind(bridges)
    except BaseException:
        realm.guest.close()
        raise
    return realm


@attrs.frozen
class _State:
    """What a realm begins with.

    Attributes:
        heap: Its memory.
        cell: Name of the cell that was running.
        modules: Those that were loaded.
        bound: Digest of what the guest was last told of bridges and limits.
    """

    heap: Heap
    cell: str | None = None
    modules: ModuleTable = attrs.field(factory=ModuleTable)
    bound: str = ""


class QuickJSRealm(Realm):
    """One instance of the guest, replaced by another when it is stopped in the middle."""

    def __init__(self, base: Base, limits: Limits, state: _State) -> None:
        self.base = base
        self.limits = limits
        self._bridges: BridgeSet | None = None
        self._suspended = state.cell
        self.running: str | None = state.cell
        self.modules = state.modules
        self._bound = state.bound
        self.guest = self._new_guest(state.heap)
        self._touched = state.heap is not base.heap
        #: Memory of a copy that nobody needs any more.
        self._spare: bytearray | None = None
        #: What the guest's memory still is; every command ends that.
        self._copy: Heap | None = state.heap

    def bind(self, bridges: BridgeSet) -> None:
        first, self._bridges = self._bridges is None, bridges
        self._offer(bridges, undo=not first)  # there is nothing to go back to at first

    def _offer(self, bridges: BridgeSet, undo: bool) -> None:
        arguments = bind_arguments(bridges, self.limits)
        bound = hashlib.sha256(json.dumps(arguments).encode()).hexdigest()[:32]
        if bound != self._bound:  # else the restored guest knows
            self._trusted("bind", *arguments, undo=undo, seconds=self._bind_seconds)
            self._bound = bound

    @property
    def _bind_seconds(self) -> float:
        return min(_BIND_SECONDS, self.limits.cpu_seconds or _BIND_SECONDS)

    def start(self, cell: Cell) -> Execution:
        before = self._before()
        self._touched = True
        return QuickJSExecution(self, cell, before)

    def resume(self, before: Image | None = None) -> Execution:
        if self._suspended is None:
            raise ConfigurationError("no cell was running when this image was taken")
        heap = self.guest.heap() if before is None else self._heap(before)
        name, self._suspended = self._suspended, None
        return QuickJSExecution(self, Cell(source="", name=name), heap, started=True)

    def _heap(self, image: Image) -> Heap:
        return _state_of(image, self.base, self.limits).heap

    def image(self) -> Image:
        from interpstack_quickjs.heap.images import compared, pack

        extra = {"cell": self.running, "modules": self.modules.dump(), "bound": self._bound}
        extra = {key: value for key, value in extra.items() if value}
        heap = self._passing_copy()
        if isinstance(heap.memory, bytearray):
            self.base.wipe(heap.memory)
        self._copy = compared(heap, self.base.heap)
        data = pack(self._copy, self.base.heap, extra)
        return Image(QuickJSEngine.name, self.base.id, data)

    def values(self) -> Mapping[str, Any]:
        values: Mapping[str, Any] = self._told("values", dict, _EXPORT_SECONDS)
        return values

    def names(self) -> Sequence[str]:
        names: Sequence[str] = self._told("names", list)
        return names

    def _told(self, command: str, kind: type, seconds: float | None = None) -> Any:
        """What a command gives that changes nothing."""
        text = self._read(command, seconds)
        told = read_answer(text)
        if not isinstance(told, kind):
            raise EngineFailure(f"the guest's memory is damaged: its {command} are something else")
        return told

    def members(self, path: Sequence[str]) -> Sequence[str]:
        text = self._read("members", list(path), seconds=MEMBER_SECONDS)
        names: Sequence[str] = read_answer(text)
        return names

    def _read(self, *command: Any, seconds: float | None = None) -> str:
        """Run a command that changes nothing; what it leaves in memory is undone, too.

        So the next image does not differ by it, and a realm goes on as one restored would.
        """
        if not self._touched:
            return self._trusted(*command, seconds=seconds)
        kept, before = self._copy, self._passing_copy()
        text = self._trusted(*command, seconds=seconds, before=before)
        if before.size == self.guest.memory_bytes:
            self.guest.load(before)
            self._copy = kept
        elif self.running is None:
            self.restore(before)  # memory has grown, which no instance can undo
        return text

    def load(self, values: Mapping[str, Any]) -> None:
        self._touched = True
        self._trusted("load", dict(values))

    def _before(self) -> Heap:
        """What the guest's memory is now."""
        if not self._touched:
            return self.base.heap
        return self._copy or self._keep(self._new_copy())

    def _passing_copy(self) -> Heap:
        """What the guest's memory is now, until this thread makes another such copy."""
        return self.guest.heap(_scratch.take(self.guest.memory_bytes))

    def _new_copy(self) -> Heap:
        # A cell that is running may still be taken back to the copy made before it.
        return self.guest.heap(self._spare if self.running is None else None)

    def _keep(self, heap: Heap) -> Heap:
        self._copy = heap
        self._spare = heap.memory if isinstance(heap.memory, bytearray) else None
        return heap

    def close(self) -> None:
        instance = self.guest.release()
        if instance is None:
            return
        if instance.memory_bytes > self.base.heap.size:  # no realm could begin with it
            instance.close()
        else:
            spares.give(instance)

    def runs(self, cell: str | None) -> None:
        """Note the name of the cell that runs; `None` once it has ended."""
        self.running = cell

    def restore(self, heap: Heap) -> None:
        """Go on in a new instance with an earlier state."""
        self.guest.close()
        self.running = None
        self.guest = self._new_guest(heap)
        if self._bridges is not None:
            self._bound = ""
            self._offer(self._bridges, undo=False)

    def _new_guest(self, heap: Heap) -> Guest:
        guest = Guest(self.limits.memory_bytes, spares.take(heap.size))
        guest.resolve_module = self.modules.resolve
        guest.load_module = self.modules.load
        self.modules.clock = guest
        guest.load(heap)
        return guest

    def dispatch(self, *command: Any) -> str:
        """Run a command of the kernel.

        Raises:
            Trapped: The instance was stopped.
            OutOfRoom: The kernel itself failed, for lack of memory or, if the guest is
                `interrupted`, of time.
        """
        self._copy = None
        guest = self.guest
        argument = guest.new_string(json.dumps(command, separators=(",", ":")))
        try:
            status, handle = guest.invoke(self.base.dispatch, argument)
            text = guest.string(handle) if status == STATUS_OK else None
            guest.free(handle)
        finally:
            guest.free(argument)
        if status != STATUS_OK:
            raise OutOfRoom(f"the kernel could not {command[0]}")
        return text or ""

    def _trusted(
        self,
        *command: Any,
        undo: bool = True,
        seconds: float | None = None,
        before: Heap | None = None,
    ) -> str:
        """Run a command outside a cell; code of the guest may still run in it."""
        guest = self.guest
        if before is None:
            before = self._before() if undo else self.base.heap
        with guest.runtime.ticker:
            guest.set_time(seconds or self.limits.cpu_seconds or _KERNEL_SECONDS)
            try:
                return self.dispatch(*command)
            except (Trapped, OutOfRoom) as error:
                if undo:
                    self.restore(before)
                raise EngineFailure(f"the guest was stopped while it did {command[0]!r}") from error


class _Scratch(threading.local):
    """Memory for copies that are looked through and thrown away; fresh memory costs more."""

    memory: bytearray | None = None

    def take(self, size: int) -> bytearray | None:
        """Memory of that size, to be used before anything else is taken in this thread."""
        if size > _MAX_SCRATCH:
            return None
        if self.memory is None or len(self.memory) != size:
            self.memory = bytearray(size)
        return self.memory


_scratch = _Scratch()


def _state_of(image: Image, base: Base, limits: Limits) -> _State:
    if image.engine != QuickJSEngine.name:
        raise ImageError(f"the image is of engine {image.engine!r}, not {QuickJSEngine.name!r}")
    if image.base != base.id:
        raise ImageError("the image was made by another build of the engine or its plugins")
    from interpstack_quickjs.heap.images import unpack

    heap, extra = unpack(image.data, base.heap, limits.memory_bytes or MAX_MEMORY)
    cell, bound = extra.get("cell"), str(extra.get("bound", ""))
    if cell is not None and not isinstance(cell, str):
        raise ImageError("the image is damaged: its cell has no name")
    try:
        return _State(heap, cell, ModuleTable(extra.get("modules", "")), bound)
    except (ValueError, TypeError) as error:
        raise ImageError(f"the image is damaged: {error}") from error
