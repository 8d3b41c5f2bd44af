"""The actor: a service of guests in a process of the cluster, asked in batches.

Guest code runs in one thread. The actor's event loop takes batches of commands, hands out all
answers that are there, and interrupts the guest.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from queue import SimpleQueue
from typing import Any, Final

import attrs

from interpstack_workers import Service, load_engine
from interpstack_workers.memory import held_bytes, watch_memory

__all__ = ["GuestActor", "Message", "about_here"]

#: A message in JSON, and the bytes that go with it.
Message = tuple[bytes, bytes]
#: Stack of the thread that runs guest code, as in the host.
_STACK_BYTES: Final = 16 * 2**20
#: Exit status of an actor that ran out of memory.
_OUT_OF_MEMORY: Final = 83


def about_here() -> dict[str, str]:
    """The version of this package, and of Python, which host and actors must have in common."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"interpstack": version("interpstack"), "Python": python}


@attrs.define(eq=False)
class _Mail:
    """Commands that wait for the guest thread, and answers that wait for the host."""

    commands: SimpleQueue[int] = attrs.field(factory=SimpleQueue)
    waiting: dict[int, Message] = attrs.field(factory=dict)
    answers: list[Message] = attrs.field(factory=list)
    leaving: deque[int] = attrs.field(factory=deque)
    lock: threading.Lock = attrs.field(factory=threading.Lock)

    def collect(self) -> list[Message]:
        """The answers that are there, which are handed out once."""
        found, self.answers = self.answers, []
        return found

    def take_leaving(self) -> list[int]:
        """Numbers of the realms to close now."""
        return [self.leaving.popleft() for _ in range(len(self.leaving))]

    def put(self, number: int, message: Message) -> None:
        self.waiting[number] = message
        self.commands.put(number)

    def take(self) -> Message | None:
        """The next command; `None` if the host does not want it any more."""
        return self.waiting.pop(self.commands.get(), None)

    def taken_back(self, number: int) -> bool:
        """Whether a command had not been begun, and never will be."""
        return self.waiting.pop(number, None) is not None


class GuestActor:
    """Runs the guests of one engine.

    Args:
        config: The reference of the engine, its options, and the limit of memory.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._mail = _Mail()
        self._there: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        engine = load_engine(config["engine"])(**config["options"])
        self._service = Service(engine, self._tell, keep=config["keep"])
        most = config["memory_bytes"]
        if most is not None and held_bytes() is not None:
            end = partial(os._exit, _OUT_OF_MEMORY)
            threading.Thread(target=watch_memory, args=(most, end), daemon=True).start()
        before = threading.stack_size(_STACK_BYTES)
        threading.Thread(target=self._serve, name="guests", daemon=True).start()
        threading.stack_size(before)

    # -- called by the host ----------------------------------------------------------------

    async def about(self) -> dict[str, Any]:
        """The versions here, the process and its node; the engine is loaded."""
        return {**about_here(), "pid": os.getpid(), "node": platform.node()}

    async def exchange(
        self, commands: Sequence[tuple[int, Message]], leave: Sequence[int] = ()
    ) -> list[Message]:
        """Take a batch of commands, and return the answers that are there; at least one.

        Realms to `leave` are closed before the next command.

        Answers to commands of an earlier batch count, too, and those of this one may be returned
        by a later call.
        """
        self._loop = asyncio.get_running_loop()
        self._there = self._there or asyncio.Event()
        self._mail.leaving.extend(leave)
        for number, message in commands:
            self._mail.put(number, message)
        while True:
            with self._mail.lock:
                found = self._mail.collect()
                self._there.clear()
            if found:
                return found
            await self._there.wait()

    async def interrupt(self, number: int) -> None:
        """Stop the guest code of a command, or forget the command if it was not begun."""
        if self._mail.taken_back(number):
            self._answer({"number": number, "skipped": True}, b"")
            return
        running = self._service.running
        if running is not None and running[0] == number:
            running[1].interrupt()

    # -- in the thread of guests -----------------------------------------------------------

    def _serve(self) -> None:
        try:
            while True:
                command = self._mail.take()
                if command is not None:
                    self._run(*command)
        finally:
            os._exit(_OUT_OF_MEMORY)  # nothing but the end of memory gets here

    def _run(self, text: bytes, attached: bytes) -> None:
        command = {**json.loads(text), "leave": self._mail.take_leaving()}
        message, data = self._service.answer(command, attached)
        self._answer({"number": command["number"], "answer": message}, data)

    def _tell(self, message: dict[str, Any], attached: bytes) -> None:
        self._answer(message, attached)

    def _answer(self, message: dict[str, Any], attached: bytes) -> None:
        packed = json.dumps(message, separators=(",", ":")).encode("ascii")
        with self._mail.lock:
            self._mail.answers.append((packed, attached))
        if self._loop is not None and self._there is not None:
            with suppress(RuntimeError):  # the loop was closed: nobody waits there any more
                self._loop.call_soon_threadsafe(self._there.set)
