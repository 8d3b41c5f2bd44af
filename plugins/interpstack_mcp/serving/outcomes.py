"""Outcomes of cells as results of MCP tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mcp import types

from interpstack import Outcome
from interpstack_display.api import Attachment, attachments_of
from interpstack_mcp.serving.sendable import sendable

__all__ = ["RESULT_SCHEMA", "outcome_result", "running_result"]

#: Characters of a text that a result shows; the whole of a longer one is a resource.
SHOWN_CHARS: Final = 8000
_TEXT: Final = {"type": "string"}
#: The structured content of `run_code` and `wait`.
RESULT_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "running": {"type": "boolean", "description": "Whether the code still runs."},
        "ok": {"type": "boolean"},
        "result": {**_TEXT, "description": "The value of the last expression, as text."},
        "console": _TEXT,
        "error": {
            "type": "object",
            "properties": {"name": _TEXT, "message": _TEXT},
            "required": ["name", "message"],
        },
        "notices": {"type": "array", "items": _TEXT},
        "cell": {**_TEXT, "description": "For `wait`, while the code runs."},
        "session": {**_TEXT, "description": "The session, for clients that have to name it."},
    },
    "required": ["running"],
}


def outcome_result(
    outcome: Outcome, rendered: str, keep: Callable[[str, str], str]
) -> types.CallToolResult:
    """The result for a cell that has ended.

    Args:
        outcome: Its outcome.
        rendered: The outcome as a model reads it.
        keep: Keeps a text, by its name and content, as a resource; returns its URI.
    """
    content: list[types.ContentBlock] = [types.TextContent(text=_cut(rendered))]
    shown = {"result": sendable(outcome.text), "console": sendable(outcome.console)}
    for name, text in shown.items():
        if len(text) > SHOWN_CHARS:
            content.append(
                types.ResourceLink(
                    uri=keep(name, text),
                    name=name,
                    description=f"The whole {name}: {len(text)} characters.",
                    mime_type="text/plain",
                    size=len(text.encode()),
                )
            )
    content += [_block(index, item) for index, item in enumerate(attachments_of(outcome), 1)]
    structured: dict[str, Any] = {"running": False, "ok": outcome.ok}
    structured |= {name: _cut(text) for name, text in shown.items()}
    if outcome.error is not None:
        error = outcome.error
        structured["error"] = {"name": sendable(error.name), "message": _cut(error.message)}
    structured["notices"] = [sendable(notice) for notice in outcome.notices]
    return types.CallToolResult(
        content=content, structured_content=structured, is_error=not outcome.clean
    )


def running_result(
    cell: str, console: str, before: str | None = None, *, unanswered: bool = False
) -> types.CallToolResult:
    """The result for a cell that still runs, or waits for another one.

    Args:
        cell: Identifies the cell.
        console: Its output since the last result.
        before: The earlier cell that has to end first; `None` if there is none.
        unanswered: Whether that one only waits for answers of the client.
    """
    said = f"<console>\n{_cut(console)}\n</console>\n" if console else ""
    if before is None:
        state = "The code still runs."
    else:
        why, how = "still runs, or waits for an approval", "continues that one"
        if unanswered:
            why, how = "waits for an approval, and its question has no answer yet", "asks again"
        state = (
            f"The code has not begun: cell {before!r} of this client {why}. The tool wait with "
            f"cell {before!r} {how}, and stops it with terminate."
        )
    text = f"{said}{state} Call the tool wait with cell {cell!r} to continue."
    return types.CallToolResult(
        content=[types.TextContent(text=text)],
        structured_content={"running": True, "cell": cell, "console": _cut(console)},
    )


def _cut(text: str) -> str:
    text = sendable(text)
    if len(text) <= SHOWN_CHARS:
        return text
    return f"{text[:SHOWN_CHARS]}… [{len(text) - SHOWN_CHARS} more characters]"


def _block(index: int, item: Attachment) -> types.ContentBlock:
    """An image or file that code has shown, as a content block."""
    if item.is_image:
        return types.ImageContent(data=item.base64, mime_type=item.mime_type)
    if item.mime_type.startswith("audio/"):
        return types.AudioContent(data=item.base64, mime_type=item.mime_type)
    uri = f"interpstack://shown/{index}"
    if item.is_text:
        text = types.TextResourceContents(
            uri=uri, mime_type=item.mime_type, text=sendable(item.text)
        )
        return types.EmbeddedResource(resource=text)
    blob = types.BlobResourceContents(uri=uri, mime_type=item.mime_type, blob=item.base64)
    return types.EmbeddedResource(resource=blob)
