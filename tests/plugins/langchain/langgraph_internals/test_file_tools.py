"""Ways from the tools of a deep agent to its backend that deep agents do not show."""

from __future__ import annotations

from deepagents.backends import StateBackend
from deepagents.middleware.filesystem import FilesystemMiddleware
from langchain_core.tools import tool

from interpstack_langchain.langgraph_internals.file_tools import (
    READING,
    WRITING,
    backend_of,
    file_tools,
)


def test_the_backend_is_found_behind_each_file_tool() -> None:
    backend = StateBackend()
    found = file_tools(FilesystemMiddleware(backend=backend).tools)
    assert set(found) == {*READING, *WRITING}
    assert all(backend_of(one) is backend for one in found.values())


def test_tools_of_another_middleware_are_left_out() -> None:
    one, other = FilesystemMiddleware(), FilesystemMiddleware()
    tools = {tool.name: tool for tool in one.tools}
    tools |= {tool.name: tool for tool in other.tools if tool.name != "read_file"}
    assert set(file_tools(tools.values())) == {"read_file"}


def test_an_agent_with_a_read_file_of_its_own_has_no_file_tools() -> None:
    @tool
    def read_file(file_path: str) -> str:
        """Read a file."""
        return file_path

    others = [one for one in FilesystemMiddleware().tools if one.name != "read_file"]
    assert file_tools([read_file, *others]) == {}
    assert file_tools([]) == {}
