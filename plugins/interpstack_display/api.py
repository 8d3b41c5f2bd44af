"""Public names of the plugin: attachments, their limits, content blocks, and the plugin object."""

from __future__ import annotations

from interpstack_display.attachments import (
    Attachment,
    DisplayLimits,
    attachments_of,
    described,
    with_texts,
)
from interpstack_display.blocks import to_block
from interpstack_display.display import Display, attach, with_attachment_notices
from interpstack_display.inputs import read_attachments

__all__ = [
    "Attachment",
    "Display",
    "DisplayLimits",
    "attach",
    "attachments_of",
    "described",
    "read_attachments",
    "to_block",
    "with_attachment_notices",
    "with_texts",
]
