"""WebAssembly instances of guests, and a reserve of instances for new guests.

A new instance needs fresh memory from the system, page by page, which takes longer than the rest of
opening a realm. So an instance whose realm was closed is wiped and used for the next realm.
"""

from __future__ import annotations

import ctypes
import errno
import os
import threading
from collections import deque
from collections.abc import Callable
from itertools import chain
from typing import Final

import wasmtime

from interpstack import EngineFailure
from interpstack_quickjs.webassembly.bundles import BRIEF, BUNDLES, bundles_of
from interpstack_quickjs.webassembly.raw_calls import (
    export_of,
    global_reader,
    memory_place,
    raw_call,
)
from interpstack_quickjs.webassembly.runtime import GuestRuntime
from interpstack_quickjs.webassembly.templates import TEMPLATES, Template
from interpstack_quickjs.webassembly.ticks import ask_each_tick
from interpstack_wasm.stores import WasmStore

__all__ = ["Instance", "Spares", "spares"]


#: Instances in reserve for each core, where one holds little memory, as a view of a template: about
#: as many as realms are opened, at most, before others are closed.
_PER_CORE: Final = 16 if TEMPLATES else 1

#: Written pages that an instance in reserve keeps: to provide one takes longer than to copy it.
_MOST_KEPT: Final = 256


