"""Node processes that find and read modules, so that kernels need not open files.

Node itself resolves what a specifier means. Such a process runs no code of guests or packages, and
reads the named folders alone: by Node's permissions, and in a sandbox where the machine has one.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Generator, Sequence
from typing import Final

import attrs

from interpstack import EngineFailure
from interpstack_node.kernels.process import KernelDied, KernelProcess
from interpstack_node.kernels.programs import Programs
from interpstack_node.kernels.starting.launch import KernelConfig
from interpstack_node.kernels.waiting import KernelWait
from interpstack_node.modules.places import Places

__all__ = ["Resolvers"]

#: Processes at once. One answers many kernels, a question after the other.
_MOST: Final = 2
#: Bytes of its heap, in which Node remembers what it was asked.
_MEMORY_BYTES: Final = 256 * 2**20
#: Seconds of computing for one question.
_SECONDS: Final = 20.0
#: Processes that one question may use up: some have an old view of the folders.
_ATTEMPTS: Final = 4
_OLD: Final = "null"

_Answer = Generator[KernelWait | None, None, str]


class Resolvers:
    """The processes of one engine that find and read modules; none before it is needed.

    Args:
        places: The folders.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._config: KernelConfig | None = None
        # A finalizer may run in the middle of anything, also in a thread that holds this.
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._free: list[KernelProcess] = []
        self._busy = 0
        self._closed = False

    def start_like(self, kernel: KernelConfig, *, requires_modules: bool) -> None:
        """Have processes started as kernels are, but with the folders in place of their files.

        Args:
            kernel: The start of kernels.
            requires_modules: Whether kernels can require what is written as a module.
        """
        if self._config is not None:
            return
        places, working = self._places, self._places.working
        setup = {
            "packages": [str(one) for one in places.packages],
            "roots": [str(one) for one in places.roots],
            "working": None if working is None else str(working),
        }
        flags = ["--experimental-import-meta-resolve"]
        if not requires_modules:  # else `require` finds modules by the condition `module-sync`
            flags.append("--no-experimental-require-module")
        self._config = attrs.evolve(
            kernel,
            memory_bytes=_MEMORY_BYTES,
            readable=places.readable,
            scratch=False,
            network=False,
            allows_network_by_flag=False,
            flags=tuple(flags),
            programs=Programs(setup, "resolver.js"),
        )

    def ask(self, question: Sequence[str]) -> _Answer:
        """The answer to one question as JSON, as `resolver.js` gives it.

        Args:
            question: Its kind, the address of the importing file, a name.

        Yields:
            What to wait for; `None` for a moment, while all processes are busy.
        """
        why = "the folders keep changing"
        for _ in range(_ATTEMPTS):
            while not self._begin():
                yield None
            resolver: KernelProcess | None = None
            try:
                resolver = self._taken()
                yield from resolver.starting()
                answer = yield from resolver.talk(["answer", *question], _SECONDS)
                text = "".join(answer.drained)
                if text != _OLD:
                    return text
                resolver.close()
            except (KernelDied, EngineFailure) as error:
                why = str(error)
            finally:
                self._end(resolver)
        message = f"no modules can be found: {why}"
        return json.dumps({"code": "ERR_MODULE_NOT_FOUND", "message": message})

    def close(self) -> None:
        """End the processes, those that answer a question with their answer."""
        with self._lock:
            self._closed = True
            free, self._free = self._free, []
        for resolver in free:
            resolver.close()

    def _begin(self) -> bool:
        """Whether a question may take a process; `_end` follows."""
        with self._lock:
            if self._pid != os.getpid():  # after a fork, they are the parent's
                self._pid, self._free, self._busy = os.getpid(), [], 0
            if self._busy >= _MOST:
                return False
            self._busy += 1
            return True

    def _taken(self) -> KernelProcess:
        """A process that answers no other question; a new one is not started yet.

        Raises:
            EngineFailure: None can be begun.
        """
        while True:
            with self._lock:
                found = self._free.pop() if self._free else None
            if found is not None and found.alive:
                return found
            if found is None and self._config is not None:
                return KernelProcess(self._config)
            if found is None:
                raise EngineFailure("no session was opened")

    def _end(self, resolver: KernelProcess | None) -> None:
        with self._lock:
            self._busy -= 1
            if resolver is None:
                return
            if resolver.alive and resolver.is_started and not self._closed:
                self._free.append(resolver)
                return
        resolver.close()
