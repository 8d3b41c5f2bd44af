"""Reasons in the errors for requests that do not fit the protocol.

The SDK answers each of them, and each request before `initialize`, with the same words.
"""

from __future__ import annotations

from typing import Any

from mcp import types
from mcp.server.context import CallNext
from mcp.shared.exceptions import MCPError
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from interpstack_mcp.faults import fault_of

__all__ = ["explained_faults"]


async def explained_faults(ctx: Any, call_next: CallNext) -> Any:
    """Answer a request, as a middleware of the SDK; an error says what is wrong with the request.

    Raises:
        MCPError: The request does not fit the protocol, or its handler raised this error.
    """
    try:
        return await call_next(ctx)
    except ValidationError as error:
        text = f"the request does not fit the protocol: {fault_of(error)}"
        raise MCPError(types.INVALID_PARAMS, text) from error
    except MCPError as error:
        # Handlers are not reached before `initialize`, so this is the SDK's own error.
        early = (
            ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
            and ctx.session.client_params is None
            and ctx.method != "initialize"
        )
        if not early or error.code != types.INVALID_PARAMS:
            raise
        text = f"{ctx.method} came before initialize: send initialize first"
        raise MCPError(types.INVALID_PARAMS, text) from error
