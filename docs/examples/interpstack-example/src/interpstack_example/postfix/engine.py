"""The engine, its realms and their executions."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from interpstack import (
    BridgeSet,
    Capability,
    Cell,
    Completion,
    Engine,
    Execution,
    GuestError,
    Image,
    ImageError,
    Isolation,
    Limits,
    Notification,
    Progress,
    Realm,
    Request,
    Settlement,
    UnsupportedValue,
    decode,
    encode,
)
from interpstack.guests import GuestClock
from interpstack_example.postfix.language import NOTHING, WORDS, Fault, Promise, Task, read, show

__all__ = ["PostfixEngine"]


class PostfixEngine(Engine):
    """Postfix cells in this process: they reach nothing of the host, but share its memory."""

    name: ClassVar[str] = "postfix"
    language: ClassVar[str] = "postfix"
    isolation: ClassVar[Isolation] = Isolation.NONE
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.CPU_LIMIT, Capability.DETERMINISM, Capability.VALUES}
    )

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Realm:
        if image is not None:
            raise ImageError(f"engine {self.name!r} has no images")
        return PostfixRealm(limits, bridges)


class PostfixRealm(Realm):
    """The variables of one session, and the bridges it has now."""

    def __init__(self, limits: Limits, bridges: BridgeSet) -> None:
        self.limits = limits
        self.variables: dict[str, Any] = {}
        self.bind(bridges)

    def bind(self, bridges: BridgeSet) -> None:
        self.awaited = {item.name: item.awaited for item in bridges if not item.hidden}

    def start(self, cell: Cell) -> Execution:
        return PostfixExecution(self, cell)

    def close(self) -> None:
        self.variables.clear()

    def values(self) -> Mapping[str, Any]:
        return {name: _portable(value) for name, value in self.variables.items()}

    def load(self, values: Mapping[str, Any]) -> None:
        for name, wire in values.items():
            if isinstance(wire, dict) and wire.get("$") == "lost":
                self.variables[name] = _lost(name, wire["v"])
                continue
            try:
                self.variables[name] = decode(wire)
            except UnsupportedValue as error:
                self.variables[name] = _lost(name, error.reason)


def _portable(value: Any) -> Any:
    if isinstance(value, Fault):
        return {"$": "lost", "v": value.error.data["reason"]}
    try:
        return encode(value)
    except UnsupportedValue:
        return {"$": "lost", "v": f"it is not serializable (type: {type(value).__name__})"}


def _lost(name: str, reason: str) -> Fault:
    message = f"Value for {name!r} was not restored because {reason}."
    return Fault("ReferenceError", message, reason=reason)


class OutOfTime(BaseException):
    """Stops guest code; nothing in the guest catches it."""


class PostfixExecution(Execution):
    """The run of one cell."""

    def __init__(self, realm: PostfixRealm, cell: Cell) -> None:
        self._realm = realm
        self._source: str | None = cell.source
        self._clock = GuestClock()
        self._deadline: float | None = None
        self._interrupted = self._ended = False
        self._next_id = 1
        self._open: dict[int, Promise] = {}
        self._notifications: list[Notification] = []
        self._requests: list[Request] = []
        self._output: list[str] = []
        self._tasks: list[Task] = []
        self._words: dict[str, tuple[int, Callable[..., Any]]] = {
            **WORDS,
            "go": (1, self._spawn),
            "now": (0, self._clock.read),
            "print": (1, self._print),
            "random": (0, random.Random(cell.seed).random),
            "set": (2, self._set),
            **{name: (1, partial(self._emit, name)) for name in realm.awaited},
        }

    # -- the protocol ----------------------------------------------------------------------

    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        self._clock.tell(now)
        begun = time.thread_time()
        self._deadline = None if cpu_seconds is None else begun + cpu_seconds
        completion, exhausted = None, False
        try:
            completion = self._advance()
        except OutOfTime:
            exhausted = self._ended = True
        requests, self._requests = self._requests, []
        return Progress(
            notifications=self._take_notifications(),
            requests=requests,
            completion=completion,
            cpu_seconds=time.thread_time() - begun,
            exhausted=exhausted,
        )

    def settle(self, settlements: Sequence[Settlement]) -> None:
        for settlement in settlements:
            promise, error = self._open.pop(settlement.id, None), settlement.error
            if promise is None:
                continue
            if error is None:
                promise.settle(decode(json.loads(settlement.text)))
            else:
                promise.settle(fault=Fault(error.name, error.message, **error.data))

    def abort(self, reason: str) -> Progress:
        self._ended = True
        self._tasks.clear()
        self._open.clear()
        return Progress(notifications=self._take_notifications())

    def interrupt(self) -> None:
        self._interrupted = True

    # -- what guest code calls -------------------------------------------------------------

    def _set(self, value: Any, name: str) -> Any:
        self._realm.variables[str(name)] = value
        return NOTHING

    def _print(self, value: Any) -> Any:
        self._output.append(show(value))
        return NOTHING

    def _spawn(self, block: Sequence[Any]) -> Task:
        task = Task(work=block)
        self._tasks.append(task)
        return task

    def _emit(self, bridge: str, value: Any) -> Any:
        wire, limit = encode(value), self._realm.limits.value_bytes
        if len(json.dumps(wire)) > limit:
            raise Fault("RangeError", f"the input of {bridge} has more than {limit} bytes")
        if self._ended:
            raise Fault("Error", f"{bridge} was called after its cell had ended; await it")
        if not self._realm.awaited[bridge]:
            self._notifications.append(Notification(bridge, wire))
            return NOTHING
        promise = self._open[self._next_id] = Promise()
        self._requests.append(Request(self._next_id, bridge, wire))
        self._next_id += 1
        return promise

    # -- inside ----------------------------------------------------------------------------

    def _advance(self) -> Completion | None:
        if self._source is not None:
            source, self._source = self._source, None
            try:
                self._spawn(read(source))
            except Fault as fault:
                self._ended = True
                return Completion(error=fault.error)
        before = -1
        while before != (ended := sum(task.done for task in self._tasks)):
            before = ended
            for task in self._tasks:  # those it spawns join in
                task.advance(self._words, self._realm.variables, self._tick)
        return None if self._ended or not self._tasks[0].done else self._complete(self._tasks[0])

    def _tick(self) -> None:
        late = self._deadline is not None and time.thread_time() > self._deadline
        if late or self._interrupted:
            raise OutOfTime

    def _complete(self, main: Task) -> Completion:
        self._ended = True
        if main.fault is not None:
            return Completion(error=main.fault.error)
        try:
            text, limit = show(main.value), 2 * self._realm.limits.result_chars
        except RecursionError:
            return Completion(error=GuestError("RangeError", "the value is nested too deep"))
        omitted = max(0, len(text) - limit)
        return Completion(text=text[:limit], omitted_chars=omitted, undefined=not main.stack)

    def _take_notifications(self) -> Sequence[Notification]:
        notifications, self._notifications = self._notifications, []
        if self._ended and self._output:
            text, self._output = "\n".join(self._output), []
            kept = text[: self._realm.limits.console_chars]
            notifications.append(
                Notification("console", {"text": kept, "omitted": len(text) - len(kept)})
            )
        return notifications
