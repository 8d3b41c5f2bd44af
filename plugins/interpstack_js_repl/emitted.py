"""Images that code emits: the host's checks, and failures of emissions that code ignores."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

import attrs

from interpstack import UNDEFINED, CellContext, GuestError, GuestException, Outcome
from interpstack_display.api import Attachment, DisplayLimits, attach, read_attachments

__all__ = ["judged", "take_image", "take_note"]

#: Characters of the message of a failed emission.
_FAULT_CHARS: Final = 2000


@attrs.frozen
class _Failed:
    """An emission that failed while no code handled its promise.

    Attributes:
        id: Number of the emission in its realm.
        message: The error's message.
    """

    id: int
    message: str


@attrs.frozen
class _Caught:
    """A note that code has handled the promise of a failed emission after all."""

    id: int


def take_image(value: Any, context: CellContext) -> Any:
    """Attach an image that the guest's helper has checked; everything is checked again.

    Raises:
        GuestException: It is not an image, or the cell has emitted too many.
    """
    _attach(value, context)
    return UNDEFINED


def take_note(value: Any, context: CellContext) -> None:
    """Take a note of the guest's helper on an emission whose cell may have ended.

    Args:
        value: `{"id", "fault"}`, `{"id", "caught"}`, or `{"id", "image"}`.
        context: The context of the cell.

    Raises:
        ValueError: It is none of these; nothing is noted then.
    """
    number = value.get("id") if isinstance(value, Mapping) else None
    if isinstance(number, bool) or not isinstance(number, int | float) or not isfinite(number):
        raise ValueError("a note on an emission has the number of the emission")
    number = int(number)
    if isinstance(value.get("fault"), str):
        context.attach(_Failed(number, value["fault"][:_FAULT_CHARS]))
    elif value.get("caught") is True:
        context.attach(_Caught(number))
    else:
        try:
            _attach(value.get("image"), context)
        except GuestException as error:
            context.attach(_Failed(number, str(error)))


def judged(outcome: Outcome) -> Outcome:
    """The outcome, without the notes, and failed if code ignored the failure of an emission."""
    notes = [item for item in outcome.attachments if isinstance(item, _Failed | _Caught)]
    if not notes:
        return outcome
    kept = tuple(item for item in outcome.attachments if not isinstance(item, _Failed | _Caught))
    outcome = attrs.evolve(outcome, attachments=kept)
    caught = {note.id for note in notes if isinstance(note, _Caught)}
    failed = [note for note in notes if isinstance(note, _Failed) and note.id not in caught]
    if not failed or outcome.error is not None:
        return outcome
    error = GuestError("Error", failed[0].message)
    return attrs.evolve(outcome, error=error, text="", handle=False, undefined=False)


def _attach(value: Any, context: CellContext) -> None:
    try:
        attach(context, _read(value), DisplayLimits())
    except ValueError as error:
        raise GuestException(f"emitImage: {error}", name="Error") from None


def _read(value: Any) -> list[Attachment]:
    """The image in the form that the guest's helper sends: `url`, or `bytes` and `mimeType`."""
    if not isinstance(value, Mapping):
        raise ValueError("an image is an object of url, or of bytes and mimeType")  # noqa: TRY004
    url, data, mime_type = value.get("url"), value.get("bytes"), value.get("mimeType")
    if isinstance(url, str) and url[:5].lower() == "data:":
        made = list(read_attachments(url))
    elif isinstance(data, bytes) and isinstance(mime_type, str):
        made = [Attachment.of(data, mime_type)]
    else:
        raise ValueError("an image is an object of url, or of bytes and mimeType")
    if not made[0].mime_type.startswith("image/"):
        raise ValueError(f"takes images; got {made[0].mime_type}")
    return made
