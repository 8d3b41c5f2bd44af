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

import wasmtime

from interpstack_core import EngineFailure
from interpstack_quickjs.webassembly.raw_calls import export_of, raw_call
from interpstack_quickjs.webassembly.runtime import GuestRuntime
from interpstack_quickjs.webassembly.templates import Template
from interpstack_quickjs.webassembly.ticks import ask_each_tick

__all__ = ["Instance", "Spares", "spares"]


class Instance:
    """A store with one instance of the guest in it.

    Args:
        runtime: The objects that all instances share.

    Raises:
        EngineFailure: It cannot be made.
    """

    def __init__(self, runtime: GuestRuntime) -> None:
        self.store = wasmtime.Store(runtime.engine)
        self.store.set_epoch_deadline(10**9)
        ask_each_tick(self.store)
        try:
            instance = runtime.linker.instantiate(self.store, runtime.compiled.module)
        except (wasmtime.WasmtimeError, wasmtime.Trap) as error:
            told = runtime.host.explained(error)
            raise EngineFailure(f"the guest cannot be started: {told}") from error
        self._instance = instance
        self.memory: wasmtime.Memory = export_of(self.store, instance, "memory")
        self.stack_pointer: wasmtime.Global = export_of(self.store, instance, "__stack_pointer")
        self._functions: dict[str, Callable[..., int]] = {}
        self._narrow = runtime.host.narrow
        self._is_new = True
        #: What the memory is a view of, and where it is in this process.
        self._view: tuple[Template, int] | None = None
        self._was_reset = False

    @property
    def memory_bytes(self) -> int:
        return int(self.memory.data_len(self.store))

    def limit_memory(self, memory_bytes: int | None) -> None:
        """Set the size to which the memory may grow; `None` for the maximum of the format."""
        self.store.set_limits(memory_size=-1 if memory_bytes is None else memory_bytes)

    def function(self, name: str) -> Callable[..., int]:
        """An exported function."""
        found = self._functions.get(name)
        if found is None:
            found = self._functions[name] = raw_call(
                self.store, export_of(self.store, self._instance, name)
            )
        return found

    def host_address(self) -> int:
        """The address of the memory in this process, valid until the guest runs again."""
        return ctypes.addressof(self.memory.data_ptr(self.store).contents)

    def begin_with(self, template: Template) -> bool:
        """Make all of the memory a fresh view of a template; False if it has to be copied.

        Memory that the system has provided already is copied to faster than it is provided anew. So
        a view is reset once only: an instance that goes back more often, as that of a session with
        many evals, is copied to.

        Raises:
            EngineFailure: The system has no more memory; the instance is of no use any more.
        """
        is_new, self._is_new = self._is_new, False
        if self._narrow or self.memory_bytes != len(template.memory):
            return False
        address = self.host_address()
        try:
            if self._view == (template, address) and not self._was_reset:
                self._was_reset = True
                template.reset(address)
            elif is_new:
                template.map_over(address)
            else:
                return False
        except OSError as error:
            if error.errno == errno.ENOMEM:  # the memory from before may be gone, too
                raise EngineFailure(f"the guest cannot be started: {error}") from error
            return False
        self._view = (template, address)
        return True

    def wipe(self) -> None:
        """Overwrite the memory with zeros: nothing of one guest reaches the next."""
        self._view = None  # all of it is the instance's own now
        ctypes.memset(self.host_address(), 0, self.memory_bytes)

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

    def take(self, max_bytes: int) -> Instance | None:
        """One whose memory is not larger, if there is one."""
        with self._lock:
            for instance in self._waiting:
                if instance.memory_bytes <= max_bytes:
                    self._waiting.remove(instance)
                    return instance
        return None

    def give(self, instance: Instance) -> None:
        """Add an unused instance to the reserve, or close the instance."""
        if len(self._waiting) < self._bound:
            instance.wipe()
            with self._lock:
                if len(self._waiting) < self._bound:
                    self._waiting.append(instance)
                    return
        instance.close()


#: Those of this process: as many as realms may be opened at once.
spares = Spares(os.cpu_count() or 2)
