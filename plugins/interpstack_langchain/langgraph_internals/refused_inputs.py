"""Inputs that a tool node refuses: it reports them in words of its own, which show Python.

The exception does not leave the node, so its message is compared with the node's template. Where a
release has no such template, its messages stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langgraph.prebuilt import tool_node

__all__ = ["refuses_input"]

_HEAD, _ERROR, _TAIL = getattr(tool_node, "TOOL_INVOCATION_ERROR_TEMPLATE", "").partition("{error}")
_KNOWN: Final = bool(_ERROR) and "{tool_name}" in _HEAD and "{tool_kwargs}" in _HEAD


def refuses_input(text: str, name: str, args: Mapping[str, Any]) -> bool:
    """Whether a message is that of a tool node about the input of a call.

    Args:
        text: The message.
        name: The tool of the call.
        args: The input of the call.
    """
    if not _KNOWN:
        return False
    head = _HEAD.replace("{tool_name}", name, 1)
    start, _, rest = head.partition("{tool_kwargs}")
    return text.startswith(f"{start}{args}{rest}") and text.endswith(_TAIL)
