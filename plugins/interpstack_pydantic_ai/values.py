"""Values of tools in the forms that code gets, and answers of evals in those of PydanticAI."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError
from pydantic_ai import BinaryContent, ModelRetry, RunCancelled, ToolFailed, ToolReturn
from pydantic_ai.exceptions import ToolFailedError, ToolRetryError
from pydantic_core import ErrorDetails, to_jsonable_python

from interpstack.checks import listed
from interpstack_agents import json_object
from interpstack_display.api import Attachment, described

__all__ = ["answer_of", "message_for_code", "plain_args", "to_guest"]

_PLAIN: Final = frozenset({bool, bytes, float, int, str, type(None)})
#: Types of images that model providers take.
_IMAGES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
#: Errors of validation that a message lists.
_ERRORS: Final = 5


def to_guest(value: Any) -> Any:
    """A tool's return value in types that cross to the guest.

    An image or a file becomes `{"type", "mimeType", "data"}`; everything else that is not plain
    becomes the JSON by which PydanticAI would show the value to a model.

    Raises:
        UnsupportedValue: Two keys of a dictionary are the same text, so one item would be lost.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, ToolReturn):
        return to_guest(value.return_value)
    if isinstance(value, BinaryContent):
        family = value.media_type.partition("/")[0]
        kind = family if family in ("audio", "image", "video") else "file"
        return {"type": kind, "mimeType": value.media_type, "data": value.data}
    if isinstance(value, Mapping):
        return json_object(value, _key_text, to_guest)
    if type(value) in (list, tuple):
        return [to_guest(item) for item in value]
    return to_jsonable_python(value, bytes_mode="base64")


def _key_text(key: Any) -> str:
    (name,) = to_jsonable_python({key: None})
    return str(name)


def plain_args(args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a call as JSON data, for the person who decides about it."""
    plain: dict[str, Any] = to_jsonable_python(dict(args), bytes_mode="base64")
    return plain


def message_for_code(error: Exception) -> str | None:
    """The words of an exception that PydanticAI would tell a model; `None` for any other one."""
    if isinstance(error, ValidationError):
        return _faults(error)
    if isinstance(error, (ModelRetry, ToolFailed)):
        return str(error.message)
    if isinstance(error, ToolRetryError):
        return str(error.__cause__ or error)
    if isinstance(error, ToolFailedError):
        return str(error)
    return (
        f"the run of a sub-agent was cancelled: {error}"
        if isinstance(error, RunCancelled)
        else None
    )


def answer_of(text: str, attachments: Sequence[Attachment]) -> Any:
    """The answer of the eval tool: its text, and a `BinaryContent` for each image.

    The text has the attached texts. It names other files, and images of types that providers do not
    take.
    """
    images = [one for one in attachments if one.mime_type in _IMAGES]
    others = [
        f"<notice>Left out for the model: {html.escape(described(one))}</notice>"
        for one in attachments
        if one not in images and not one.is_text
    ]
    text = "\n".join([text, *others])
    if not images:
        return text
    return [text, *(BinaryContent(one.data, media_type=one.mime_type) for one in images)]


def _faults(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return listed(found, _ERRORS, _fault, separator="; ")


def _fault(one: ErrorDetails) -> str:
    return f"{'.'.join(map(str, one['loc'])) or 'input'}: {one['msg']}"
