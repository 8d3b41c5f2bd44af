"""The files of a deep agent as a source of files for code.

Every access is a call of the agent's own file tool, through all of the agent's middleware, so its
permissions, approvals, limits and state updates apply as if the model had made the call. To write,
the tools themselves are called. To read, copies of the tools are called under their names: a copy
runs the tool first, which may refuse, and then returns the raw content from the backend in place of
the tool's text, whose lines are numbered and cut.
"""

from __future__ import annotations

import ast
import asyncio
import base64
import errno
import functools
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from weakref import WeakKeyDictionary

from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool

from interpstack import CellContext, GuestException, HostTool
from interpstack_files.api import (
    FileEntry,
    FileLimitExceeded,
    FileLimits,
    FileSource,
    Pattern,
    missing_file,
)
from interpstack_langchain.evals.eval_call import PASSES, EvalCall, running_eval
from interpstack_langchain.langgraph_internals.file_tools import backend_of
from interpstack_langchain.tools.tool_calls import host_tool, run_tool
from interpstack_langchain.tools.wrapped_tools import native_tool

__all__ = ["AgentFiles"]

_NO_FILE: Final = "there is no such file"
_CUT: Final = (
    "the agent's tool {tool} cannot tell all that is there; use a folder further down or a "
    "narrower pattern"
)
_CHANGED: Final = "middleware of the agent changed the answer of {tool} to one without its content"
#: What backends say of a folder that is read as a file.
_FOLDER: Final = "is_directory"
_REPLACED: Final = re.compile(r"replaced (\d+) ")
_NOT_FOUND: Final = re.compile(r"(File )?'.*' not found", re.DOTALL)
_SYSTEM: Final = re.compile(r"\[Errno (\d+)\]")


class AgentFiles(FileSource):
    """The files of one agent.

    Args:
        tools: The agent's file tools, by name, as `file_tools` returns them.
    """

    passes = PASSES
    tools: Mapping[str, str] = {
        "read": "read_file",
        "read_bytes": "read_file",
        "read_lines": "read_file",
        "list": "ls",
        "stat": "ls",
        "glob": "glob",
        "write": "write_file",
        "append": "write_file",
        "edit": "edit_file",
        "delete": "delete",
    }

    def __init__(self, tools: Mapping[str, StructuredTool]) -> None:
        self._raw = {"read_file": _raw_read_file(tools)}
        if "ls" in tools:
            self._raw["ls"] = _raw_ls(tools["ls"])
        self._own = dict(tools)
        if "edit_file" in tools:
            self._own["edit_file"] = _lone_edit_file(tools["edit_file"], self.changing)
        self._callable: dict[tuple[str, bool], HostTool] = {}
        self._locks: WeakKeyDictionary[EvalCall, asyncio.Lock] = WeakKeyDictionary()

    def changing(self, running: EvalCall) -> asyncio.Lock:
        """The lock of an eval on files that are read and then written."""
        return self._locks.setdefault(running, asyncio.Lock())

    def callable_tool(self, name: str, *, raw: bool) -> HostTool:
        """The tool of this name, or its copy that returns raw content, as code calls it.

        Raises:
            PermissionError: The agent has no such tool.
        """
        known = self._callable.get((name, raw))
        if known is None:
            known = self._callable[name, raw] = host_tool(self.tool(name, raw=raw))
        return known

    def tool(self, name: str, *, raw: bool) -> StructuredTool:
        """The tool that `callable_tool` calls."""
        tools = self._raw if raw else self._own
        if name not in tools:
            raise PermissionError(f"the agent has no tool {name} by which code could do this")
        return tools[name]

    def within(self, context: CellContext) -> FileSource:
        return _CallFiles(self, context)

    async def read(self, path: str, limits: FileLimits) -> bytes:
        raise AssertionError("`within` comes first")

    async def entries(self, path: str, limits: FileLimits) -> Sequence[FileEntry]:
        raise AssertionError("`within` comes first")

    async def stat(self, path: str) -> FileEntry:
        raise AssertionError("`within` comes first")


