"""The helpers of `js_repl` cells: their guest source, and the bridges behind it."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from importlib.resources import files
from typing import Any, Final

import attrs

from interpstack import (
    Bridge,
    BridgeSet,
    CellContext,
    GuestException,
    GuestSource,
    HostTool,
    call_blocking,
)
from interpstack.checks import shown
from interpstack.values import from_json, read_json
from interpstack_agents import as_single_field, has_many_parts, plain_input, unknown_field
from interpstack_javascript import JAVASCRIPT
from interpstack_js_repl.emitted import take_image, take_note
from interpstack_js_repl.names import bridge_part

__all__ = ["HelperPaths", "has_helpers", "helper_bridges", "helper_source", "tool_input"]

_OWNER: Final = "interpstack_js_repl"
#: Characters of a JSON text that are read on the event loop.
_AT_ONCE_CHARS: Final = 2**14
#: Values in a JSON text: code makes millions of them for nothing, and the host has each in memory.
_MOST_VALUES: Final = 300_000
_STRINGS: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
#: Read when this is imported: an event loop must not wait for files.
_SOURCE: Final = (files("interpstack_js_repl") / "guest_global.js").read_text("utf-8")


@attrs.frozen
class HelperPaths:
    """Paths of the host that code sees; only text: whether code can use them is up to its engine.

    Attributes:
        cwd: The working directory.
        home: The home directory.
        tmp: The directory for temporary files.
    """

    cwd: str | None
    home: str | None
    tmp: str | None


def helper_source(namespace: str, paths: HelperPaths) -> GuestSource:
    """The guest source of the helpers.

    Args:
        namespace: Name of the global that has the helpers.
        paths: Paths that the global has as `cwd`, `homeDir` and `tmpDir`.
    """
    shown = {"cwd": paths.cwd, "homeDir": paths.home, "tmpDir": paths.tmp}
    config = {"namespace": namespace, "root": f"{namespace}.", "tools": "tool_", "paths": shown}
    text = f"(kernel) => ({_SOURCE.strip()})(kernel, {json.dumps(config)})"
    return GuestSource(JAVASCRIPT.name, "interpstack:js_repl", text, owner=_OWNER)


def helper_bridges(namespace: str, tools: tuple[HostTool, ...]) -> Iterator[Bridge]:
    """A hidden bridge for each tool, and two for images."""
    for tool in tools:
        yield Bridge(
            name=f"{namespace}.{bridge_part(tool.name)}",
            handler=_caller(namespace, tool),
            on_loop=True,
            owner=_OWNER,
            raw=True,
            hidden=True,
            concurrency=tool.concurrency,
            budget=tool.budget,
            tool=tool.name,
            passes=tool.passes,
        )
    yield Bridge(
        name=f"{namespace}.emit",
        handler=take_image,
        owner=_OWNER,
        raw=True,
        hidden=True,
        counted=False,
        concurrency=1,  # images stay in the order of their emission
        repeats=True,
    )
    yield Bridge(
        name=f"{namespace}.emitted",
        handler=take_note,
        owner=_OWNER,
        raw=True,
        hidden=True,
        awaited=False,
        repeats=True,
    )


def has_helpers(namespace: str, bridges: BridgeSet) -> bool:
    """Whether a stack has the helpers.

    Args:
        namespace: Name of the global that has the helpers.
        bridges: The bridges of the stack.
    """
    emit = bridges.get(f"{namespace}.emit")
    return emit is not None and emit.owner == _OWNER


def _caller(namespace: str, tool: HostTool) -> Callable[[Any, CellContext], Awaitable[Any]]:
    def call(value: Any, context: CellContext) -> Awaitable[Any]:
        large = len(value) > _AT_ONCE_CHARS if isinstance(value, str) else has_many_parts(value)
        if large:  # the loop would stop for as long as a second for 3 MB
            return prepared_apart(value, context)
        return tool.call(tool_input(namespace, tool, value), context)

    async def prepared_apart(value: Any, context: CellContext) -> Any:
        given = await call_blocking(partial(tool_input, namespace, tool, value))
        return await tool.call(given, context)

    return call


def tool_input(namespace: str, tool: HostTool, value: Any) -> dict[str, Any]:
    """The input of a tool, from the second argument of `codex.tool`.

    Args:
        namespace: Name of the global that has the helpers.
        tool: The tool.
        value: An object; the JSON text of one; or, for a tool with one field, that field's text.

    Raises:
        GuestException: It is none of these, or has a field that the tool does not have.
    """
    if isinstance(value, str):
        if _has_many_values(value):
            raise _refused(namespace, tool, f"a text of more than {_MOST_VALUES} values")
        read = _read_json(value)
        value = read if isinstance(read, dict) else as_single_field(value, tool)
        if isinstance(value, str):
            raise _refused(namespace, tool, "a string that is not a JSON object")
    if not isinstance(value, dict):
        raise _refused(namespace, tool, shown(value, JAVASCRIPT.literal))
    given: dict[str, Any] = plain_input(value)
    fault = unknown_field(tool.input_schema, given)
    if fault:  # most tools would drop the field without a word
        raise GuestException(f"{_call(namespace, tool)} {fault}", name="TypeError")
    return given


def _has_many_values(text: str) -> bool:
    """Whether a JSON text has too many values, by its commas and opening brackets."""
    if _marks(text) <= _MOST_VALUES:
        return False
    return _marks(re.sub(_STRINGS, "", text, flags=re.DOTALL)) > _MOST_VALUES


def _marks(text: str) -> int:
    return sum(map(text.count, ",[{"))


def _read_json(text: str) -> Any:
    """The value of a JSON text; `None` for other text, and for values nested too deeply."""
    try:
        return from_json(Any, read_json(text))
    except (ValueError, RecursionError):
        return None


def _call(namespace: str, tool: HostTool) -> str:
    return f"{namespace}.tool({json.dumps(tool.name)}, …)"


def _refused(namespace: str, tool: HostTool, got: str) -> GuestException:
    fields = tool.input_schema.get("properties")
    named = ", ".join(map(str, fields)) if isinstance(fields, Mapping) and fields else "none"
    return GuestException(
        f"{_call(namespace, tool)} takes an object of the tool's fields, or its JSON text; "
        f"got {got}. The fields are: {named}",
        name="TypeError",
    )
