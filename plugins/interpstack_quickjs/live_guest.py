"""The guest of one realm: its commands, the copies of its memory, and its replacement."""

from __future__ import annotations

import json
import threading
from functools import partial
from typing import Any, Final

from interpstack import BridgeSet, EngineFailure, Image, Limits
from interpstack_javascript.cells import ENDLESS
from interpstack_javascript.exchange import bind_arguments
from interpstack_javascript.modules import ModuleTable
from interpstack_quickjs.guest import STATUS_OK, Guest, from_column_one
from interpstack_quickjs.guest_memory import Heap, OutOfRoom
from interpstack_quickjs.heap.base import Base
from interpstack_quickjs.heap.bound import bound_heaps, offer_digest
from interpstack_quickjs.states import ENGINE, QuickJSState, state_of
from interpstack_quickjs.webassembly.instance import spares
from interpstack_quickjs.webassembly.machine import Trapped
from interpstack_quickjs.webassembly.templates import template_of

__all__ = ["LiveGuest"]

#: Seconds to tell the guest what is offered, which takes milliseconds; a guest can put code of
#: its own in the way.
_BIND_SECONDS: Final = 1.0
#: Seconds for other commands, where cells have no limit.
_KERNEL_SECONDS: Final = 30.0
#: Bytes of the largest image that is returned again while the state is the same.
_MAX_REPEATED: Final = 2**16
#: Size in bytes of the largest memory that is reserved for the next copy.
_MAX_SCRATCH: Final = 16 * 2**20
#: From the start of the list `printed` to the number of its output.
_OUTPUT_NUMBER: Final = 16
_to_json: Final = json.JSONEncoder(separators=(",", ":")).encode


