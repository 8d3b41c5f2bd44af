"""Runs the formatter of the plugin `intl`: polyfills of `Intl`, in a QuickJS apart from guests.

A formatter keeps nothing of a guest: its answer depends on the request alone. So each thread that
runs guests has one formatter for all of them. It runs on the time of the guest that asks, and a
formatter that was stopped in the middle, or has grown, is replaced by a new one.
"""

from __future__ import annotations

import hashlib
import json
import threading
from typing import Final

from interpstack import EngineFailure
from interpstack_quickjs.guest import STATUS_OK, Guest
from interpstack_quickjs.guest_memory import OutOfRoom
from interpstack_quickjs.heap.base import Base, built_base, call_function, stored_base
from interpstack_quickjs.webassembly.instance import spares
from interpstack_quickjs.webassembly.machine import CpuLimitReached, Machine, Trapped
from interpstack_quickjs.webassembly.runtime import guest_runtime
from interpstack_quickjs.webassembly.templates import template_of

__all__ = ["format_for"]

#: Bytes of memory that a formatter may have; it begins with less than 12 MiB.
_MEMORY_BYTES: Final = 96 * 2**20
#: A formatter that has grown beyond this is replaced: it has the data of many locales.
_MOST_KEPT: Final = 32 * 2**20
#: Characters of a request; a text that is to be cut into segments is the longest part of one.
_MOST_CHARS: Final = 2**20
#: Changes whenever the stored form of a fresh formatter changes.
_FORMAT: Final = "formatter 1"


class _Formatter(Guest):
    """One formatter.

    Args:
        base: The state that it begins with.
    """

    def __init__(self, base: Base) -> None:
        heap = base.heap
        super().__init__(_MEMORY_BYTES, spares.take(heap.size, template_of(heap.memory)))
        self._base = base
        self._asking: Machine | None = None
        self.answer = _data
        self.load(heap)

    def poll_interrupt(self) -> bool:
        asking = self._asking
        return super().poll_interrupt() or (asking is not None and asking.poll_interrupt())

    def format(self, text: str, guest: Machine) -> str:
        """The answer to a request, in the time that the guest has left.

        Raises:
            Trapped: The formatter was stopped.
            OutOfRoom: It has no more memory.
        """
        self._asking = guest
        self.set_time(guest.left())
        try:
            status, answer = self.ask(self._base.dispatch, text)
        finally:
            self._asking = None
        if status != STATUS_OK or answer is None or self.interrupted:
            raise OutOfRoom("the formatter was stopped")
        return answer


class _Local(threading.local):
    """The formatter of a thread."""

    formatter: _Formatter | None = None

    def taken(self) -> _Formatter:
        """The formatter, which is made on first use."""
        if self.formatter is None:
            self.formatter = _Formatter(_base())
        return self.formatter

    def drop(self) -> None:
        """Have the next use make a new one."""
        if self.formatter is not None:
            self.formatter.close()
        self.formatter = None


_local: Final = _Local()
_lock: Final = threading.Lock()
_bases: Final[list[Base]] = []


def format_for(guest: Machine, text: str) -> str:
    """The answer to what a guest asks, as JSON; also errors are answers."""
    if len(text) > _MOST_CHARS:
        return _error(f"Intl takes {_MOST_CHARS} characters at once, and got {len(text)}")
    try:
        formatter = _local.taken()
        answer = formatter.format(text, guest)
    except (Trapped, OutOfRoom, CpuLimitReached) as error:
        _local.drop()
        guest.poll_interrupt()  # ends the cell if the guest has no time left
        return _error(f"Intl was stopped: {error}")
    if formatter.memory_bytes > _MOST_KEPT:
        _local.drop()
    return answer


def _error(message: str) -> str:
    return json.dumps({"error": ["RangeError", message]})


def _data(guest: Machine, key: str) -> str:
    """The texts that a formatter asks for."""
    from interpstack_intl.api import locale_data

    return locale_data().text(key)


def _base() -> Base:
    """The state of a fresh formatter; made once a process, or loaded from the cache."""
    with _lock:
        if not _bases:
            from interpstack_intl.api import formatter_source, locale_data

            digest, compiled = locale_data().digest, guest_runtime().compiled
            parts = (_FORMAT, compiled.source_hash, formatter_source(), digest)
            key = hashlib.sha256("\0\0".join(parts).encode()).hexdigest()
            _bases.append(stored_base(f"formatter-{key[:32]}.bin", _build))
        return _bases[0]


def _build() -> Base:
    from interpstack_intl.api import formatter_source

    guest = Guest(_MEMORY_BYTES)
    guest.answer = _data
    try:
        source = f"export default {formatter_source()}"
        formatter = call_function(guest, guest.evaluate_module(source, "interpstack:formatter"))
        call_function(guest, guest.get(formatter, "begin"), guest.host_function("fetch"))
        return built_base(guest, guest.get(formatter, "answer"))
    except EngineFailure as error:
        raise EngineFailure(f"the formatter of the plugin intl does not start: {error}") from error
    finally:
        guest.close()
