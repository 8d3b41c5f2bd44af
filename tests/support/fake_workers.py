"""Workers without a process: their service answers in this one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from interpstack import Engine
from interpstack_workers import Command, WorkerAnswer, WorkerDied, checked_answer
from interpstack_workers.service import Service


class LoopbackWorker:
    """A worker that a test lets die, or answer with something else.

    Attributes:
        asked: The commands it got, by name.
        forge: Called with each answer's message; may change it.
        deaths: Reasons of which each next command dies; `unread` for one that was never read.
    """

    ready = True

    def __init__(self, engine: Engine, *, keep: bool = True) -> None:
        self.realms: set[int] = set()
        self.cells: set[int] = set()
        self.busy = self.ended = False
        self.reason = ""
        self.asked: list[str] = []
        self.commands: list[Command] = []
        self.forge: Callable[[dict[str, Any]], None] = lambda message: None
        self.deaths: list[tuple[str, bool]] = []
        self._leaving: list[int] = []
        self._service = Service(engine, self._tell, keep=keep)
        self._number = 0
        self._hear: Callable[[str], None] = lambda part: None

    def _tell(self, message: dict[str, Any], attached: bytes) -> None:
        self._hear(message["printed"])

    def ask(self, command: Command) -> WorkerAnswer | None:
        if self.ended:
            raise WorkerDied(self.reason, unread=True)
        self.asked.append(command.message["do"])
        self.commands.append(command)
        if command.interrupted():
            return None
        if self.deaths:
            reason, unread = self.deaths.pop(0)
            self.end(reason)
            raise WorkerDied(self.reason, unread=unread)
        self._number += 1
        self._hear = command.hear
        leave, self._leaving = self._leaving, []
        found = json.loads(json.dumps({**command.message, "number": self._number, "leave": leave}))
        message, data = self._service.answer(found, command.attached)
        message = json.loads(json.dumps(message))
        self.forge(message)
        return checked_answer(message, data)

    def leave(self, realm: int) -> None:
        self._leaving.append(realm)
        self.realms.discard(realm)
        self.cells.discard(realm)

    def end(self, reason: str | None) -> None:
        self.ended, self.reason = True, f"the worker process {reason}"


class LoopbackPool:
    """Starts the next worker when the last one has ended."""

    title = "worker process"
    threads = None

    def __init__(self, engine: Callable[[], Engine], *, keep: bool = True) -> None:
        self._make = lambda: LoopbackWorker(engine(), keep=keep)
        self.started: list[LoopbackWorker] = []
        self.dies_at_once: list[tuple[str, bool]] = []
        self.idle: LoopbackWorker | None = None
        self.steady = False
        self.full: Exception | None = None

    @property
    def worker(self) -> LoopbackWorker:
        return self.started[-1]

    def place(self, realm: int, key: str = "") -> LoopbackWorker:
        if not self.started or self.worker.ended:
            self.started.append(self._make())
            self.worker.deaths = self.dies_at_once[:1]
            del self.dies_at_once[:1]
        self.worker.realms.add(realm)
        return self.worker

    def stays(self, worker: Any) -> bool:
        return self.steady

    def admit(self, realm: int) -> None:
        if self.full is not None:
            raise self.full

    def wait_for_turn(self, worker: Any) -> None:
        return None

    def should_move(self, worker: Any) -> bool:
        return bool(worker.busy)

    def place_instead(self, realm: int, worker: Any) -> LoopbackWorker | None:
        if self.idle is not None:
            self.idle.realms.add(realm)
        return self.idle
