"""Public names of the plugin: servers for code, logins at them, and code as a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from interpstack_mcp.connections.servers import McpProgress, McpServers, listen_to_progress
from interpstack_mcp.limits import McpLimits
from interpstack_mcp.oauth.login import LoginFailed, log_in, log_out
from interpstack_mcp.plugin import McpCalls, McpPlugin
from interpstack_mcp.serving.clients import ServerLimits
from interpstack_mcp.serving.gate import GATE
from interpstack_mcp.serving.oauth import OAuthResource
from interpstack_mcp.serving.server import CodeServer
from interpstack_mcp.serving.transports import HttpOptions, http_app, serve_http
from interpstack_mcp.serving.wire.stdio import serve_stdio

__all__ = [
    "GATE",
    "CodeServer",
    "HttpOptions",
    "LoginFailed",
    "McpCalls",
    "McpLimits",
    "McpPlugin",
    "McpProgress",
    "McpServers",
    "OAuthResource",
    "ServerLimits",
    "http_app",
    "listen_to_progress",
    "log_in",
    "log_out",
    "mcp",
    "serve_http",
    "serve_stdio",
]


def mcp(
    servers: Mapping[str, Any] | str | Path | McpServers,
    *,
    auth: Mapping[str, Any] | None = None,
    limits: McpLimits | None = None,
    on_progress: Callable[[McpProgress], object] | None = None,
) -> McpPlugin:
    """A plugin that lets code call the tools of MCP servers.

    ```python
    stack = InterpreterStack(plugins=["console", mcp("servers.json")])
    ```

    Args:
        servers: The usual `mcpServers` JSON: the path of a file, or its content; or `McpServers`,
            to share connections with other stacks, which have the other arguments already.
        auth: An `httpx2.Auth`, such as the SDK's `OAuthClientProvider`, for servers by name.
        limits: Limits of everything that servers send.
        on_progress: Receives the progress of calls, on the event loop of the cell; not async.

    Raises:
        ConfigurationError: The configuration or another argument is wrong.
    """
    made = McpServers.of(servers, auth=auth, limits=limits, on_progress=on_progress)
    return McpPlugin(made)
