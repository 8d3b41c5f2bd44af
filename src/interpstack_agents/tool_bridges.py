"""Bridges to the tools of an agent, for plugins that offer them to code."""

from __future__ import annotations

from typing import Any

import attrs

from interpstack_core import Bridge, HostTool

__all__ = ["ToolBridge", "as_single_field"]


@attrs.frozen(kw_only=True)
class ToolBridge(Bridge):
    """A bridge whose handler prepares the input and returns the awaitable of the tool's call.

    So no coroutine of a plugin stands between the cell loop and the tool while the tool runs.
    """

    @property
    def is_async(self) -> bool:
        """The handler is no coroutine function, and has to run on the loop like one."""
        return True


def as_single_field(value: Any, tool: HostTool) -> Any:
    """The input of a tool; a text becomes the field of a tool that has only one field.

    Args:
        value: Input from code: fields by name, or anything else.
        tool: The tool.

    Returns:
        The fields by name where a text was one; else the value itself.
    """
    fields = tool.input_schema.get("properties")
    if not isinstance(value, str) or not isinstance(fields, dict) or len(fields) != 1:
        return value
    return dict.fromkeys(fields, value)
