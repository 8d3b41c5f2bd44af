"""Questions of one server: which request of the client they belong to, and how it is asked."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol

import attrs
from mcp import types

from interpstack_mcp.passing.calls import Answer, PassedRequest, ask_client, is_modern
from interpstack_mcp.passing.sending import SendQueue
from interpstack_mcp.serving.approvals import takes_forms

__all__ = ["Downstream", "Questions", "refusal"]


class Downstream(Protocol):
    """The client of a server's connection.

    Attributes:
        alone: Whether the connection belongs to one client, whatever asks for it.
        capabilities: What the client can do.
        level: The least serious log messages that it wants; empty for all.
        session: The client's session in the SDK, as of its newest request.
        queue: Sends messages to the client.
    """

    alone: bool
    capabilities: types.ClientCapabilities
    level: str
    session: Any
    queue: SendQueue

    def changed(self, notification: Any) -> Awaitable[None]:
        """Tell the client of a change."""


@attrs.define(eq=False)
class Questions:
    """Asks the client of a server's connection.

    Attributes:
        client: The client.
    """

    client: Downstream
    _calls: list[PassedRequest] = attrs.field(factory=list, init=False)

    def begin(self, call: PassedRequest) -> None:
        """Note a request that the server works on."""
        self._calls.append(call)

    def end(self, call: PassedRequest) -> None:
        """Note the end of the work."""
        self._calls.remove(call)

    @property
    def abilities(self) -> types.ClientCapabilities:
        """The abilities that a server is offered: all that the client can be asked."""
        can = self.client.capabilities
        return types.ClientCapabilities(
            sampling=can.sampling, elicitation=can.elicitation, roots=can.roots
        )

    def callbacks(self) -> dict[str, Any]:
        """The callbacks for what the client can do, and the protocol that it speaks.

        Servers of both generations ask in another way in each, and some only in one of them.
        """
        can = self.client.capabilities
        modern = is_modern(self.client.session)
        callbacks: dict[str, Any] = {} if modern else {"mode": "legacy"}
        if can.sampling is not None:
            callbacks |= {
                "sampling_callback": self._sample,
                "sampling_capabilities": can.sampling,
            }
        if can.elicitation is not None:
            callbacks["elicitation_callback"] = self._elicit
        if can.roots is not None:
            callbacks["list_roots_callback"] = self._roots
        return callbacks

    async def _sample(self, ctx: Any, params: types.CreateMessageRequestParams) -> Answer:
        return await self._ask(types.CreateMessageRequest(params=_without_token(params)))

    async def _elicit(self, ctx: Any, params: types.ElicitRequestParams) -> Answer:
        return await self._ask(types.ElicitRequest(params=_without_token(params)))

    async def _roots(self, ctx: Any) -> Answer:
        return await self._ask(types.ListRootsRequest())

    async def _ask(self, request: Any) -> Answer:
        if (refused := refusal(self.client.capabilities, request)) is not None:
            return refused
        call = self.call()
        if call is not None:
            return await call.ask(request)
        if self.client.alone and not is_modern(self.client.session):
            return await ask_client(self.client.session, request)
        text = "no request of the client waits with which it could be asked"
        return types.ErrorData(code=types.INVALID_REQUEST, message=text)

    def call(self) -> PassedRequest | None:
        """The request that the server works on; `None` if there is none, or it is not certain."""
        if not self._calls or (len(self._calls) > 1 and not self.client.alone):
            return None
        return self._calls[-1]


def refusal(can: types.ClientCapabilities, request: Any) -> types.ErrorData | None:
    """The error of a question that a client cannot answer; `None` if it can.

    Args:
        can: What the client can do.
        request: The question.
    """
    if isinstance(request, types.CreateMessageRequest):
        if can.sampling is None:
            return _refused("the client has no model to ask")
        if request.params.tools is not None and can.sampling.tools is None:
            return _refused("the client's model cannot use tools")
    elif isinstance(request, types.ListRootsRequest):
        return None if can.roots is not None else _refused("the client has no roots")
    elif isinstance(request, types.ElicitRequest):
        if request.params.mode == "url":
            if can.elicitation is None or can.elicitation.url is None:
                return _refused("the client cannot open an address for a person")
        elif not takes_forms(can):
            return _refused("the client cannot show a form to a person")
    return None


def _refused(text: str) -> types.ErrorData:
    return types.ErrorData(code=types.INVALID_PARAMS, message=text)


def _without_token(params: Any) -> Any:
    """The parameters of a question, without the server's token for its progress."""
    meta = {k: v for k, v in (params.meta or {}).items() if k != "progress_token"}
    return params.model_copy(update={"meta": meta or None})
