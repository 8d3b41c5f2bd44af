"""Approvals of calls that a client makes itself, and not by code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from mcp import types

from interpstack import ConfigurationError, GuestLanguage
from interpstack_mcp.call_names import CallName
from interpstack_mcp.catalog import code_name
from interpstack_mcp.passing.calls import PassedRequest
from interpstack_mcp.serving.approvals import FORM, ApprovalPatterns, decided, takes_forms
from interpstack_mcp.serving.gate import shown_arguments

__all__ = ["Approving"]


@attrs.frozen
class Approving:
    """Asks for the approvals of calls, by the same patterns as for calls of code.

    Attributes:
        patterns: The patterns.
        language: The language of the code, by whose spelling patterns may name tools, too.
    """

    patterns: ApprovalPatterns
    language: GuestLanguage

    async def refusal(
        self, call: PassedRequest, server: str, tool: str, arguments: Mapping[str, Any]
    ) -> str:
        """The reason why a call is not made; empty if it may be made.

        Args:
            call: The client's request.
            server: The server's name in the configuration.
            tool: The tool's name at the server.
            arguments: Its arguments.
        """
        name = f"mcp.{server}.{tool}"
        if not self.patterns.match({name, code_name(server, tool, self.language) or name}):
            return ""
        if not takes_forms(call.ctx.session.client_capabilities):
            return "it needs an approval, and this client cannot ask for one"
        try:
            shown = shown_arguments(arguments)
        except ValueError as error:
            return str(error)
        text = f"This client wants to call {name} with {shown}. Allow this call?"
        form = types.ElicitRequestFormParams(message=text, requested_schema=FORM)
        answer = await call.ask(types.ElicitRequest(params=form))
        if not isinstance(answer, types.ElicitResult):
            why = getattr(answer, "message", "")
            return f"the client could not ask for an approval: {why}"[:500]
        decision = decided(answer)
        return "" if decision is True else str(decision)

    def check(self, server: str, tools: frozenset[str]) -> None:
        """Refuse patterns that name no tool: a misspelt name would let calls pass without them.

        Raises:
            ConfigurationError: A pattern names a tool that the server does not have.
        """
        names = {tool: f"mcp.{server}.{tool}" for tool in sorted(tools)}
        for required in map(CallName, sorted(self.patterns.required)):
            if required.server([server]) is None or any(
                required.match((name, code_name(server, tool, self.language) or name))
                for tool, name in names.items()
            ):
                continue
            raise ConfigurationError(
                f"{required.given!r} needs an approval, but MCP server {server!r} has no such "
                f"tool; it has: {', '.join([*names.values()][:20])}"
            )
