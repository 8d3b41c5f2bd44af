"""The requests to a server over pipes that wait for an answer, and what the server sent instead.

Nothing but its id says which request an answer belongs to. Without a fitting id, an answer would
end nothing, and its request would wait until its time is up. So an answer without an id ends the
only request that it can belong to, a message in a form that MCP does not have ends its requests
with the reason, and other output is remembered for the error of a request that gets no answer.

Reading such answers as if they were well formed was not chosen, except for batches where the
protocol has them: a log may contain any part of a message.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict, deque
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import attrs
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from interpstack_mcp.connections.causes import printable
from interpstack_mcp.connections.failures import Rejected, failed_request
from interpstack_mcp.connections.messages import read_message

__all__ = ["OpenRequests"]

#: The version of the protocol in which a message may be a batch, which is an array of messages.
_WITH_BATCHES: Final = "2025-03-26"
#: A request that stays open for as long as somebody listens.
_STANDING: Final = "subscriptions/listen"
_PROBE, _HANDSHAKE, _CANCELLED = "server/discover", "initialize", "notifications/cancelled"
#: Ids of cancelled requests, whose answers may still come.
_MOST_CANCELLED: Final = 1024
#: Things that are remembered for the error of a request, and characters of each.
_NOTES: Final = 3
_NOTE_CHARS: Final = 200
#: Bytes of a message over several lines in which its id is looked for.
_SPREAD_BYTES: Final = 2**16
_Answer = JSONRPCResponse | JSONRPCError


@attrs.define(eq=False)
class OpenRequests:
    """The requests of one connection that have no answer yet."""

    #: Methods and positions of the requests, by id.
    _open: dict[str | int, tuple[str, int]] = attrs.field(factory=dict, init=False)
    _cancelled: OrderedDict[str | int, None] = attrs.field(factory=OrderedDict, init=False)
    _number: int = attrs.field(default=0, init=False)
    #: The position of a notification that the server may answer, against the protocol, with an
    #: error without an id; `None` once a later request was answered.
    _notified: int | None = attrs.field(default=None, init=False)
    _version: str = attrs.field(default="", init=False)
    _notes: deque[tuple[float, str]] = attrs.field(factory=partial(deque, maxlen=_NOTES + 1))
    #: The beginning of a message over several lines.
    _spread: bytearray = attrs.field(factory=bytearray, init=False)

    def sent(self, message: Any) -> None:
        """Note a message to the server."""
        if isinstance(message, JSONRPCRequest):
            if message.method == _HANDSHAKE:
                for probe in [k for k, (method, _) in self._open.items() if method == _PROBE]:
                    self._cancel(probe)  # the server has not answered it in time
            self._number += 1
            self._open[coerce_request_id(message.id)] = message.method, self._number
        elif isinstance(message, JSONRPCNotification):
            self._notified = self._number
            if message.method == _CANCELLED:
                self._cancel((message.params or {}).get("requestId"))

    def _cancel(self, request: Any) -> None:
        known = coerce_request_id(request) if isinstance(request, str | int) else None
        if known is not None and self._open.pop(known, None) is not None:
            self._cancelled[known] = None
            if len(self._cancelled) > _MOST_CANCELLED:
                self._cancelled.popitem(last=False)

    # -- what the server sends -------------------------------------------------------------

    def read(self, line: bytes) -> list[SessionMessage | Exception]:
        """The messages of one line of the server's output; an exception for other output."""
        found = read_message(line)
        if isinstance(found, SessionMessage):
            self._spread.clear()
            return [self._matched(found, line)]
        parts = _batch(line)
        if parts:
            self._spread.clear()
            return [*self._read_batch(parts, line)]
        return [self._end_of_spread(line) or found]

    def _matched(self, item: SessionMessage, line: bytes) -> SessionMessage:
        """A message, under the id of its request if it is an answer without an id."""
        message = item.message
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return item
        if message.id is None:
            return self._without_id(item, line)
        request = coerce_request_id(message.id)
        opened = self._open.pop(request, None)
        if opened is not None:
            method, number = opened
            if method == _HANDSHAKE and isinstance(message, JSONRPCResponse):
                self._version = str(message.result.get("protocolVersion"))
            if self._notified is not None and number > self._notified:
                self._notified = None
        elif request in self._cancelled:
            del self._cancelled[request]
        else:
            self._note(f"an answer with the id {request!r:.40}, which no open request has", line)
        return item

    def _without_id(self, item: SessionMessage, line: bytes) -> SessionMessage:
        """An answer without an id as that of the only request that it can belong to."""
        request = self._only
        if request is None:
            self._note("an answer without an id, which may belong to several messages", line)
            return item
        del self._open[request]
        return SessionMessage(item.message.model_copy(update={"id": request}))

    @property
    def _only(self) -> str | int | None:
        """The only request that waits, if the server answers nothing else."""
        waiting = [id_ for id_, (method, _) in self._open.items() if method != _STANDING]
        return waiting[0] if len(waiting) == 1 and self._notified is None else None

    def _read_batch(self, parts: list[Any], line: bytes) -> Iterator[SessionMessage]:
        shown = self._version or "this connection"
        why = f"it came in a batch (a JSON array), which the protocol of {shown} does not have"
        for part in parts:
            found = read_message(json.dumps(part))
            if not isinstance(found, SessionMessage):
                self._note("a part of a batch that is not a message", line)
            elif self._version == _WITH_BATCHES:
                yield self._matched(found, line)
            elif (refused := self._refused(found, why)) is not None:
                yield refused
            else:
                self._note(f"a batch, which the protocol of {shown} does not have", line)

    def _refused(self, item: SessionMessage, why: str) -> SessionMessage | None:
        """The failure of the open request that an answer belongs to; `None` if there is none."""
        message = item.message
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return None
        request = self._only if message.id is None else coerce_request_id(message.id)
        if request is None or self._open.pop(request, None) is None:
            return None
        return SessionMessage(failed_request(request, Rejected(f"{why}: {_text(message)}")))

    def _end_of_spread(self, line: bytes) -> SessionMessage | None:
        """Take other output; the failure of a request whose answer ends with it."""
        text = line.rstrip()
        if text and not (self._spread and line[:1] in b" \t}"):
            self._note("other output", line)
        if text.startswith(b"{"):
            self._spread[:] = line
        elif self._spread:
            self._spread += line[: _SPREAD_BYTES - len(self._spread)]
        if not self._spread or not text.startswith(b"}"):
            return None
        found = read_message(bytes(self._spread))
        self._spread.clear()
        if not isinstance(found, SessionMessage):
            return None
        return self._refused(found, "it has several lines, and a message over pipes is one line")

    # -- what an error shows ---------------------------------------------------------------

    def _note(self, what: str, line: bytes) -> None:
        text = printable(" ".join(line[: 4 * _NOTE_CHARS].decode("utf-8", "replace").split()))
        if text:
            shown = text if len(text) <= _NOTE_CHARS else f"{text[:_NOTE_CHARS]}…"
            self._notes.append((time.monotonic(), f"{what}: {shown}"))

    def notes(self, since: float) -> str:
        """What the server has sent that ended no request, for the error of one.

        Args:
            since: When the request was sent, by `time.monotonic`.

        Returns:
            An empty text if there is nothing.
        """
        noted = [text for when, text in self._notes if when >= since]
        more = ["and more before"] if len(noted) > _NOTES else []
        return "; ".join([*more, *noted[-_NOTES:]])


def _batch(line: bytes) -> list[Any]:
    """The parts of a batch; empty if a line is none."""
    if line.lstrip()[:1] != b"[" or b'"jsonrpc"' not in line:
        return []
    try:
        parts = json.loads(line)
    except (ValueError, RecursionError):
        return []
    whole = all(isinstance(one, dict) and one.get("jsonrpc") == "2.0" for one in parts)
    return parts if whole else []


def _text(message: _Answer) -> str:
    """The beginning of an answer, as a text."""
    if isinstance(message, JSONRPCError):
        return f"its error is {printable(message.error.message)[:_NOTE_CHARS]}"
    return (
        f"its result is {printable(json.dumps(message.result, ensure_ascii=False))[:_NOTE_CHARS]}"
    )
