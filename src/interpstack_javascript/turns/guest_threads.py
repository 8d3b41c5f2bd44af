"""Threads that run the turns of guests, and the wait of event loops for them."""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from interpstack import start_anew_after_fork
from interpstack.threads import GUEST_STACK_BYTES
from interpstack_javascript.turns.turn import ThreadCall, Wakes

__all__ = ["GuestThreads", "guest_threads"]

_T = TypeVar("_T")

#: Seconds that a loop's thread waits in place for a guest; waits of Windows take far longer.
IN_PLACE_SECONDS: Final = 0.0 if sys.platform == "win32" else 0.0002
_CORES: Final = os.cpu_count() or 2
#: Short turns of one guest in a row, after which the other work of the loop comes first.
IN_A_ROW: Final = 16


class GuestThreads:
    """At most a thread for each core; one is started when a turn finds all others busy.

    The way back from a thread to a loop takes longer than most turns of a guest. So the loop's
    thread waits in place for a guest whose last turn was short, while no other guest has a turn, or
    has had one since.
    """

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []
        self._left: list[Any] = []
        self._stopped = False
        self.start_anew()
        start_anew_after_fork(self)
        atexit.register(self._stop)

    def start_anew(self) -> None:
        """Forget the parent's threads and turns; called in the child of a fork."""
        if self._threads:  # dropping them here would affect what parent and child share
            self._left.append((self._threads, self._turns, self._going))
        self._lock = threading.Lock()
        self._threads = []
        self._turns: SimpleQueue[ThreadCall[Any] | None] = SimpleQueue()
        self._going: set[ThreadCall[Any]] = set()
        self._wakes: Wakes | None = None
        #: The guest that has had the last turn, and its short turns in a row.
        self._latest = (0, 0)

    async def run(
        self, guest: int, function: Callable[[], _T], interrupt: Callable[[], None]
    ) -> _T:
        """Run a turn of a guest.

        When the caller is cancelled, this method calls `interrupt` and waits for the guest: no
        other code may use its realm before it has stopped.

        Args:
            guest: Identifies the guest.
            function: The turn.
            interrupt: Makes the turn end soon.
        """
        alone = not self._going and self._latest[0] == guest
        before = self._latest[1] if alone else 0
        turn = self._submit(ThreadCall(guest, before, function))
        if before % IN_A_ROW and _ends_in_place(turn, interrupt):
            return turn.result()
        ended = asyncio.Event()
        turn.wake(partial(self._wakes_of(asyncio.get_running_loop()).wake, ended))
        try:
            await ended.wait()
        except asyncio.CancelledError:
            if turn.cancel():  # its time had not come
                raise
            interrupt()
            while not turn.done():
                with suppress(asyncio.CancelledError):  # the first one is raised below
                    await ended.wait()
            raise
        return turn.result()

    def _wakes_of(self, loop: asyncio.AbstractEventLoop) -> Wakes:
        wakes = self._wakes
        if wakes is None or wakes.loop is not loop:  # loops may take turns: each then gets several
            wakes = self._wakes = Wakes(loop)
        return wakes

    def _submit(self, turn: ThreadCall[_T]) -> ThreadCall[_T]:
        self._going.add(turn)
        if len(self._threads) < min(len(self._going), _CORES):
            try:
                self._start()
            except RuntimeError:
                if not self._threads:  # else one of them has time for it later
                    self._going.discard(turn)
                    raise
        self._latest = (turn.guest, 0)
        self._turns.put(turn)
        return turn

    def _start(self) -> None:
        with self._lock:
            if self._stopped:
                raise RuntimeError("no guest runs any more: the interpreter ends")
            if len(self._threads) >= _CORES:
                return
            name = f"interpstack-guest-turn_{len(self._threads)}"
            thread = threading.Thread(target=self._work, name=name, daemon=True)
            previous = threading.stack_size(GUEST_STACK_BYTES)
            try:
                thread.start()
            finally:
                threading.stack_size(previous)
            self._threads = [*self._threads, thread]

    def _work(self) -> None:
        while (turn := self._turns.get()) is not None:
            turn.run()
            short = time.perf_counter() - turn.begun < IN_PLACE_SECONDS
            if short and self._latest[0] == turn.guest:
                self._latest = (turn.guest, turn.before + 1)
            self._going.discard(turn)
            turn.end()
            del turn  # while the thread waits, it holds nothing of the guest

    def _stop(self) -> None:
        """Let the threads end: none may be in a guest when the interpreter goes."""
        with self._lock:
            self._stopped, threads, self._threads = True, self._threads, []
        for _ in threads:
            self._turns.put(None)
        for thread in threads:
            thread.join()


def _ends_in_place(turn: ThreadCall[Any], interrupt: Callable[[], None]) -> bool:
    """Wait for the end of a short turn; False if it is longer."""
    try:
        return turn.done(IN_PLACE_SECONDS)
    except BaseException:  # raised by the handler of a signal
        interrupt()
        turn.done(-1)
        raise


#: The threads of this process.
guest_threads: Final = GuestThreads()