class _CallFiles(FileSource):
    """The source as one call of code uses it."""

    def __init__(self, files: AgentFiles, context: CellContext) -> None:
        self._files = files
        self._context = context

    async def read(self, path: str, limits: FileLimits) -> bytes:
        data = _bytes_of(await self._call("read_file", {"file_path": path}, raw=True))
        if len(data) > limits.file_bytes:
            raise FileLimitExceeded("file_bytes", f"{len(data)} bytes")
        return data

    async def read_lines(
        self, path: str, first: int, last: int | None, limits: FileLimits
    ) -> Sequence[str]:
        data = _bytes_of(await self._call("read_file", {"file_path": path}, raw=True))
        lines = data.split(b"\n")
        if not lines[-1]:
            del lines[-1]
        chosen = [line.removesuffix(b"\r") for line in lines[first - 1 : last]]
        if sum(map(len, chosen)) + len(chosen) > limits.file_bytes:
            raise FileLimitExceeded("file_bytes")
        return [line.decode() for line in chosen]

    async def entries(self, path: str, limits: FileLimits) -> Sequence[FileEntry]:
        found = await self._call("ls", {"path": path}, raw=True)
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise ValueError(_CHANGED.format(tool="ls"))
        return sorted(map(_entry, found), key=lambda one: one.path)

    async def stat(self, path: str) -> FileEntry:
        if path == "/":
            return FileEntry(path="/", type="folder")
        entries = await self.entries(posixpath.dirname(path), FileLimits())
        for one in entries:
            if one.path == path:
                return one
        raise missing_file(path, [posixpath.basename(one.path) for one in entries])

    async def glob(self, pattern: Pattern, path: str, limits: FileLimits) -> Sequence[str]:
        text = str(await self._call("glob", {"pattern": pattern.text, "path": path}))
        return sorted(_paths_in(text, "glob"))

    async def write(self, path: str, data: bytes, limits: FileLimits) -> None:
        if path == "/":  # some backends would make a file of this name
            raise IsADirectoryError
        await self._call("write_file", {"file_path": path, "content": _text_of(data)})

    async def append(self, path: str, data: bytes, limits: FileLimits) -> None:
        running: EvalCall = self._context.host
        approvals = running.approvals
        if approvals is not None and approvals.rules.policies("read_file"):
            raise PermissionError(
                "append reads the file first, and reading may need an approval here; use read and "
                "write, whose calls are asked about one by one"
            )
        async with self._files.changing(running):
            before = await self._before(path)
            if len(before) + len(data) > limits.file_bytes:
                raise FileLimitExceeded("file_bytes", f"{len(before) + len(data)} bytes")
            await self.write(path, before + data, limits)

    async def _before(self, path: str) -> bytes:
        """The content of the file to append to; empty if there is none."""
        tool = native_tool(self._files.tool("read_file", raw=True))
        try:
            return _bytes_of(await run_tool(tool, {"file_path": path}, self._context))
        except GuestException as error:
            fault = _as_file_error(error)
            if isinstance(fault, FileNotFoundError):
                return b""
            raise fault from error

    async def edit(self, path: str, old: str, new: str, every: bool, limits: FileLimits) -> int:
        if path == "/":
            raise IsADirectoryError
        given: dict[str, Any] = {"file_path": path, "old_string": old, "new_string": new}
        if every:
            given["replace_all"] = True
        found = _REPLACED.search(str(await self._call("edit_file", given)))
        return int(found[1]) if found else 1

    async def delete(self, path: str, limits: FileLimits) -> None:
        if path == "/":  # the tool would delete all files, for a path that is empty, too
            raise PermissionError("it is the root of all files")
        await self._call("delete", {"file_path": path})

    async def _call(self, name: str, given: dict[str, Any], *, raw: bool = False) -> Any:
        tool = self._files.callable_tool(name, raw=raw)
        try:
            return await tool.call(given, self._context)
        except GuestException as error:
            raise _as_file_error(error) from error


def _as_file_error(error: GuestException) -> Exception:
    """A refusal of a tool as an error of a source; what a person or another rule said stays."""
    if error.error.name != "ToolError" or error.error.data:
        return error
    text = str(error).removeprefix("Error: ")
    if text.startswith(_NO_FILE) or "path_not_found" in text or _NOT_FOUND.fullmatch(text):
        return FileNotFoundError(text)
    system = _SYSTEM.search(text)  # without the rest, which names paths of the host
    if system:
        number = int(system[1])
        if number == errno.ENOENT:
            return FileNotFoundError(f"{_NO_FILE} or folder")
        # A file is in the way of a folder that is to be made.
        return OSError(errno.ENOTDIR if number == errno.EEXIST else number, "")
    if text == f"it cannot be read: {_FOLDER}" or text == _FOLDER:
        return IsADirectoryError()
    if "not_a_directory" in text:
        return NotADirectoryError()
    if text.startswith("permission denied"):
        return PermissionError(text)
    return ValueError(text)


# -- values --------------------------------------------------------------------------------


def _bytes_of(answer: Any) -> bytes:
    """The content that a raw tool returned, as middleware may have changed it."""
    if isinstance(answer, list) and len(answer) == 1 and isinstance(answer[0], Mapping):
        data = answer[0].get("data")
        if isinstance(data, str):
            return base64.b64decode(data)
    if not isinstance(answer, str):
        raise ValueError(_CHANGED.format(tool="read_file"))  # noqa: TRY004 - for the code
    return answer.encode()


