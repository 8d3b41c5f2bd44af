"""What the host offers for the time being: the agent's tools of one turn, and the like.

Adapters fill a `Turn` in; plugins turn it into bridges and prompt text. That way neither knows
the other.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import attrs

from interpstack.arguments import expect
from interpstack.cells.outcome import CellContext

__all__ = ["HostTool", "Turn"]


@attrs.frozen(kw_only=True)
class HostTool:
    """A tool of the host, independent of any agent framework.

    Attributes:
        name: The tool's own name, as in `web_search`.
        description: One or more sentences.
        input_schema: JSON Schema of the input object.
        output_schema: JSON Schema of the returned value; `None` if unknown.
        call: Takes the guest's decoded input and the `CellContext`; returns a value the codec
            knows, or raises what the guest is to catch.
        passes: See `Bridge.passes`.
        concurrency: See `Bridge.concurrency`.
        budget: See `Bridge.budget`.
    """

    name: str
    call: Callable[[dict[str, Any], CellContext], Awaitable[Any]]
    description: str = ""
    input_schema: Mapping[str, Any] = attrs.field(factory=dict)
    output_schema: Mapping[str, Any] | None = None
    passes: tuple[type[BaseException], ...] = ()
    concurrency: int | None = None
    budget: int | None = None


def _as_tuple(tools: Iterable[HostTool]) -> tuple[HostTool, ...]:
    given = tuple(tools)
    for tool in given:
        expect(tool, HostTool, "the tools of a Turn are HostTools")
    return given


def _read_only(options: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(options))


@attrs.frozen(kw_only=True)
class Turn:
    """What holds until the next turn; bound to a session with `Session.bind`.

    Binding the same object again costs nothing; a new one makes the plugins register anew.

    Attributes:
        tools: Tools that guests may call.
        options: Whatever else an adapter and a plugin have agreed on, by name.
    """

    tools: tuple[HostTool, ...] = attrs.field(default=(), converter=_as_tuple)
    options: Mapping[str, Any] = attrs.field(factory=dict, converter=_read_only)


def first_paragraph(function: Callable[..., Any]) -> str:
    """A function's summary, for `HostTool.description`."""
    return inspect.cleandoc(function.__doc__ or "").partition("\n\n")[0]
