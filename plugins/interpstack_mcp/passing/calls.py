"""Requests of a client that servers work on, and questions to the client on the way."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any, Final

import attrs
from mcp import types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

from interpstack_mcp.faults import fault_of
from interpstack_mcp.serving.runs import Outlasting

__all__ = ["Answer", "PassedRequest", "ask_client", "is_modern"]

#: Seconds that a client, or its person, has for an answer.
_SECONDS: Final = 600.0
#: Begins the state by which a client's next request finds its call again.
_STATE: Final = "interpstack-call/"
#: What a client answers to a question.
Answer = types.InputResponse | types.ErrorData
_KINDS: Final[dict[type[Any], tuple[type[Any], ...]]] = {
    types.CreateMessageRequest: (types.CreateMessageResult, types.CreateMessageResultWithTools),
    types.ElicitRequest: (types.ElicitResult,),
    types.ListRootsRequest: (types.ListRootsResult,),
}


def is_modern(ctx: Any) -> bool:
    """Whether a client is asked between two of its requests, as the protocol since 2026 has it."""
    return ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS


async def ask_client(session: Any, request: Any, related: Any = None) -> Answer:
    """Ask a client by a request of the server's own.

    Args:
        session: The session of the client.
        request: The question.
        related: The id of the client's request that it belongs to; `None` for none.
    """
    kinds = _KINDS[type(request)]
    with_tools = getattr(request.params, "tools", None) is not None
    try:
        return await session.send_request(  # type: ignore[no-any-return]
            request,
            kinds[-1] if with_tools else kinds[0],
            _SECONDS,
            metadata=ServerMessageMetadata(related_request_id=related),
        )
    except MCPError as error:
        return error.error
    except ValueError as error:
        text = f"the client's answer does not fit the protocol: {fault_of(error)}"
        return types.ErrorData(code=types.INTERNAL_ERROR, message=text)


@attrs.define(eq=False)
class _Question:
    request: Any
    answer: asyncio.Future[Answer] = attrs.field(
        factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def open(self) -> bool:
        return not self.answer.done()


@attrs.define(eq=False)
class PassedRequest(Outlasting[Any]):
    """One request of a client, which goes on from one request to the next where clients do so.

    Attributes:
        ctx: The newest request of the client that waits for the answer.
        key: Identifies the call; random, so that nobody else can guess it.
    """

    ctx: Any
    key: str = attrs.field(factory=lambda: secrets.token_urlsafe(16))
    _questions: dict[str, _Question] = attrs.field(factory=dict, init=False)

    @staticmethod
    def key_in(state: str | None) -> str | None:
        """The key of the call that a client's request goes on with; `None` for a new call."""
        return state.removeprefix(_STATE) if state and state.startswith(_STATE) else None

    async def ask(self, request: Any) -> Answer:
        """Ask the client."""
        if not is_modern(self.ctx):
            return await ask_client(self.ctx.session, request, self.ctx.request_id)
        key, question = secrets.token_hex(8), _Question(request)
        self._questions[key] = question
        self._news.set()
        try:
            async with asyncio.timeout(_SECONDS):
                answer = await question.answer
        except TimeoutError:
            text = f"nobody answered in {_SECONDS:g} seconds"
            return types.ErrorData(code=types.REQUEST_TIMEOUT, message=text)
        finally:
            del self._questions[key]
        if isinstance(answer, (types.ErrorData, *_KINDS[type(request)])):
            return answer
        text = "the client's answer does not match the kind of the question"
        return types.ErrorData(code=types.INVALID_PARAMS, message=text)

    # -- the side of a client that is asked between two requests ------------------------------

    async def follow(self, ctx: Any, responses: types.InputResponses | None = None) -> Any:
        """Wait for the result, or for a question to the client.

        Args:
            ctx: The client's request.
            responses: The answers that it brings.

        Returns:
            The result; an `InputRequiredResult` while the client has questions to answer.
        """
        self.ctx = ctx
        for key, response in (responses or {}).items():
            question = self._questions.get(key)
            if question is not None and not question.answer.done():
                question.answer.set_result(response)
        if self._task is None:
            raise RuntimeError("the call was not started")
        try:
            while not self._task.done():
                self._news.clear()
                if asked := {k: one.request for k, one in self._questions.items() if one.open}:
                    return types.InputRequiredResult(
                        input_requests=asked, request_state=f"{_STATE}{self.key}"
                    )
                await self._news.wait()
        except asyncio.CancelledError:
            await self.stop()
            raise
        return self._task.result()
