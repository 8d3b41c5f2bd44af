"""Monty's worker processes, and the means to stop one while it works."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import pydantic_monty
from pydantic_monty._binary import find_monty_binary

from interpstack import EngineFailure, Limits

__all__ = [
    "EMIT",
    "RESERVED",
    "TRUSTED_SECONDS",
    "KernelReplaced",
    "MontyWorker",
    "Workers",
    "kernel_source",
]

#: How the kernel's own globals begin.
RESERVED: Final = "__interpstack_"
#: The host function that the kernel calls for every bridge.
EMIT: Final = f"{RESERVED}emit__"
#: Seconds that a turn of the host's own may take, such as bringing values in or out.
TRUSTED_SECONDS: Final = 5.0
#: Workers that waiting cells may hold; further waiting cells return theirs.
_WAITING: Final = 16
#: Worker processes at once, including the ones in which guests run.
_PROCESSES: Final = _WAITING + 4 * (os.cpu_count() or 2)
#: Seconds to wait for one of them.
_PATIENCE: Final = 30.0
#: Round trips between guest and host; the driver has budgets of its own.
_SUSPENSIONS: Final = 2**31 - 1
#: What a guest learns about time and chance comes from the host.
_POLICY: Final[pydantic_monty.OSPolicy] = {
    "datetime": "call_host",
    "sleep": "call_host",
    "random_start": {"seed": 0},
    "timezone": "utc",
}
#: Monty counts the memory for storing a state, about three times its size, as the guest's.
_COPIES: Final = 2
#: Memory that the type checker may take, in bytes.
_CHECKER_BYTES: Final = 512 * 2**20


class KernelReplaced(Exception):
    """Raised when the kernel's answer shows that a cell has replaced the kernel."""


@cache
def kernel_source() -> str:
    """Source of the kernel, the first code in every realm."""
    return (files("interpstack_monty") / "kernel.txt").read_text("utf-8")


_all: weakref.WeakSet[Workers | MontyWorker] = weakref.WeakSet()
#: Objects of a forked process's parent: dropping them would end processes that the parent uses.
_left: list[object] = []
#: Ids of the processes that used Monty: this one, and those it was forked from. Monty's client
#: starts threads of its own with the first pool, and they stay when all pools are closed.
_users: set[int] = set()


class Workers:
    """The worker processes of one engine; the first is started when it is needed.

    Args:
        per_process: Cells after which a process is replaced; `None` for never.
    """

    def __init__(self, per_process: int | None) -> None:
        self._per_process = per_process
        self._pool: pydantic_monty.Monty | None = None
        self._held = 0
        self._lock = threading.Lock()
        _all.add(self)

    def start_anew(self) -> list[object]:
        """Forget and return the processes, which belong to the parent after a fork."""
        forgotten, self._pool, self._held = self._pool, None, 0
        self._lock = threading.Lock()
        return [] if forgotten is None else [forgotten]

    @property
    def crowded(self) -> bool:
        """Whether the pool is so short of workers that waiting cells should return theirs."""
        return self._held > _WAITING

    def take(self, limits: Limits) -> MontyWorker:
        """A worker with an empty session.

        Raises:
            EngineFailure: No process can be started, or none is free for too long.
        """
        given: pydantic_monty.ResourceLimits = {"max_suspensions": _SUSPENSIONS}
        if limits.cpu_seconds is not None:
            given["max_feed_duration_secs"] = limits.cpu_seconds
        if limits.memory_bytes is not None:
            given["max_memory"] = _COPIES * limits.memory_bytes
        # Output goes out line by line: a process that has to be killed keeps none back.
        session = self._checkout(limits=given, os_policy=_POLICY, print_flush_interval=0)
        return MontyWorker(session, self._returned, timed=limits.cpu_seconds is not None)

    def take_checker(self, stubs: str) -> MontyWorker:
        """A worker that checks the types of its code.

        Raises:
            EngineFailure: As for `take`.
        """
        session = self._checkout(
            limits={"max_memory": _CHECKER_BYTES},
            type_check=True,
            type_check_stubs=stubs,
            type_check_format="json",
        )
        return MontyWorker(session, self._returned)

    def close(self) -> None:
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.__exit__(None, None, None)

    def _checkout(self, **options: Any) -> pydantic_monty.MontySession:
        try:
            session = self._started().checkout(**options)
            session.__enter__()
        except TimeoutError as error:
            raise EngineFailure(f"all {_PROCESSES} Monty workers are busy") from error
        except (pydantic_monty.MontyError, OSError, RuntimeError) as error:
            raise EngineFailure(f"no Monty worker can be started: {error}") from error
        with self._lock:
            self._held += 1
        return session

    def _returned(self) -> None:
        with self._lock:
            self._held -= 1

    def _started(self) -> pydantic_monty.Monty:
        if _users - {os.getpid()}:
            raise EngineFailure(
                "Monty was used in this process before it was forked, and a fork copies no "
                "threads; fork before Monty is used, start processes with 'spawn', or use "
                "engine='process:monty'"
            )
        _users.add(os.getpid())
        with self._lock:
            if self._pool is None:
                pool = pydantic_monty.Monty(
                    binary_path=_quiet_binary(),
                    max_processes=_PROCESSES,
                    checkout_timeout=_PATIENCE,
                    max_checkouts_per_worker=self._per_process,
                )
                self._pool = pool.__enter__()
            return self._pool


