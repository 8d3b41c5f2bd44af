"""Approvals: which calls need one, and how a client is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import attrs
from mcp import types
from mcp.shared.exceptions import MCPError
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

from interpstack import ConfigurationError, HostOffer, InterpreterStack
from interpstack.checks import shown
from interpstack_mcp.call_names import MARK, CallName
from interpstack_mcp.connections.servers import McpServers
from interpstack_mcp.faults import fault_of
from interpstack_mcp.serving.runs import ApprovalQuestion

__all__ = ["FORM", "ApprovalPatterns", "answered", "asked", "decided", "takes_forms"]

#: Seconds that a person has for an answer.
_SECONDS: Final = 600.0
#: The form that a person fills in.
FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Allow this call"}},
    "required": ["allow"],
}


@attrs.frozen
class ApprovalPatterns:
    """Names of calls that need an approval, and patterns such as `glob:mcp.files.*`."""

    patterns: tuple[str, ...] = ()

    def match(self, names: Iterable[str]) -> bool:
        """Whether a call needs an approval, by the names of its bridge and its tool."""
        given = {*names}
        return any(one.match(given) for one in map(CallName, self.patterns))

    @property
    def required(self) -> frozenset[str]:
        """Names and patterns that must mean tools of MCP servers once these are connected."""
        return frozenset(one for one in self.patterns if CallName(one).text.startswith("mcp."))

    def check(self, stack: InterpreterStack, offer: HostOffer) -> None:
        """Refuse a name that no call can have: calls would run without their approval.

        Raises:
            ConfigurationError: There is no such bridge, tool or server.
        """
        bridges = stack.bridge_set(offer)
        known = {name for bridge in bridges for name in (bridge.name, bridge.tool) if name}
        servers = offer.part(McpServers)
        reached = [one.name for one in servers.servers] if servers is not None else []
        for name in map(CallName, self.patterns):
            if name.match(known):
                continue
            if "*" in name.text and not name.is_pattern:
                raise ConfigurationError(
                    f"approve names {name.given!r}, which is not the name of a call; mark a "
                    f"pattern, as in {MARK + name.given!r}"
                )
            if any(_may_mean(name, server) for server in reached):
                continue
            listed = ", ".join(sorted(known)[:20])
            raise ConfigurationError(
                f"approve names {name.given!r}, which code cannot call, so the rule would have no "
                f"effect; code can call: {listed}. Tools of MCP servers are mcp.SERVER.TOOL, as "
                "the configuration and the server name them"
            )


def _may_mean(name: CallName, server: str) -> bool:
    """Whether a name or a pattern may mean a tool of a server, which is not listed yet."""
    own, sure = f"mcp.{server}.", name.text.partition("*")[0]
    return sure.startswith(own) if sure == name.text else own.startswith(sure[: len(own)])


def takes_forms(can: types.ClientCapabilities | None) -> bool:
    """Whether a client shows forms to a person; one that names no mode of elicitation does."""
    elicitation = None if can is None else can.elicitation
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


async def asked(
    ctx: Any, questions: Sequence[ApprovalQuestion], state: Callable[[], str]
) -> types.InputRequiredResult | None:
    """Ask a client, by elicitation.

    Args:
        ctx: The client's request.
        questions: The open questions.
        state: Makes the text by which the client's next request finds the cell again.

    Returns:
        The answer to the request, where the client asks between two requests; `None` if all
        questions are settled.
    """
    if not takes_forms(ctx.session.client_capabilities):
        for question in questions:
            question.settle("it needs an approval, and this client cannot ask for one")
        return None
    if ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        requests: types.InputRequests = {
            one.key: types.ElicitRequest(
                params=types.ElicitRequestFormParams(message=one.text, requested_schema=FORM)
            )
            for one in questions
        }
        for one in questions:  # a client that does not come back must not keep its cell for ever
            one.expire(_SECONDS, f"nobody answered in {_SECONDS:g} seconds")
        return types.InputRequiredResult(input_requests=requests, request_state=state())
    for question in questions:
        question.settle(await _elicited(ctx, question))
    return None


async def _elicited(ctx: Any, question: ApprovalQuestion) -> bool | str:
    try:
        async with asyncio.timeout(_SECONDS):
            answer = await ctx.session.elicit_form(
                question.text, FORM, related_request_id=ctx.request_id
            )
    except TimeoutError:
        return f"nobody answered in {_SECONDS:g} seconds"
    except MCPError as error:
        return f"the client could not ask for an approval: {error}"[:500]
    except ValueError as error:
        return f"the client's answer does not fit the protocol: {fault_of(error)}"
    return decided(answer)


def answered(questions: Sequence[ApprovalQuestion], responses: types.InputResponses | None) -> None:
    """Settle questions by the responses of a client that asked between two requests."""
    for question in questions:
        response = (responses or {}).get(question.key)
        if isinstance(response, types.ElicitResult):
            question.settle(decided(response))


def decided(answer: types.ElicitResult) -> bool | str:
    """The decision of a person: `True`, or the reason why a call is refused."""
    if answer.action != "accept":
        return "a person refused the call"
    allow = (answer.content or {}).get("allow")
    if allow is True:
        return True
    if allow is False:
        return "a person refused the call"
    return (
        "the client's answer was accepted by a person, but its content does not say true or false "
        f"as allow; got {shown(allow)}"
    )
