"""The file tools of a deep agent, and the backend behind them.

The backend is a public attribute of deep agents' `FilesystemMiddleware`, but nothing public leads
from an agent, a request or a tool to that middleware. Its tools are functions inside of its
methods, so each of them has the middleware among the variables around it. The rules for reading are
in no public attribute; they are applied by calling the tools, never read.

The test module `test_file_tools` shows what breaks if deep agents change that: then code has no
`files`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from langchain_core.tools import BaseTool, StructuredTool

from interpstack_langchain.langgraph_internals.tool_chains import variables_around

if TYPE_CHECKING:
    from deepagents.backends.protocol import BackendProtocol

__all__ = ["READING", "WRITING", "backend_of", "file_tools"]

READING: Final = ("read_file", "ls", "glob")
WRITING: Final = ("write_file", "edit_file", "delete")


def file_tools(tools: Iterable[BaseTool]) -> Mapping[str, StructuredTool]:
    """The tools of an agent that are the file tools of one deep agents' middleware, by name.

    Empty for an agent without the tool `read_file` of such a middleware.
    """
    named = {
        tool.name: tool
        for tool in tools
        if tool.name in READING + WRITING and isinstance(tool, StructuredTool)
    }
    owner = _owner(named.get("read_file"))
    if owner is None:
        return {}
    return {name: tool for name, tool in named.items() if _owner(tool) is owner}


def backend_of(tool: StructuredTool) -> BackendProtocol:
    """The backend behind a tool that `file_tools` returned."""
    owner = _owner(tool)
    assert owner is not None  # noqa: S101 - `file_tools` has found it
    backend: BackendProtocol = owner.backend
    return backend


def _owner(tool: StructuredTool | None) -> Any:
    """The middleware of a file tool; `None` for another tool."""
    module = sys.modules.get("deepagents.middleware.filesystem")
    if module is None or tool is None:  # no agent can have it
        return None
    around = variables_around(tool.coroutine)
    return next(
        (one for one in around.values() if isinstance(one, module.FilesystemMiddleware)), None
    )
