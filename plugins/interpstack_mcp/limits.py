"""Limits of everything that a server sends; servers are not trusted."""

from __future__ import annotations

from typing import Final

import attrs

from interpstack.checks import positive

__all__ = ["McpLimits"]

_MIB: Final = 2**20
_COUNT: Final = positive(int, optional=False, of="McpLimits")
_SECONDS: Final = positive(float, optional=False, of="McpLimits")


@attrs.frozen(kw_only=True)
class McpLimits:
    """Limits of the connections to MCP servers.

    Attributes:
        connect_seconds: Time from the start of a server to its list of tools.
        call_seconds: Time of one call; the cell's own limits hold as well.
        message_bytes: Bytes of one message of a server.
        message_values: Values in one message, including those inside lists and objects.
        blocks: Content blocks of one result.
        tools: Tools of one server; also its prompts, its resources and its templates, if they are
            offered to clients. A longer list is refused.
        tool_bytes: Bytes of one tool's description and schemas, as JSON. A larger tool is not
            offered, and a notice names it. Larger prompts, resources and templates are named in the
            log.
        progress: Progress notifications of one call that are passed on.

    Raises:
        ConfigurationError: A value is not a number above 0.
    """

    connect_seconds: float = attrs.field(default=30.0, validator=_SECONDS)
    call_seconds: float = attrs.field(default=600.0, validator=_SECONDS)
    message_bytes: int = attrs.field(default=16 * _MIB, validator=_COUNT)
    message_values: int = attrs.field(default=250_000, validator=_COUNT)
    blocks: int = attrs.field(default=2000, validator=_COUNT)
    tools: int = attrs.field(default=1000, validator=_COUNT)
    tool_bytes: int = attrs.field(default=64 * 1024, validator=_COUNT)
    progress: int = attrs.field(default=1000, validator=_COUNT)
