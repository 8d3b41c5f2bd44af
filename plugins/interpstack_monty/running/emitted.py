"""Bounded queues of what a cell emitted: requests, notifications and console output."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from interpstack import (
    TIMER,
    BridgeSet,
    GuestError,
    Limits,
    Notification,
    Progress,
    Request,
    UnsupportedValue,
)
from interpstack_monty.crossing.errors import thrown
from interpstack_monty.crossing.values import Room, from_guest

__all__ = ["Emitted"]

#: The notification that takes a cell's output.
_CONSOLE: Final = "console"
#: Requests beyond the limit that the driver refuses itself, with its own words.
_SPARE_REQUESTS: Final = 64
#: Characters of console output that are divided between its first and its last lines.
_DIVIDED: Final = 400
#: Bytes that may be queued between two polls, beside one value of the largest size.
_QUEUE_BYTES: Final = 64 * 2**20

_Answer = Mapping[str, Any]


class Emitted:
    """The notifications, requests and output of one cell.

    Attributes:
        open: Monty's ids of calls that are not answered, by the ids of their requests.
    """

    def __init__(self, limits: Limits, bridges: BridgeSet) -> None:
        self.open: dict[int, int] = {}
        self._hear: Callable[[str], None] | None = None
        self._limits = limits
        self._bridges = bridges
        self._notifications: list[Notification] = []
        self._requests: list[Request] = []
        self._timers: set[int] = set()
        self._next_id = 1
        self._made = 0
        self._queued = 0
        self._text: list[str] = []
        self._room = limits.console_chars
        self._omitted = 0
        self._ending = ""  # the last characters of those that were omitted

    def listen(self, hear: Callable[[str], None]) -> None:
        """Pass output on to `hear`: that of a resumed cell at once, all other as it comes."""
        self._hear = hear
        for text in self._text:
            hear(text)

    # -- from the guest --------------------------------------------------------------------

    def print(self, stream: str, text: str) -> None:
        """Take output of the guest."""
        kept = text[: self._room]
        self._room -= len(kept)
        if len(kept) < len(text):
            self._omitted += len(text) - len(kept)
            self._ending = _last(self._ending + text[len(kept) :], self._limits.console_chars)
        if kept:
            self._text.append(kept)
            if self._hear is not None:
                self._hear(kept)

    def note(self, line: str) -> None:
        """Add a line of the engine's own to the output."""
        started = self._text and not self._text[-1].endswith("\n")
        self.print("stdout", f"\n{line}\n" if started else f"{line}\n")

    def emit(self, call_id: int, args: Sequence[Any]) -> Any:
        """Take a call of a bridge; the answer for the guest, which may be a future."""
        if len(args) != 2 or not isinstance(args[0], str):
            return _refused("TypeError", "no such bridge")
        name, value = args
        bridge = self._bridges.get(name)
        if bridge is None or bridge.hidden:
            return _refused("ToolError", f"{name[:100]} is not offered in this session any more")
        try:
            wire = from_guest(value, Room(self._limits.value_bytes))
            size = len(json.dumps(wire))
        except (UnsupportedValue, ValueError, RecursionError) as error:
            return _refused("TypeError", f"{name} cannot take this input: {error}")
        if size > self._limits.value_bytes:
            most = self._limits.value_bytes
            return _refused("ValueError", f"the input of {name} is larger than {most} bytes")
        self._queued += size
        if self._queued > _QUEUE_BYTES + self._limits.value_bytes:
            return _refused("RuntimeError", "too much is queued; await some calls first")
        if not bridge.awaited:
            self._notifications.append(Notification(name, wire))
            return {"return_value": None}
        self._made += bridge.counted
        most_requests = self._limits.requests
        if most_requests is not None and self._made > most_requests + _SPARE_REQUESTS:
            name = self._bridges.error_name("CallBudgetExceeded")
            return _refused(name, self._limits.too_many_requests)
        self._request(call_id, name, wire)
        return {"future": ...}

    def sleep(self, call_id: int, args: Sequence[Any]) -> tuple[Any, int | None]:
        """Take a wish to wait: the answer, and the request made for it, if any."""
        seconds = args[0] if args and isinstance(args[0], (int, float)) else 0.0
        self._timers.intersection_update(self.open)
        if len(self._timers) >= self._limits.timers:
            most = self._limits.timers
            return _refused("RuntimeError", f"at most {most} timers may be open at once"), None
        request = self._request(call_id, TIMER, min(max(0.0, float(seconds)), 1e9) * 1000)
        self._timers.add(request)
        return {"future": ...}, request

    def _request(self, call_id: int, name: str, wire: Any) -> int:
        request = Request(self._next_id, name, wire)
        self._next_id += 1
        self.open[request.id] = call_id
        self._requests.append(request)
        return request.id

    # -- to the host -----------------------------------------------------------------------

    def drained(self, progress: Progress, *, ended: bool = False) -> Progress:
        """A progress with all queued messages, and with the output when the cell has `ended`."""
        notifications, self._notifications = self._notifications, []
        requests, self._requests = self._requests, []
        self._queued = 0
        if ended and (self._text or self._omitted):
            text, self._text = "".join(self._text).removesuffix("\n"), []
            end = _lines(self._ending)
            output = {"text": text, "omitted": self._omitted - len(end)}
            notifications.append(Notification(_CONSOLE, output | ({"end": end} if end else {})))
            self._omitted, self._ending = 0, ""
        return attrs.evolve(progress, notifications=notifications, requests=requests)

    def to_data(self) -> Mapping[str, Any]:
        """The state as JSON, for an image; the queues are empty by then."""
        return {
            "open": list(self.open.items()),
            "timers": sorted(self._timers),
            "next": self._next_id,
            "made": self._made,
            "text": "".join(self._text),
            "omitted": self._omitted,
            "ending": self._ending,
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Restore a state that `to_data` returned."""
        self.open = dict(data["open"])
        self._timers = set(data["timers"])
        self._next_id = data["next"]
        self._made = data["made"]
        self._text = [data["text"]] if data["text"] else []
        self._omitted = data["omitted"]
        self._ending = data.get("ending", "")
        self._room -= len(data["text"])


def _last(text: str, console_chars: int) -> str:
    """The end of a text: a quarter of the console's characters, if they are not too few."""
    most = console_chars // 4 if console_chars >= _DIVIDED else 0
    return text[max(0, len(text) - most) :]


def _lines(ending: str) -> str:
    """The last whole lines, or the end of a long one."""
    text = ending.removesuffix("\n")
    first = text.find("\n")
    return text[first + 1 :] if 0 <= first < len(text) // 2 else text


def _refused(name: str, message: str) -> Any:
    return thrown(GuestError(name, message))
