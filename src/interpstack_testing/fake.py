"""An engine without a sandbox: Python cells in this process, for tests and as a model.

Cells are Python with top-level `await`; the value of the last expression is the result.
Beside Python's builtins a cell has:

| Name | Does |
|---|---|
| each bridge | `await weather.today(city="Oslo")`, or one dict; the request is made at once |
| `gather(*awaitables)` | runs them side by side; gives the list of their values |
| `sleep(seconds)` | the timer request |
| `random()`, `now()` | chance from the cell's seed, the time in seconds as `GuestClock` tells it |
| `print(…)` | console output, delivered once a cell |
| `ToolError` | what a failed request raises |
"""

from __future__ import annotations

import builtins
import json
import random
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

from interpstack.contracts.bridges import BridgeSet, GuestBridge
from interpstack.contracts.engine import Capability, Engine, Execution, Isolation, Realm
from interpstack.contracts.errors import ImageError, UnsupportedValue
from interpstack.contracts.limits import Limits
from interpstack.contracts.protocol import (
    TIMER,
    Cell,
    Completion,
    GuestError,
    Image,
    Notification,
    Progress,
    Request,
    Settlement,
)
from interpstack.guests import GuestClock
from interpstack.values.decoding import decode
from interpstack.values.encoding import encode
from interpstack_testing.scheduler import Promise, ScriptScheduler, Stopped
from interpstack_testing.script import ScriptGlobals, describe, result_text, run_script

__all__ = ["FakeEngine"]


class FakeEngine(Engine):
    """An engine for trusted Python cells in this process: the guest has the host's rights."""

    name: ClassVar[str] = "fake"
    language: ClassVar[str] = "python"
    isolation: ClassVar[Isolation] = Isolation.NONE
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.CPU_LIMIT, Capability.VALUES, Capability.DETERMINISM}
    )

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Realm:
        if image is not None:
            raise ImageError(f"engine {self.name!r} has no images")
        return FakeRealm(limits, bridges)


class FakeRealm(Realm):
    """A realm with one dictionary of globals; the host's bridges are in its builtins."""

    def __init__(self, limits: Limits, bridges: BridgeSet) -> None:
        self.limits = limits
        self.globals = ScriptGlobals()
        self.running: FakeExecution | None = None
        self.bind(bridges)

    def bind(self, bridges: BridgeSet) -> None:
        offered: dict[str, Any] = {
            "gather": lambda *awaitables: self._current().scheduler.gather(awaitables),
            "sleep": lambda seconds: self._current().request(TIMER, seconds * 1000),
            "random": lambda: self._current().random(),
            "now": lambda: self._current().clock.read(),
            "print": lambda *values, sep=" ": self._current().write(sep.join(map(str, values))),
            "ToolError": ToolError,
        }
        for bridge in bridges:
            if bridge.hidden:
                continue
            *path, last = bridge.name.split(".")
            scope: Any = offered
            for part in path:
                scope = vars(scope.setdefault(part, SimpleNamespace()))
            scope[last] = self._function(bridge)
        self.globals.offer({**vars(builtins), **offered})

    def start(self, cell: Cell) -> Execution:
        self.running = FakeExecution(self, cell)
        return self.running

    def values(self) -> Mapping[str, Any]:
        lost = {name: {"$": "lost", "v": why} for name, why in self.globals.lost.items()}
        owners: dict[int, str] = {}
        own = self.globals.own().items()
        return lost | {name: _portable(name, value, owners) for name, value in own}

    def load(self, values: Mapping[str, Any]) -> None:
        for name, wire in values.items():
            if isinstance(wire, dict) and wire.get("$") == "lost":
                self.globals.lost[name] = str(wire.get("v"))
                continue
            try:
                self.globals[name] = decode(wire)
            except UnsupportedValue as error:
                self.globals.lost[name] = error.reason

    def close(self) -> None:
        self.globals.clear()

    def _current(self) -> FakeExecution:
        if self.running is None:
            raise RuntimeError("no cell is running")
        return self.running

    def _function(self, bridge: GuestBridge) -> Any:
        name, awaited = bridge.name, bridge.awaited

        def function(*args: Any, **fields: Any) -> Promise | None:
            if bridge.positional:
                return self._current().emit(name, awaited, [*args, fields] if fields else [*args])
            if len(args) > 1 or (args and fields):
                raise TypeError(f"{name} takes named fields, or one value")
            value = args[0] if args else fields
            return self._current().emit(name, awaited, value)

        return function