class MontyWorker:
    """One process with one session in it.

    Attributes:
        session: Monty's session; use it only inside `watched`, and for the host's own code `run`.
        killed: Whether the process was stopped from here.
        bound: The code that bound the bridges in it.
        timed: Whether Monty itself ends every turn in time.
    """

    def __init__(
        self,
        session: pydantic_monty.MontySession,
        returned: Callable[[], None],
        *,
        timed: bool = True,
    ) -> None:
        self.session = session
        self._returned = returned
        self.killed = False
        self.bound = ""
        self.timed = timed
        self._pid = session.worker_pid
        self._host = os.getpid()
        self._running = False
        self._released = False
        self._lock = threading.Lock()
        _all.add(self)

    def bind(self, binding: str) -> None:
        """Note the code that bound the bridges in the session."""
        self.bound = binding

    @contextlib.contextmanager
    def watched(self, seconds: float | None) -> Iterator[pydantic_monty.MontySession]:
        """The session, for a turn of at most `seconds`; then the process is killed.

        Raises:
            EngineFailure: The process belongs to the parent of this one.
        """
        if self._host != os.getpid():
            raise EngineFailure("this process was forked; its Monty worker belongs to the parent")
        with self._lock:
            self._running = True
        try:
            with self._killed_after(seconds):
                yield self.session
        finally:
            with self._lock:
                self._running = False

    def run(self, source: str, **given: Any) -> Any:
        """Run code of the host's own; call it inside `watched`.

        The code calls the kernel, which a cell may have replaced with its own code. So its output
        is discarded (Monty's client would print it in this process), its time is limited, and its
        answer is untrusted data.

        Args:
            source: The code.
            given: The input, in the form that `feed_run` of Monty's session takes.

        Raises:
            MontyError: The code failed, or the session is lost.
            KernelReplaced: The answer of the code cannot be represented in this process.
        """
        try:
            with self._killed_after(None if self.timed else TRUSTED_SECONDS):
                return self.session.feed_run(source, print_callback=_discard, **given)
        except pydantic_monty.MontyError:
            raise
        except Exception as error:
            raise KernelReplaced(f"the session cannot be used: {error!r:.200}") from error

    @contextlib.contextmanager
    def _killed_after(self, seconds: float | None) -> Iterator[None]:
        if seconds is None:
            yield
            return
        timer = threading.Timer(max(0.0, seconds), self.kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def kill(self) -> None:
        """Stop the process, if a turn is running in it; the turn then fails."""
        with self._lock:
            ours = self._host == os.getpid()
            if ours and self._running and not self.killed and self._pid is not None:
                self.killed = True
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._pid, getattr(signal, "SIGKILL", signal.SIGTERM))

    def give_up(self) -> None:
        """Return the process as stopped, and discard its session."""
        self.killed = True
        self.release()

    def release(self) -> None:
        """Return the process; the contents of the session are lost."""
        if not self._released:
            self._released = True
            if self._host != os.getpid():
                return
            with contextlib.suppress(pydantic_monty.MontyError):
                self.session.__exit__(None, None, None)
            self._returned()


def _quiet_binary() -> str | None:
    """The executable of workers that do not write to this process's standard error.

    It is a script, which finds Monty by its own path; see there. `None`, which is Monty's own
    executable, where that cannot be: on Windows, in images without a shell, and where the
    environment names an executable of another name.
    """
    monty = Path(find_monty_binary())
    folder = os.path.realpath(monty.parent)
    script = os.path.realpath(str(files("interpstack_monty") / "quiet_worker.sh"))
    if os.name == "nt" or monty.name != "monty":
        return None
    way = os.path.relpath(script, folder)
    runs = os.access("/bin/sh", os.X_OK) and os.access(script, os.X_OK)
    return f"{folder}/{way}" if runs and way.startswith("../") else None


def _discard(stream: str, text: str) -> None:
    """Discard output."""


def _start_anew() -> None:
    for one in list(_all):
        if isinstance(one, Workers):
            _left.extend(one.start_anew())
        else:
            _left.append(one.session)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