class Instance:
    """A store with one instance of the guest in it.

    Args:
        runtime: The objects that all instances share.

    Raises:
        EngineFailure: It cannot be made.
    """

    def __init__(self, runtime: GuestRuntime) -> None:
        self.store = WasmStore(runtime.engine)
        self.store.set_epoch_deadline(10**9)
        ask_each_tick(self.store)
        try:
            instance = runtime.linker.instantiate(self.store, runtime.compiled.module)
        except (wasmtime.WasmtimeError, wasmtime.Trap) as error:
            reason = runtime.host.explained(error)
            raise EngineFailure(f"the guest cannot be started: {reason}") from error
        self._instance = instance
        # One of them is called by QuickJS itself.
        self._bundles = bundles_of(self.store, lambda name: export_of(self.store, instance, name))
        self.memory: wasmtime.Memory = export_of(self.store, instance, "memory")
        #: The address of the memory in this process, valid until the guest runs again; its size.
        self.host_address, self._size = memory_place(self.store, self.memory)
        self.stack_pointer: wasmtime.Global = export_of(self.store, instance, "__stack_pointer")
        #: The guest's own stack pointer.
        self.stack = global_reader(self.store, self.stack_pointer)
        self._functions: dict[str, Callable[..., int]] = {}
        self._narrow = runtime.host.narrow
        self._is_new = True
        #: What the memory is a view of, and where it is in this process.
        self._view: tuple[Template, int] | None = None
        self._was_reset = False
        self._limit: int | None = -1
        self._ticks = False
        #: Whether the memory still is what its template holds.
        self._is_clean = False

    @property
    def memory_bytes(self) -> int:
        return self._size()

    def tick_from_now_on(self) -> None:
        """Have each tick ask whether to continue; see `ask_each_tick`.

        Once is enough: each answer is for the time up to the next tick.
        """
        if not self._ticks:
            self._ticks = True
            self.store.set_epoch_deadline(1)

    def limit_memory(self, memory_bytes: int | None) -> None:
        """Set the size to which the memory may grow; `None` for the maximum of the format."""
        if memory_bytes != self._limit:
            self.store.set_limits(memory_size=-1 if memory_bytes is None else memory_bytes)
            self._limit = memory_bytes

    def function(self, name: str) -> Callable[..., int]:
        """An exported function, or a bundle of several."""
        found = self._functions.get(name)
        if found is None:
            owner = self._bundles if name in BUNDLES else self._instance
            export = export_of(self.store, owner, name)
            found = raw_call(self.store, export, brief=name in BRIEF)
            self._functions[name] = found
        return found

    def begin_with(self, template: Template | None) -> bool:
        """Make the memory a template's content, and zeros behind; False if it has to be copied.

        Called before each use of the instance, also with no template.

        Memory that the system has provided already is copied to faster than it is provided anew. So
        where the written pages are not known, a view is reset once only: an instance that goes back
        more often, as that of a session with many evals, is copied to.

        Raises:
            EngineFailure: The system has no more memory; the instance is of no use any more.
        """
        is_new, self._is_new = self._is_new, False
        is_clean, self._is_clean = self._is_clean, False
        if template is None or self._narrow or self.memory_bytes < len(template.memory):
            return False
        address = self.host_address()
        if self._view == (template, address):
            written = None if is_clean else template.written(address, self.memory_bytes)
            if written is not None:
                template.put_back(address, written)
            if is_clean or written is not None:
                return True
        try:
            if is_new or is_clean:
                template.map_over(address)
            elif self._view == (template, address) and not self._was_reset:
                self._was_reset = True
                template.reset(address, self.memory_bytes)
            else:
                return False
        except OSError as error:
            if error.errno == errno.ENOMEM:  # the memory from before may be gone, too
                raise EngineFailure(f"the guest cannot be started: {error}") from error
            return False
        self._view = (template, address)
        return True

    def wipe(self) -> None:
        """Discard what the guest has written: nothing of one guest reaches the next."""
        if self._is_view_again():
            self._is_clean, self._was_reset = True, False
            return
        self._view = None  # all of it is the instance's own now
        ctypes.memset(self.host_address(), 0, self.memory_bytes)

    def _is_view_again(self) -> bool:
        """Make the memory what its template holds, if it is a view."""
        view = self._current_view()
        if view is None:
            return False
        template, address = view
        written = template.written(address, self.memory_bytes)
        if written is not None and written.count(1) <= _MOST_KEPT:
            template.put_back(address, written)
            return True
        try:
            template.reset(address, self.memory_bytes)
        except OSError:
            return False
        return True

    def is_view_of(self, template: Template | None) -> bool:
        """Whether the memory is a view of this template."""
        return self._view is not None and self._view[0] is template

    def written(self, start: int = 0) -> tuple[Template, bytes] | None:
        """The template of the memory, and a byte for each page, 0 if the page is as it began.

        `None` if that is not known.

        Args:
            start: Where the part of interest starts; the pages before it are not looked at.
        """
        view = self._current_view()
        written = None if view is None else view[0].written(view[1], self.memory_bytes, start)
        return None if view is None or written is None else (view[0], written)

    def _current_view(self) -> tuple[Template, int] | None:
        """The template and the address, unless the memory has moved since."""
        if self._view is None or self._view[1] != self.host_address():
            return None
        return self._view

    def close(self) -> None:
        self.store.close()


class Spares:
    """Instances that are wiped and wait for a realm.

    Args:
        bound: The number of instances in reserve.
    """

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._waiting: deque[Instance] = deque()
        self._lock = threading.Lock()

    def take(self, max_bytes: int, template: Template | None = None) -> Instance | None:
        """One whose memory is not larger, if there is one; rather a view of this template."""
        with self._lock:
            # The newest first: more of its memory is still in the processor's caches.
            fitting = (one for one in reversed(self._waiting) if one.memory_bytes <= max_bytes)
            newest = next(fitting, None)
            if newest is None:
                return None
            found = next(
                (one for one in chain((newest,), fitting) if one.is_view_of(template)), newest
            )
            self._waiting.remove(found)
            return found

    def give(self, instance: Instance) -> None:
        """Add an unused instance to the reserve, or close the instance."""
        if len(self._waiting) < self._bound:
            instance.wipe()
            with self._lock:
                if len(self._waiting) < self._bound:
                    self._waiting.append(instance)
                    return
        instance.close()


#: Those of this process: more than realms are opened at once, since some are closed meanwhile.
spares = Spares(_PER_CORE * (os.cpu_count() or 2))
