"""Tools of MCP servers as functions in code, under `mcp.<server>.<tool>`.

The plugin `mcp` uses the servers that are a part of the offer (`interpstack_mcp.api.McpServers`);
`interpstack_mcp.api.mcp` makes a plugin object with servers of its own.
"""

from __future__ import annotations

from typing import Any

from interpstack import BridgeRegistry, Cell, HostOffer, InterpreterStack, Session, hookimpl

try:
    from interpstack_mcp.plugin import McpPlugin
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"interpstack_mcp needs {error.name}; install the extra with: "
        "pip install 'interpstack[mcp]'",
        name=error.name,
    ) from error

_PLUGIN = McpPlugin()


@hookimpl
def interpstack_register_bridges(
    register: BridgeRegistry, stack: InterpreterStack, offer: HostOffer
) -> None:
    _PLUGIN.interpstack_register_bridges(register, stack, offer)


@hookimpl
def interpstack_prompt_section(stack: InterpreterStack, offer: HostOffer) -> str | None:
    return _PLUGIN.interpstack_prompt_section(stack, offer)


@hookimpl
def interpstack_wrap_eval(session: Session, cell: Cell) -> Any:
    return _PLUGIN.interpstack_wrap_eval(session, cell)


@hookimpl
async def interpstack_session_closing(session: Session) -> None:
    await _PLUGIN.interpstack_session_closing(session)
