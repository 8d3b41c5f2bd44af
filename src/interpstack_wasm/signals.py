"""The signals by which wasmtime learns that a guest cannot go on.

Where code of WebAssembly leaves its stack or its memory, or divides by zero, the processor raises a
signal, of which wasmtime's handler makes an error. Wasmtime installs its handlers once, with the
first engine of the process. Whoever installs others later, as `faulthandler.enable()` does, would
let any guest that recurses without end also end the process.
"""

from __future__ import annotations

import ctypes
import logging
import signal
import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = ["TrapSignals"]

_T = TypeVar("_T")

_log = logging.getLogger(__name__)
#: Signals for which wasmtime has handlers on Linux. Elsewhere it uses other means than signals.
_NUMBERS: Final = (signal.SIGILL, signal.SIGSEGV, signal.SIGFPE) if sys.platform == "linux" else ()
#: The function of the C library, which keeps the interpreter's lock: threads share what it fills.
_sigaction: Any = ctypes.PyDLL(None).sigaction if _NUMBERS else None
#: At least the bytes of a `struct sigaction`, which begins with the handler's address.
_ACTION_BYTES: Final = 256


class _Handler:
    """The handler of a signal, as it was installed, and a place to look at the one that is now.

    Attributes:
        number: The signal.
        address: Of the handler; `None` for the default.
    """

    __slots__ = ("_action", "_at", "_seen", "address", "number")

    def __init__(self, number: signal.Signals) -> None:
        self.number = number
        self._action = ctypes.create_string_buffer(_ACTION_BYTES)
        _sigaction(number, None, self._action)
        self.address: int | None = ctypes.c_void_p.from_buffer(self._action).value
        self._seen = ctypes.create_string_buffer(_ACTION_BYTES)
        self._at = ctypes.c_void_p.from_buffer(self._seen)

    def put_back(self) -> bool:
        """Install the handler again, unless it is installed; tell whether it was not."""
        _sigaction(self.number, None, self._seen)
        if self._at.value == self.address:
            return False
        _sigaction(self.number, self._action, None)
        return True


class TrapSignals:
    """Wasmtime's handlers, which are put back where other code has replaced them."""

    def __init__(self) -> None:
        self._kept: list[_Handler] = []
        self._told = False

    def made(self, make: Callable[[], _T]) -> _T:
        """Make wasmtime's first engine of the process, and remember the handlers that came.

        If none came, since other code of the process had made an engine before, those that are
        there are remembered.
        """
        before = [_Handler(number) for number in _NUMBERS]
        engine = make()
        after = [_Handler(number) for number in _NUMBERS]
        pairs = zip(before, after, strict=True)
        came = [new for old, new in pairs if old.address != new.address]
        self._kept = came or [one for one in after if one.address]
        return engine

    def keep(self) -> None:
        """Put wasmtime's handlers back; called before guests run, and takes 2 µs."""
        for handler in self._kept:
            if handler.put_back():
                self._tell(handler.number)

    def _tell(self, number: signal.Signals) -> None:
        if not self._told:
            self._told = True
            _log.warning(
                "other code of this process has replaced wasmtime's handler for %s, without which "
                "a guest could end the process; it was put back. Call faulthandler.enable() before "
                "the first engine is made to keep its traces of crashes",
                number.name,
            )
