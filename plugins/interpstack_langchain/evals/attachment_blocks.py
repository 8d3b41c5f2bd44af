"""Images and files of an eval as content blocks of its message, and as the model may read them.

The message in the graph's state keeps every image and file. Each call of the model gets the blocks
that its model takes, and a notice in the place of each other block.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, ToolMessage

from interpstack import Outcome
from interpstack_display.api import Attachment, attachments_of, with_texts

__all__ = ["eval_content", "for_model"]


#: Types of images that model providers take.
_IMAGES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
_PDF: Final = "application/pdf"


def eval_content(text: str, outcome: Outcome, chars: int) -> str | list[str | dict[Any, Any]]:
    """The content of an eval's message: its text, and a block for each image and file.

    Args:
        text: The outcome in words.
        outcome: The outcome.
        chars: Characters that are shown of all attached texts.

    Returns:
        Text alone, unless the outcome has an attachment that is not text.
    """
    text = with_texts(text, outcome, chars)
    blocks = [_block(item) for item in attachments_of(outcome) if not item.is_text]
    return [{"type": "text", "text": text}, *blocks] if blocks else text


def _block(item: Attachment) -> dict[str, Any]:
    family = item.mime_type.partition("/")[0]
    kind = family if family in ("audio", "image", "video") else "file"
    block = {"type": kind, "base64": item.base64, "mime_type": item.mime_type}
    return block if item.name is None else {**block, "extras": {"filename": item.name}}


def for_model(
    messages: Sequence[AnyMessage], names: Collection[str], model: BaseChatModel, sent: str
) -> list[AnyMessage] | None:
    """The messages with a notice in place of each image and file that a model does not take.

    Args:
        messages: Messages for the model.
        names: Names of the interpreter's tools, whose messages may change.
        model: The model of this call.
        sent: The option `attachments` of the middleware.

    Returns:
        `None` if nothing changes.
    """
    if sent == "always":
        return None
    profile = getattr(model, "profile", None) or {}
    changed = False
    made: list[AnyMessage] = []
    for message in messages:
        own = _with_notices(message, profile, sent) if _is_eval(message, names) else message
        changed = changed or own is not message
        made.append(own)
    return made if changed else None


def _is_eval(message: AnyMessage, names: Collection[str]) -> bool:
    return (
        isinstance(message, ToolMessage)
        and message.name in names
        and isinstance(message.content, list)
    )


def _with_notices(message: AnyMessage, profile: Mapping[str, Any], sent: str) -> AnyMessage:
    blocks = [
        block
        if not isinstance(block, dict) or _takes(block, profile, sent)
        else {"type": "text", "text": _notice(block)}
        for block in message.content
    ]
    if blocks == message.content:
        return message
    texts = [block["text"] for block in blocks if isinstance(block, dict) and "text" in block]
    # Models that read text alone may take no lists.
    content: Any = "\n".join(texts) if len(texts) == len(blocks) else blocks
    return message.model_copy(update={"content": content})


def _takes(block: Mapping[str, Any], profile: Mapping[str, Any], sent: str) -> bool:
    """Whether a model takes a block in the message of a tool.

    An image is sent unless the profile denies it, because many profiles are incomplete; anything
    else is sent only if the profile confirms it.
    """
    kind, mime_type = block.get("type"), block.get("mime_type")
    if kind == "text":
        return True
    if sent == "never":
        return False
    if kind == "image":
        denied = (profile.get(field) is False for field in ("image_inputs", "image_tool_message"))
        return mime_type in _IMAGES and not any(denied)
    if kind == "file":
        denies = profile.get("pdf_tool_message") is False
        return mime_type == _PDF and profile.get("pdf_inputs") is True and not denies
    return profile.get(f"{kind}_inputs") is True


def _notice(block: Mapping[str, Any]) -> str:
    size = len(str(block.get("base64", "")).rstrip("=")) * 3 // 4
    name = (block.get("extras") or {}).get("filename")
    called = "" if name is None else f" {html.escape(str(name))}"
    return (
        f"<notice>The {block.get('type')}{called} of {size:,} bytes "
        f"({block.get('mime_type')}) is left out: this model does not take it.</notice>"
    )
