"""Tools of MCP servers as LangChain tools, so that calls of code pass all rules of the agent."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextvars import ContextVar
from typing import Any

import attrs
from langchain_core.tools import BaseTool

from interpstack import CellContext, ConfigurationError, HostTool, install_command
from interpstack_langchain.evals.eval_call import EvalCall
from interpstack_langchain.tools.tool_calls import host_tool

__all__ = ["Servers", "servers_of"]

#: The call that runs, and the event loop of its eval.
_calling: ContextVar[tuple[CellContext, asyncio.AbstractEventLoop]] = ContextVar(
    "interpstack_mcp_call"
)


class _McpTool(BaseTool):
    """A tool of an MCP server, as the agent's tool node runs tools."""

    host: Any

    def _run(self, /, **fields: Any) -> Any:
        # A graph without an event loop runs tools in threads; the connection stays on its loop.
        context, loop = _calling.get()
        return asyncio.run_coroutine_threadsafe(self.host.call(fields, context), loop).result()

    async def _arun(self, /, **fields: Any) -> Any:
        return await self.host.call(fields, _calling.get()[0])


def _adapted(tool: HostTool) -> HostTool:
    """A tool whose calls pass the approvals, the limits and the middleware of the agent."""
    native = _McpTool(
        name=tool.name,
        description=tool.description or tool.name,
        args_schema=dict(tool.input_schema),
        host=tool,
    )
    made = host_tool(native)

    async def call(given: dict[str, Any], context: CellContext) -> Any:
        _calling.set((context, asyncio.get_running_loop()))  # each call runs in a task of its own
        _report_progress(tool.name, context)
        return await made.call(given, context)

    return attrs.evolve(tool, call=call, passes=made.passes)


def _report_progress(tool: str, context: CellContext) -> None:
    """Send the progress that a server reports to the graph's custom stream."""
    from interpstack_mcp.api import McpProgress, listen_to_progress

    running: EvalCall = context.host
    if running.progress.send is None or not running.tells_tools:
        return
    event = {"type": "tool", "id": running.event_id(context), "tool": tool, "phase": "progress"}

    def report(made: McpProgress) -> None:
        said = {"progress": made.progress, "total": made.total, "message": made.message}
        running.progress.emit({**event, **said})

    listen_to_progress(report)


@attrs.frozen(eq=False, repr=False)
class Servers:
    """The MCP servers of one middleware.

    Attributes:
        connections: An `McpServers`.
        names: Names of the servers in the configuration.
    """

    connections: Any
    names: frozenset[str]

    def opened(self, approved: Collection[str] | None) -> list[object]:
        """Keep connections open until `close`, and return the parts of each offer.

        Args:
            approved: Names in `interrupt_on`.
        """
        from interpstack_mcp.api import McpCalls

        self.connections.enter(self)
        required = frozenset(name for name in approved or () if name.startswith("mcp."))
        return [self.connections, McpCalls(_adapted, required)]

    async def close(self) -> None:
        """Let go of the connections."""
        await self.connections.leave(self)


def servers_of(given: Any) -> Servers | None:
    """The servers of the middleware's argument.

    Raises:
        ConfigurationError: The configuration is wrong, or the extra is not installed.
    """
    if given is None:
        return None
    try:
        from interpstack_mcp.api import McpServers
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"mcp needs the package {error.name}, which is not installed; install it with: "
            f"{install_command('mcp')}"
        ) from error
    connections = McpServers.of(given)
    return Servers(connections, frozenset(server.name for server in connections.servers))
