"""The host's side of one actor: its commands, sent in batches, and their answers."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Final

import attrs

from interpstack import EngineFailure
from interpstack.values import read_json
from interpstack_ray.actor import Message, about_here
from interpstack_workers import (
    Command,
    MalformedMessage,
    Worker,
    WorkerAnswer,
    WorkerDied,
    checked_answer,
)
from interpstack_workers.messages import PRINTED_CHARS, read_text

__all__ = ["ActorConfig", "ActorWorker"]

#: Batches under way to an actor: one is answered while the next one travels.
_BATCHES: Final = 2
#: Commands of one batch, and bytes after which a batch is full.
_BATCH_COMMANDS: Final = 64
_BATCH_BYTES: Final = 2**20
#: Seconds in which an interrupted guest has to stop.
_STOP_SECONDS: Final = 2.0
_REASON_CHARS: Final = 500

_names = itertools.count(1)
_commands = itertools.count(1)


@attrs.frozen(kw_only=True)
class ActorConfig:
    """The configuration of actors.

    Attributes:
        message: What `GuestActor` is made from.
        start_seconds: Seconds in which an actor has to be ready.
        grace_seconds: Seconds that a command may take beyond its own time.
        max_bytes: Largest message that is read.
    """

    message: Mapping[str, Any]
    start_seconds: float
    grace_seconds: float
    max_bytes: int


@attrs.define(eq=False)
class _Asked:
    number: int
    command: Command
    answer: Future[WorkerAnswer | None]
    #: When the actor was asked to stop it; 0 before.
    stopping: float = 0.0

    def stop(self, now: float, interrupt: Any) -> None:
        """Have the actor stop the command, if its result is no longer needed."""
        if not self.stopping and self.command.interrupted():
            self.stopping = now
            interrupt.remote(self.number)

    def is_late(self, now: float) -> bool:
        """Whether the command was not stopped in time."""
        return self.stopping > 0 and now > self.stopping + _STOP_SECONDS


class ActorWorker(Worker):
    """One actor.

    Its methods may be called from any thread. Answers are read, and the steps after them taken, in
    the thread of `post`.

    Args:
        handle: The handle of the actor.
        kill: Ends the actor at once.
        config: The configuration.
        post: Runs something in the thread for messages.
        on_end: Called once, when the actor has ended.

    Attributes:
        name: Names the actor among those of this process.
        draining: Whether no new realm comes here, because the actor is to end.
        idle_since: Time since which nothing was asked.
    """

    def __init__(
        self,
        handle: Any,
        kill: Callable[[], object],
        config: ActorConfig,
        post: Callable[..., None],
        on_end: Callable[[ActorWorker], None],
    ) -> None:
        self.name = f"actor-{next(_names)}"
        self.ready = self.ended = self.draining = False
        self.reason = ""
        self.realms: set[int] = set()
        self.cells: set[int] = set()
        self.about: Mapping[str, Any] = {}
        self.started = self.idle_since = self._heard = time.monotonic()
        self._handle, self._kill = handle, kill
        self._config, self._post, self._on_end = config, post, on_end
        self._lock = threading.RLock()
        self._waiting: deque[_Asked] = deque()
        self._sent: dict[int, _Asked] = {}
        self._batches = 0
        self._began: dict[int, float] = {}
        self._leaving: deque[int] = deque()
        about = handle.about.remote().future()
        about.add_done_callback(lambda future: post(self._greeted, future))

    # -- asking ----------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        return self.load > 0

    @property
    def load(self) -> int:
        """Commands that are not answered."""
        return len(self._waiting) + len(self._sent)

    def ask(self, command: Command) -> WorkerAnswer | None:
        return self.submit(command).result()

    def submit(self, command: Command) -> Future[WorkerAnswer | None]:
        answer: Future[WorkerAnswer | None] = Future()
        answer.set_running_or_notify_cancel()
        one = _Asked(next(_commands), command, answer)
        with self._lock:
            ended = self.ended
            if not ended:
                self._waiting.append(one)
        if ended:
            answer.set_exception(WorkerDied(self.reason, unread=True))
        else:
            self._post(self._send)
        return answer

    def begin(self, realm: int) -> None:
        """Note that a cell begins in a realm."""
        self._began = {one: self._began[one] for one in self.cells & self._began.keys()}
        self._began[realm] = time.monotonic()
        self.cells.add(realm)

    def mean_age(self) -> float:
        """The mean time since the cells that run have begun, in seconds."""
        now = time.monotonic()
        ages = [now - self._began[one] for one in self.cells & self._began.keys()]
        return sum(ages) / max(1, len(ages))

    def drain(self) -> None:
        """Take the actor out of use; its realms move away with their next cells."""
        self.draining = True

    def leave(self, realm: int) -> None:
        self._leaving.append(realm)
        self.realms.discard(realm)
        self.cells.discard(realm)

    def _send(self) -> None:
        """Send the waiting commands, unless enough are under way."""
        with self._lock:
            if self.ended or not self.ready or self._batches >= _BATCHES:
                return
            if not self._waiting and (self._batches or not self._sent):
                return
            batch = _taken(self._waiting)
            self._batches += 1
            if not self._sent:
                self._heard = time.monotonic()
            self._sent.update((one.number, one) for one in batch)
        leave = [self._leaving.popleft() for _ in range(len(self._leaving))]
        try:
            answers = self._handle.exchange.remote([_packed(one) for one in batch], leave).future()
        except Exception as error:  # noqa: BLE001 - the host has disconnected, for example
            self.end(f"cannot be asked: {_shown(error)}")
            return
        answers.add_done_callback(lambda future: self._post(self._answered, future))

    # -- what comes back -------------------------------------------------------------------

    def _greeted(self, future: Future[Any]) -> None:
        error = future.exception()
        if error is not None:
            self.end(f"died while it started: {_shown(error)}", unread=True)
            return
        here, there = about_here(), future.result()
        if differs := [name for name in here if there.get(name) != here[name]]:
            versions = ", ".join(f"{one} {there.get(one)}, not {here[one]}" for one in differs)
            self.end(f"was ended, because its node has {versions}", unread=True)
            return
        self.about, self.ready, self.idle_since = there, True, time.monotonic()
        self._send()

    def _answered(self, future: Future[Any]) -> None:
        with self._lock:
            self._batches -= 1
        if (error := future.exception()) is not None:
            self.end(f"died: {_shown(error)}")
            return
        self._heard = time.monotonic()
        try:
            for text, attached in future.result():
                self._read(text, attached)
        except (MalformedMessage, ValueError, TypeError, RecursionError) as broken:
            self.end(f"was killed because it sent {broken}")
        self._send()

    def _read(self, text: bytes, attached: bytes) -> None:
        """Read a message of the actor.

        Raises:
            MalformedMessage: It has another form, or is too large.
        """
        if len(text) + len(attached) > self._config.max_bytes:
            raise MalformedMessage(f"a message of more than {self._config.max_bytes} bytes")
        message = read_json(str(text, "ascii"))
        if not isinstance(message, dict) or not isinstance(message.get("number"), int):
            raise MalformedMessage("a message without the number of a command")
        if "printed" in message:
            if (one := self._sent.get(message["number"])) is not None:
                one.command.hear(read_text(message["printed"], PRINTED_CHARS))
            return
        with self._lock:
            one = self._sent.pop(message["number"], None)
            if not self._sent and not self._waiting:
                self.idle_since = time.monotonic()
        if one is None:
            raise MalformedMessage("an answer to a command that was not sent")
        if message.get("skipped") is True:
            one.answer.set_result(None)
            return
        self._deliver(one, message.get("answer"), attached)

    def _deliver(self, one: _Asked, message: Any, attached: bytes) -> None:
        try:
            answer = checked_answer(
                message if isinstance(message, dict) else {"error": message}, attached
            )
        except MalformedMessage as broken:
            self.end(f"was killed because it sent {broken}")
            one.answer.set_exception(WorkerDied(self.reason, unread=False))
        except Exception as error:  # noqa: BLE001 - the engine's refusal of the command
            one.answer.set_exception(error)
        else:
            one.answer.set_result(answer)

    # -- time ------------------------------------------------------------------------------

    def check_time(self, now: float) -> None:
        """Have interrupted guests stopped, and end an actor that does not answer in time."""
        with self._lock:
            unwanted = [one for one in self._waiting if one.command.interrupted()]
            for one in unwanted:
                self._waiting.remove(one)
        for one in unwanted:
            one.answer.set_result(None)
        if not self.ready:
            if now > self.started + self._config.start_seconds:
                self._give_up_start()
            return
        with self._lock:
            sent = list(self._sent.values())
        # The last one first: an actor whose command is stopped begins the next one at once.
        for one in reversed(sent):
            one.stop(now, self._handle.interrupt)
        seconds = [one.command.seconds for one in sent]
        if any(one.is_late(now) for one in sent):
            self.end(f"was killed because it did not stop within {_STOP_SECONDS:g} s", late=True)
        elif seconds and None not in seconds:
            most = max(one for one in seconds if one is not None) + self._config.grace_seconds
            if now > self._heard + most:
                self.end(f"was killed because it did not answer within {most:g} s", late=True)

    def _give_up_start(self) -> None:
        what = (
            f"no actor was ready within {self._config.start_seconds:g} s (start_seconds); has the "
            "cluster a node with the resources that actor_options ask for?"
        )
        with self._lock:
            waiting, self._waiting = list(self._waiting), deque()
        self.end("was not ready in time", unread=True)
        for one in waiting:
            one.answer.set_exception(EngineFailure(what))

    # -- the end ---------------------------------------------------------------------------

    def end(self, reason: str | None, *, unread: bool = False, late: bool = False) -> None:
        """End the actor.

        Args:
            reason: How it ended.
            unread: Whether it has read none of its commands.
            late: Whether it did not answer in time.
        """
        with self._lock:
            if self.ended:
                return
            self.reason = f"the actor {reason or 'ended'}"
            self.ended = True
            sent, self._sent = list(self._sent.values()), {}
            waiting, self._waiting = list(self._waiting), deque()
        self._kill()
        self._on_end(self)
        for one in sent:
            one.answer.set_exception(WorkerDied(self.reason, unread=unread, late=late))
        for one in waiting:
            one.answer.set_exception(WorkerDied(self.reason, unread=True))


def _taken(waiting: deque[_Asked]) -> list[_Asked]:
    """The next batch of the commands that wait."""
    batch, size = list[_Asked](), 0
    while waiting and len(batch) < _BATCH_COMMANDS and size < _BATCH_BYTES:
        batch.append(waiting.popleft())
        size += len(batch[-1].command.attached)
    return batch


def _packed(one: _Asked) -> tuple[int, Message]:
    message = json.dumps({**one.command.message, "number": one.number}, separators=(",", ":"))
    return one.number, (message.encode("ascii"), one.command.attached)


def _shown(error: BaseException) -> str:
    """The last line of an error that says something, without the names of places."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    last = lines[-1] if lines else type(error).__name__
    reason = last.removeprefix("The actor is dead because ")
    return reason.partition(" Some common causes include")[0].rstrip(".")[:_REASON_CHARS]
