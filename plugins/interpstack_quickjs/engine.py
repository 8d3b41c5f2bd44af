"""The engine and its realms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

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
from interpstack.guests.javascript.modules import ModuleTable
from interpstack_quickjs.base import Base, base_heaps
from interpstack_quickjs.execution import MAX_MEMORY, QuickJSExecution
from interpstack_quickjs.guest import (
    STATUS_OK,
    Guest,
    Heap,
    OutOfRoom,
    Trapped,
)

__all__ = ["QuickJSEngine"]

#: Seconds that code of the guest, such as `toJSON`, may take while its values are exported.
_EXPORT_SECONDS: Final = 0.5
_LANGUAGES: Final = ("javascript", "typescript")


class QuickJSEngine(Engine):
    """QuickJS in WebAssembly: the default engine, safe for untrusted code."""

    name: ClassVar[str] = "quickjs"
    language: ClassVar[str] = "javascript"
    isolation: ClassVar[Isolation] = Isolation.WASM
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability)

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Realm:
        base = base_heaps.get(bridges.sources_for(self.language))
        if image is None:
            realm = QuickJSRealm(base, limits, base.heap, None, ModuleTable())
        else:
            realm = QuickJSRealm(base, limits, *_heap_of(image, base, limits))
        realm.bind(bridges)
        return realm


class QuickJSRealm(Realm):
    """One instance of the guest, replaced by another when it is stopped in the middle."""

    def __init__(
        self, base: Base, limits: Limits, heap: Heap, cell: str | None, modules: ModuleTable
    ) -> None:
        self.base = base
        self.limits = limits
        self._bridges: BridgeSet | None = None
        self._suspended = cell
        self.running: str | None = cell
        self.modules = modules
        self.guest = self._new_guest(heap)
        self._touched = heap is not base.heap
        #: Memory of a copy that nobody needs any more.
        self._spare: bytearray | None = None
        #: What the guest's memory still is; every command ends that.
        self._copy: Heap | None = None

    def bind(self, bridges: BridgeSet) -> None:
        first, self._bridges = self._bridges is None, bridges
        self._offer(bridges, undo=not first)  # there is nothing to go back to at first

    def _offer(self, bridges: BridgeSet, undo: bool) -> None:
        offered = [[bridge.name, bridge.awaited] for bridge in bridges if not bridge.hidden]
        shown = max(8192, 2 * self.limits.result_chars)
        given = {
            "consoleChars": self.limits.console_chars,
            "valueChars": self.limits.value_bytes,
            "renderChars": shown,
            "timers": self.limits.timers,
            "requests": self.limits.requests,
        }
        self._trusted("bind", offered, given, undo=undo)

    def start(self, cell: Cell) -> Execution:
        if cell.language is not None and cell.language not in _LANGUAGES:
            raise ConfigurationError(
                f"engine 'quickjs' runs {' and '.join(_LANGUAGES)}, not {cell.language!r}"
            )
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
        return _heap_of(image, self.base, self.limits)[0]

    def image(self) -> Image:
        from interpstack_quickjs.images import pack

        extra = {"cell": self.running, "modules": self.modules.dump()}
        extra = {key: value for key, value in extra.items() if value}
        heap = self._new_copy()
        if isinstance(heap.memory, bytearray):
            self.base.wipe(heap.memory)
        self._keep(heap)
        data = pack(heap, self.base.heap, extra)
        return Image(QuickJSEngine.name, self.base.id, data)

    def values(self) -> Mapping[str, Any]:
        values: Mapping[str, Any] = json.loads(self._read("values", seconds=_EXPORT_SECONDS))
        return values

    def names(self) -> Sequence[str]:
        names: Sequence[str] = json.loads(self._read("names"))
        return names

    def _read(self, command: str, seconds: float | None = None) -> str:
        """Run a command that changes nothing; what it leaves in memory is undone, too.

        So the next image does not differ by it, and a realm goes on as one restored would.
        """
        before = self._before()
        text = self._trusted(command, seconds=seconds)
        if not self._touched:
            return text
        if before.size == self.guest.memory_bytes:
            self.guest.load(before)
            self._copy = before
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

    def _new_copy(self) -> Heap:
        # A cell that is running may still be taken back to the copy made before it.
        return self.guest.heap(self._spare if self.running is None else None)

    def _keep(self, heap: Heap) -> Heap:
        self._copy = heap
        self._spare = heap.memory if isinstance(heap.memory, bytearray) else None
        return heap

    @property
    def weight_bytes(self) -> int:
        return self.guest.memory_bytes

    def close(self) -> None:
        self.guest.close()

    def restore(self, heap: Heap) -> None:
        """Go on in a new instance with an earlier state."""
        self.guest.close()
        self.running = None
        self.guest = self._new_guest(heap)
        if self._bridges is not None:
            self._offer(self._bridges, undo=False)

    def _new_guest(self, heap: Heap) -> Guest:
        guest = Guest(self.limits.memory_bytes)
        guest.resolve_module = self.modules.resolve
        guest.load_module = self.modules.load
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

    def _trusted(self, *command: Any, undo: bool = True, seconds: float | None = None) -> str:
        """Run a command outside a cell; code of the guest may still run in it."""
        guest = self.guest
        before = self._before() if undo else self.base.heap
        with guest.runtime.ticker:
            guest.set_time(seconds or self.limits.cpu_seconds)
            try:
                return self.dispatch(*command)
            except (Trapped, OutOfRoom) as error:
                if undo:
                    self.restore(before)
                raise EngineFailure(f"the guest was stopped while it did {command[0]!r}") from error


def _heap_of(image: Image, base: Base, limits: Limits) -> tuple[Heap, str | None, ModuleTable]:
    if image.engine != QuickJSEngine.name:
        raise ImageError(f"the image is of engine {image.engine!r}, not {QuickJSEngine.name!r}")
    if image.base != base.id:
        raise ImageError("the image was made by another build of the engine or its plugins")
    from interpstack_quickjs.images import unpack

    heap, extra = unpack(image.data, base.heap, limits.memory_bytes or MAX_MEMORY)
    cell = extra.get("cell")
    if cell is not None and not isinstance(cell, str):
        raise ImageError("the image is damaged: its cell has no name")
    try:
        return heap, cell, ModuleTable(extra.get("modules", ""))
    except (ValueError, TypeError) as error:
        raise ImageError(f"the image is damaged: {error}") from error