def _text_of(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError(
            "the agent's tool write_file takes text, and these bytes are not UTF-8; write them as "
            "text, for example in Base64"
        ) from None


def _entry(about: Mapping[str, Any]) -> FileEntry:
    path = str(about["path"])
    is_folder = bool(about.get("is_dir")) or path.endswith("/")
    size, modified = about.get("size"), about.get("modified_at")
    return FileEntry(
        path="/" + path.strip("/"),
        type="folder" if is_folder else "file",
        size=size if isinstance(size, int) and not is_folder else None,
        modified=_time_of(modified) if modified else None,
    )


def _time_of(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text)).astimezone()
    except ValueError:
        return None


def _paths_in(text: str, tool: str) -> list[str]:
    """The paths that the text of `ls` or `glob` lists.

    Raises:
        ValueError: The text is cut short, or says that something is left out.
    """
    if text.startswith("No files found"):
        return []
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ValueError(_CUT.format(tool=tool))
    if not all(one.startswith("/") for one in found):  # the last one says so
        raise ValueError(_CUT.format(tool=tool))
    return found


# -- copies of the tools -------------------------------------------------------------------


def _lone_edit_file(
    tool: StructuredTool, changing: Callable[[EvalCall], asyncio.Lock]
) -> StructuredTool:
    """A copy of `edit_file` that runs alone: backends read the file, then write it.

    The lock is held while the tool runs, and not while a person decides about the call.
    """
    own = _coroutine(tool)

    @functools.wraps(own)
    async def edit(**given: Any) -> Any:
        async with changing(running_eval.get()):
            return await own(**given)

    return tool.model_copy(update={"func": None, "coroutine": edit})


def _raw_read_file(tools: Mapping[str, StructuredTool]) -> StructuredTool:
    """A copy of `read_file` that returns the whole content, as text or as one block with bytes."""
    tool, listing = tools["read_file"], tools.get("ls")
    backend, refuse = backend_of(tool), _coroutine(tool)

    @functools.wraps(refuse)
    async def read(**given: Any) -> Any:
        path = given["file_path"]
        # No lines are asked for: only whether they may be read.
        answer = await refuse(**{**given, "offset": 0, "limit": 0})
        refused = isinstance(answer, ToolMessage) and answer.status == "error"
        if refused and not await is_of_backend(path, answer):
            return answer
        path = _validated(path)
        (found,) = await backend.adownload_files([path])
        if found.content is None:
            if found.error == "file_not_found":
                return await missing(path, given, answer)
            return _error(answer, f"it cannot be read: {found.error}")
        try:
            return found.content.decode()
        except UnicodeDecodeError:
            data = base64.b64encode(found.content).decode("ascii")
            return [{"type": "file", "base64": data, "mime_type": "application/octet-stream"}]

    async def is_of_backend(path: str, answer: ToolMessage) -> bool:
        """Whether the backend says what the tool says, so that the agent's rules allow the call."""
        try:
            found = await backend.aread(_validated(path), offset=0, limit=0)
        except ValueError:
            return False
        return found.error is not None and answer.text == f"Error: {found.error}"

    async def missing(path: str, given: Mapping[str, Any], answer: Any) -> ToolMessage:
        if path == "/":
            return _error(answer, _FOLDER)
        names: list[str] | None = None
        # Where a person may be asked before the agent lists a folder, no name is looked for.
        if listing is not None and running_eval.get().approvals is None:
            folder = {"path": posixpath.dirname(path), "runtime": given["runtime"]}
            listed = await _coroutine(listing)(**folder)
            if isinstance(listed, ToolMessage) and listed.status != "error":
                names = _names_in(listed.text)
        if names is not None and posixpath.basename(path) in names:
            return _error(answer, _FOLDER)
        return _error(answer, str(missing_file(path, names)))

    return tool.model_copy(update={"func": None, "coroutine": read})


def _raw_ls(tool: StructuredTool) -> StructuredTool:
    """A copy of `ls` that returns what the backend knows of the entries that the tool shows."""
    backend, shown = backend_of(tool), _coroutine(tool)

    @functools.wraps(shown)
    async def ls(**given: Any) -> Any:
        answer = await shown(**given)
        if not isinstance(answer, ToolMessage) or answer.status == "error":
            return answer
        try:
            visible = set(_paths_in(answer.text, "ls"))
        except ValueError as error:
            return _error(answer, str(error))
        found = await backend.als(_validated(given["path"]))
        return [dict(one) for one in found.entries or [] if one["path"] in visible]

    return tool.model_copy(update={"func": None, "coroutine": ls})


def _names_in(text: str) -> list[str] | None:
    try:
        return [posixpath.basename(one.rstrip("/")) for one in _paths_in(text, "ls")]
    except ValueError:
        return None


def _coroutine(tool: StructuredTool) -> Any:
    return tool.coroutine


def _error(answer: Any, text: str) -> ToolMessage:
    """An answer of a tool as an error with another text."""
    return ToolMessage(
        content=f"Error: {text}", tool_call_id=answer.tool_call_id, name=answer.name, status="error"
    )


def _validated(path: str) -> str:
    from deepagents.backends.utils import validate_path  # loaded with the agent

    return validate_path(path)