class FakeExecution(Execution):
    """The run of one cell: tasks that wait for promises, and their queue."""

    def __init__(self, realm: FakeRealm, cell: Cell) -> None:
        self.clock = GuestClock()
        self.random = random.Random(cell.seed).random  # noqa: S311 - reproducible on purpose
        self.scheduler = ScriptScheduler(realm.globals)
        self._realm = realm
        self._main = self.scheduler.spawn(run_script(cell.source, cell.name, realm.globals))
        self._open: dict[int, Promise] = {}
        self._next_id = 1
        self._notifications: list[Notification] = []
        self._requests: list[Request] = []
        self._lines: list[str] = []
        self._hear: Callable[[str], None] | None = None
        self._answered = False

    # -- the protocol ----------------------------------------------------------------------

    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        self.clock.tell(now)
        completion = None
        with self.scheduler.watch(cpu_seconds) as clock:
            try:
                self.scheduler.run()
                completion = self._completion()
            except Stopped:
                self._end()
        return Progress(
            notifications=self._drain_notifications(),
            requests=self._drain_requests(),
            completion=completion,
            cpu_seconds=clock.spent,
            exhausted=clock.stopped,
        )

    def settle(self, settlements: Sequence[Settlement]) -> None:
        for settlement in settlements:
            promise = self._open.pop(settlement.id, None)
            if promise is None:
                continue
            if settlement.error is None:
                promise.resolve(decode(json.loads(settlement.text)))
            else:
                promise.reject(_exception(settlement.error))

    def abort(self, reason: str) -> Progress:
        self._end()
        self._open.clear()
        self.scheduler.close()
        return Progress(notifications=self._drain_notifications())

    def listen(self, hear: Callable[[str], None]) -> None:
        self._hear = hear

    def interrupt(self) -> None:
        self.scheduler.interrupt()

    # -- functions for guest code ----------------------------------------------------------

    def emit(self, bridge: str, awaited: bool, value: Any) -> Promise | None:
        wire = encode(value)
        limit = self._realm.limits.value_bytes
        if len(json.dumps(wire)) > limit:
            raise ValueError(f"the input of {bridge} is larger than {limit} bytes")
        if awaited:
            return self.request(bridge, wire)
        if not self._answered:
            self._notifications.append(Notification(bridge, wire))
        return None

    def request(self, bridge: str, wire: Any) -> Promise:
        promise = Promise()
        if self._answered:
            promise.reject(RuntimeError(f"{bridge} was called after its cell had ended"))
            return promise
        self._open[self._next_id] = promise
        self._requests.append(Request(self._next_id, bridge, wire))
        self._next_id += 1
        return promise

    def write(self, line: str) -> None:
        if self._hear is not None:
            self._hear(f"\n{line}" if self._lines else line)
        self._lines.append(line)

    # -- inside ----------------------------------------------------------------------------

    def _completion(self) -> Completion | None:
        if self._answered or not self._main.done:
            return None
        self._answered = True
        if self._main.error is not None:
            return Completion(error=describe(self._main.error, self._realm.globals))
        try:
            text, omitted = result_text(self._main.value, 2 * self._realm.limits.result_chars)
        except Exception as error:  # noqa: BLE001 - a guest's own __repr__ raises anything
            return Completion(error=describe(error, self._realm.globals))
        value = self._main.value
        return Completion(
            text=text, omitted_chars=omitted, handle=callable(value), undefined=value is None
        )

    def _end(self) -> None:
        self._answered = True

    def _drain_notifications(self) -> Sequence[Notification]:
        notifications, self._notifications = self._notifications, []
        if self._answered and self._lines:
            text, self._lines = "\n".join(self._lines), []
            kept = text[: self._realm.limits.console_chars]
            notifications.append(
                Notification("console", {"text": kept, "omitted": len(text) - len(kept)})
            )
        return notifications

    def _drain_requests(self) -> Sequence[Request]:
        requests, self._requests = self._requests, []
        return requests


class ToolError(Exception):
    """A request failed."""


#: Errors that guests know by name; others are made, as kinds of `ToolError`.
_EXCEPTIONS: dict[str, type[Exception]] = {"ToolError": ToolError, "TypeError": TypeError}


def _exception(error: GuestError) -> Exception:
    # Python refuses zeros and lone surrogates in the name of a class.
    name = "".join(char if char.isprintable() else "?" for char in error.name)
    kind = _EXCEPTIONS.get(name) or type(name, (ToolError,), {})
    exception: Exception = kind(error.message)
    vars(exception).update(error.data)
    return exception


def _portable(name: str, value: Any, owners: dict[int, str]) -> Any:
    try:
        wire = encode(value, tuples=True)
    except UnsupportedValue:
        return {"$": "lost", "v": f"it is not serializable (type: {type(value).__name__})"}
    held = [id(part) for part in _changeable(value)]
    if len(set(held)) < len(held) or not owners.keys().isdisjoint(held):
        return {"$": "lost", "v": "it holds an object in two places, or shares it"}
    owners.update(dict.fromkeys(held, name))
    return wire


def _changeable(value: Any) -> list[Any]:
    """The containers in a value that would become two if they were copied twice."""
    if isinstance(value, Mapping):
        return [value, *(part for item in value.values() for part in _changeable(item))]
    if isinstance(value, (list, tuple)):
        inner = [part for item in value for part in _changeable(item)]
        return [value, *inner] if isinstance(value, list) else inner
    return [value] if isinstance(value, set) else []
