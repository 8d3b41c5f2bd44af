"""Messages that clients post over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import attrs
from mcp import types
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interpstack_mcp.request_ids import NumericTexts
from interpstack_mcp.serving.wire.messages import RefusedMessage, read_message

__all__ = ["CheckedPosts"]

#: Seconds for the end of a response whose answer a client may have read already.
_ENDING_SECONDS: Final = 1.0
#: Seconds for the body of a request; a client that is gone without a word sends no more of it.
_BODY_SECONDS: Final = 60.0
#: A body that the SDK refuses.
_UNREADABLE: Final = b"\0"


class CheckedPosts:
    """Checks the message of each POST before the SDK acts on it.

    A request is refused while another one of its session with the same id has no answer yet: the
    SDK would answer one of them with the other's result, and leave the other without an answer.

    Args:
        app: The SDK's application.
        most: Bytes of a body that it accepts.
        begins: Called before a client begins a session.
    """

    def __init__(self, app: ASGIApp, most: int, begins: Callable[[], Awaitable[None]]) -> None:
        self._app = app
        self._begins = begins
        self._most = most
        self._open: dict[tuple[bytes, str], asyncio.Event] = {}
        self._ids = NumericTexts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        session = dict(scope["headers"]).get(b"mcp-session-id", b"")
        post = _ReceivedPost(receive, session, self._most, self._begins, self._ids, self._open)

        async def sent(message: Message) -> None:
            if post.refusal is None:
                await send(message)

        try:
            await self._app(scope, post.received, sent)
        finally:
            post.end()
        if post.refusal is not None:
            await post.refusal(scope, receive, send)


@attrs.define(eq=False)
class _ReceivedPost:
    """One POST, whose body is read as a whole before the SDK sees any of it."""

    receive: Receive
    session: bytes
    most: int
    begins: Callable[[], Awaitable[None]]
    ids: NumericTexts
    open: dict[tuple[bytes, str], asyncio.Event]
    #: The answer in place of the SDK's.
    refusal: Response | None = attrs.field(default=None, init=False)
    _begun: bool = attrs.field(default=False, init=False)
    _key: tuple[bytes, str] | None = attrs.field(default=None, init=False)

    async def received(self) -> Message:
        """The whole body at first; one that the SDK refuses if its message is refused."""
        if self._begun:
            return await self.receive()
        self._begun = True
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                body, whole = await self._read()
        except TimeoutError:
            text = f"the body of the request did not come within {_BODY_SECONDS:g} seconds"
            self.refusal = PlainTextResponse(text, 408, headers={"Connection": "close"})
            body, whole = _UNREADABLE, False
        shown = await self._checked(body) if whole else body
        return {"type": "http.request", "body": shown, "more_body": False}

    async def _read(self) -> tuple[bytes, bool]:
        """The body, and whether it is whole; it is not if it is too long, or the client is gone."""
        body, message = bytearray(), await self.receive()
        while message["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body", False):
                return bytes(body), True
            if len(body) > self.most:
                return bytes(body), False
            message = await self.receive()
        self.refusal = Response(status_code=400)  # which nobody reads
        return _UNREADABLE, False

    async def _checked(self, body: bytes) -> bytes:
        message = read_message(body)
        if isinstance(message, RefusedMessage):
            if message.answer.error.code == types.PARSE_ERROR:
                return body  # the SDK answers it, or reads more than JSON
            self.refusal = _refusal(message.answer)
        elif message is None or (self.session and not self.ids.allows(message, self.session)):
            self.refusal = Response(status_code=202)
        elif isinstance(message, types.JSONRPCRequest) and not await self._take(message.id):
            text = "a request of this session with the same id has no answer yet; use another id"
            error = types.ErrorData(code=types.INVALID_REQUEST, message=text)
            self.refusal = _refusal(types.JSONRPCError(jsonrpc="2.0", id=None, error=error))
        elif isinstance(message, types.JSONRPCRequest) and message.method == "initialize":
            if not self.session:
                await self.begins()
        elif isinstance(message, types.JSONRPCError):  # perhaps in place of a malformed response
            return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        return body if self.refusal is None else _UNREADABLE

    async def _take(self, id_: str | int) -> bool:
        """Whether the id of a request is free, also where another one with it is just ending."""
        if not self.session:
            return True
        key = (self.session, str(id_))  # the SDK does not tell 7 from "7"
        if key in self.open:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.open[key].wait(), _ENDING_SECONDS)
        if key in self.open:
            return False
        self.open[key], self._key = asyncio.Event(), key
        return True

    def end(self) -> None:
        """Free the id of the request."""
        if self._key is not None:
            self.open.pop(self._key).set()


def _refusal(answer: types.JSONRPCError) -> Response:
    return JSONResponse(answer.model_dump(by_alias=True, exclude_unset=True), 400)