class LiveGuest:
    """One instance of the guest; an instance that was stopped in the middle is replaced.

    Args:
        base: The heap that the guest began with, and its functions.
        limits: Limits of each cell.
        state: State that the guest takes up.

    Attributes:
        guest: The instance.
        modules: Modules that the guest may import.
        running: Name of the cell that runs; `None` between cells.
    """

    def __init__(self, base: Base, limits: Limits, state: QuickJSState) -> None:
        self.base = base
        self.limits = limits
        self.modules = state.modules
        self.running: str | None = state.cell
        self.bridges: BridgeSet | None = None
        self._bound = state.bound
        self.guest = self._new_guest(state.heap)
        self._touched = not state.is_fresh
        #: A copy that is no longer needed.
        self._spare: Heap | None = None
        #: What the guest's memory still is; every command ends that.
        self._copy: Heap | None = state.heap
        #: What the guest's memory is to be again before the guest is used; see `read`.
        self._undone: Heap | None = None
        #: The last image, with the memory and the extra data that it was made of.
        self._imaged: tuple[Heap, dict[str, Any], Image] | None = None

    def close(self) -> None:
        """Free the instance, or give it to the next realm. Closing twice is allowed."""
        instance = self.guest.release()
        self.modules.keep_time_by(ENDLESS)  # the guest and its modules refer to each other
        self._copy = self._spare = self._undone = self._imaged = None
        if instance is None:
            return
        if instance.memory_bytes > self.base.heap.size:  # no realm could begin with it
            instance.close()
        else:
            spares.give(instance)

    def runs(self, cell: str | None) -> None:
        """Set the name of the running cell, or `None` when it has ended."""
        self.running = cell

    def taken_output(self) -> int:
        """Return the number of the console output in memory that the host has; 0 if it has none.

        The kernel leaves output where it is until the guest prints again; see `printed.py`.
        """
        number = int.from_bytes(self.guest.read(self.base.printed + _OUTPUT_NUMBER, 4), "little")
        return number if number & 1 else 0

    # -- bridges on offer ------------------------------------------------------------------

    def bind(self, bridges: BridgeSet) -> None:
        """Pass the names of bridges and the limits to the guest."""
        first, self.bridges = self.bridges is None, bridges
        new = self._offer(bridges, undo=not first)  # there is nothing to go back to at first
        if first and new and not self._touched:
            bound_heaps.note(self.base, self._bound, self._differences)

    def _offer(self, bridges: BridgeSet, undo: bool) -> bool:
        """Offer the bridges to the guest; False if the guest already has this offer."""
        bound = offer_digest(bridges, self.limits)
        if bound == self._bound:
            return False
        arguments = bind_arguments(bridges, self.limits)
        seconds = min(_BIND_SECONDS, self.limits.cpu_seconds or _BIND_SECONDS)
        self._trusted("bind", *arguments, undo=undo, seconds=seconds)
        self._bound = bound
        return True

    # -- commands --------------------------------------------------------------------------

    def dispatch(self, *command: Any) -> str:
        """Run a command of the kernel.

        Raises:
            Trapped: The instance was stopped.
            OutOfRoom: The kernel itself failed, for lack of memory or, if the guest is
                `interrupted`, of time.
        """
        self._catch_up()
        self._copy = None
        guest = self.guest
        status, text = guest.ask(self.base.dispatch, _to_json(command))
        if status != STATUS_OK:
            raise OutOfRoom(f"the kernel could not {command[0]}")
        return text or ""

    def read(self, *command: Any, seconds: float | None = None) -> str:
        """Run a command that changes no variable, and undo all its changes to the memory.

        So the next image has no such traces, and a live realm behaves exactly like a restored one.
        Between cells, that waits until the guest is used again.
        """
        if not self._touched:
            return self._trusted(*command, seconds=seconds)
        before = self._before()
        text = self._trusted(*command, seconds=seconds, before=before)
        if before.size == self.guest.memory_bytes:
            if self.running is None:
                self._undone = before
            else:
                self.guest.load(before)
            self._copy = before
        elif self.running is None:
            self.restore(before)  # memory has grown, which no instance can undo
        return text

    def _catch_up(self) -> None:
        """Undo the traces of the last `read`, as far as that has waited."""
        heap, self._undone = self._undone, None
        if heap is not None:
            self.guest.load(heap)

    def change(self, *command: Any) -> None:
        """Run a command that changes the state, outside a cell."""
        self._touched = True
        self._trusted(*command)

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

    # -- copies of the memory --------------------------------------------------------------

    def start(self) -> Heap:
        """A copy of the guest's memory before a cell."""
        self._catch_up()
        before = self._before()
        self._touched = True
        return before

    def heap_of(self, image: Image | None) -> Heap:
        """The memory in an image, or the guest's current memory if there is no image."""
        self._catch_up()
        if image is None:
            return self.guest.written_heap()
        return state_of(image, self.base, self.limits).heap

    def image(self) -> Image:
        """The whole state as an image, the same one as long as nothing has changed.

        A state that was just stored is often hibernated next.
        """
        from interpstack_quickjs.heap.images import pack

        extra = {"cell": self.running, "modules": self.modules.dump(), "bound": self._bound}
        extra = {key: value for key, value in extra.items() if value}
        if self._imaged is not None:
            heap, beside, image = self._imaged
            if heap is self._copy and beside == extra:
                return image
        self._copy = heap = self._scanned()
        image = Image(ENGINE, self.base.id, pack(heap, self.base.heap, extra))
        self._imaged = (heap, extra, image) if len(image.data) <= _MAX_REPEATED else None
        return image

    def _scanned(self) -> Heap:
        """The guest's memory without its free blocks, as the differences from the base heap."""
        from interpstack_quickjs.heap.images import compared
        from interpstack_quickjs.heap.scan import scanned

        self._catch_up()
        heap = scanned(self.guest, self.base)
        if heap is None:
            heap = self._passing_copy()
            if isinstance(heap.memory, bytearray):
                self.base.wipe(heap.memory)
            heap = compared(heap, self.base.heap)
        return heap

    def _differences(self) -> Heap:
        """The guest's memory as the differences from the base heap."""
        from interpstack_quickjs.heap.images import compared

        return compared(self._passing_copy(), self.base.heap)

    def restore(self, heap: Heap) -> None:
        """Continue in a new instance with an earlier state."""
        self.guest.close()
        self.running = self._undone = None
        self.guest = self._new_guest(heap)
        if self.bridges is not None:
            self._bound = ""
            self._offer(self.bridges, undo=False)

    def _before(self) -> Heap:
        """A copy of the guest's current memory."""
        if not self._touched:
            return self.base.heap
        return self._copy or self._keep(self._new_copy())

    def _passing_copy(self) -> Heap:
        """A copy of the guest's current memory, valid until this thread makes another such copy."""
        return self.guest.heap(_scratch.take(self.guest.memory_bytes))

    def _new_copy(self) -> Heap:
        # A cell that is running may still be taken back to the copy made before it.
        return self.guest.written_heap(self._spare if self.running is None else None)

    def _keep(self, heap: Heap) -> Heap:
        self._copy = self._spare = heap
        return heap

    def _new_guest(self, heap: Heap) -> Guest:
        guest = Guest(self.limits.memory_bytes, spares.take(heap.size, template_of(heap.memory)))
        guest.resolve_module = self.modules.resolve
        guest.load_module = partial(_module, self.modules)  # no cycle: guests are large
        guest.answer = _answer
        self.modules.keep_time_by(guest)
        guest.load(heap)
        return guest


def _answer(guest: Guest, text: str) -> str:
    """What the plugin `intl` asks for a guest, the only one that asks."""
    from interpstack_quickjs.formatters import format_for  # loaded where `Intl` is used

    return format_for(guest, text)


def _module(modules: ModuleTable, name: str) -> str | None:
    source = modules.load(name)
    from interpstack_javascript.mended import mended_module  # loads the parser

    return None if source is None else from_column_one(mended_module(source, modules.clock))


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
