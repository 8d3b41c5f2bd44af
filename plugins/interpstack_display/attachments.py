"""Attachments: images and files of an outcome, checked when they are made."""

from __future__ import annotations

import base64
import html
import unicodedata
from collections.abc import Iterable
from typing import Any, Final

import attrs

from interpstack import ConfigurationError, Outcome
from interpstack.checks import expect, positive
from interpstack_display.media_types import checked_type, is_text

__all__ = ["Attachment", "DisplayLimits", "attachments_of", "described", "with_texts"]

#: Characters of a name.
_NAME_CHARS: Final = 100
#: Image types that every notebook shows, and that cannot hold scripts.
_SHOWN_IMAGES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
_MIB: Final = 2**20


def _checked_name(value: str | None) -> str | None:
    """A name, if it is safe to print; it is never used as a path."""
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > _NAME_CHARS:
        raise ValueError(f"name takes a string of 1 to {_NAME_CHARS} characters, as 'plot.png'")
    if value in (".", "..") or "/" in value or "\\" in value:
        raise ValueError("name takes a file name without a path, as 'plot.png'")
    # Cc, Cf, Cs, Co, Cn: escape sequences, and signs that change the direction of the text.
    if any(unicodedata.category(sign) in _UNSEEN for sign in value):
        raise ValueError("name takes printable characters only, as 'plot.png'")
    return value


_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


@attrs.frozen
class Attachment:
    """One image or file that code has shown.

    The data stay as the guest gave them: nothing decodes, decompresses or runs them here.

    Attributes:
        data: The bytes, which fit the type as far as their first bytes tell.
        mime_type: The media type in lower case, without parameters.
        name: A file name without a path, for people; it must not be used as a path.

    Raises:
        ValueError: A field is wrong, or the data are not of the type.
    """

    data: bytes = attrs.field(repr=lambda data: f"<{len(data)} bytes>")
    mime_type: str
    name: str | None = attrs.field(default=None, converter=_checked_name)

    def __attrs_post_init__(self) -> None:
        if type(self.data) is not bytes or not self.data:
            raise ValueError("an attachment takes bytes, at least one")
        object.__setattr__(self, "mime_type", checked_type(self.data, self.mime_type))

    @classmethod
    def of(cls, data: bytes, mime_type: str | None = None, name: str | None = None) -> Attachment:
        """An attachment whose type is read from its first bytes where none is passed.

        Raises:
            ValueError: See above; also if the type is unknown.
        """
        return cls(data, "" if mime_type is None else mime_type, name)

    @property
    def is_image(self) -> bool:
        """Whether the attachment is a picture in pixels; an SVG is a text."""
        return self.mime_type.startswith("image/") and not self.is_text

    @property
    def is_text(self) -> bool:
        """Whether the attachment is a text in UTF-8."""
        return is_text(self.mime_type)

    @property
    def text(self) -> str:
        """The text of a textual attachment."""
        return self.data.decode("utf-8")

    @property
    def base64(self) -> str:
        """The bytes in Base64."""
        return base64.b64encode(self.data).decode("ascii")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data from which `from_dict` makes the same attachment."""
        return {"mime_type": self.mime_type, "name": self.name, "data": self.base64}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Attachment:
        """The attachment that `to_dict` describes.

        Raises:
            ValueError: The data are damaged.
        """
        try:
            body = base64.b64decode(data["data"], validate=True)
            return cls(body, data["mime_type"], data["name"])
        except (KeyError, TypeError) as error:
            raise ValueError("an attachment is stored as mime_type, name and data") from error

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Forms for notebooks: a picture or one line, never HTML or scripts of a guest."""
        bundle: dict[str, Any] = {"text/plain": described(self)}
        if self.mime_type in _SHOWN_IMAGES:
            bundle[self.mime_type] = self.data
        return bundle


_BOUND: Final = positive(int, optional=False, of="DisplayLimits")


@attrs.frozen(kw_only=True)
class DisplayLimits:
    """Limits of the attachments of one cell.

    Attributes:
        count: Attachments.
        item_bytes: Bytes of one attachment. `Limits.value_bytes` bounds its transport as well.
        total_bytes: Bytes of all attachments together.

    Raises:
        ConfigurationError: A value is not a whole number above 0.
    """

    count: int = attrs.field(default=16, validator=_BOUND)
    item_bytes: int = attrs.field(default=5 * _MIB, validator=_BOUND)
    total_bytes: int = attrs.field(default=20 * _MIB, validator=_BOUND)

    def __attrs_post_init__(self) -> None:
        if self.item_bytes > self.total_bytes:
            raise ConfigurationError(
                f"item_bytes is at most total_bytes; got {self.item_bytes} and {self.total_bytes}"
            )


def attachments_of(outcome: Outcome) -> tuple[Attachment, ...]:
    """The images and files among the attachments of an outcome, in the order of their display.

    Raises:
        ConfigurationError: `outcome` is not an `Outcome`.
    """
    expect(outcome, Outcome, "attachments_of takes an Outcome")
    return only_shown(outcome.attachments)


def only_shown(items: Iterable[Any]) -> tuple[Attachment, ...]:
    """The images and files among other objects that bridges attached."""
    return tuple(item for item in items if isinstance(item, Attachment))


def described(item: Attachment) -> str:
    """An attachment in one line: its type, its size and its name.

    Raises:
        ConfigurationError: `item` is not an `Attachment`.
    """
    expect(item, Attachment, "described takes an Attachment")
    name = "" if item.name is None else f", {item.name}"
    return f"{item.mime_type}, {len(item.data):,} bytes{name}"


def with_texts(text: str, outcome: Outcome, chars: int) -> str:
    """An outcome in words, followed by its attached texts.

    Args:
        text: The outcome in words.
        outcome: The outcome.
        chars: Characters that are shown of all attached texts.

    Raises:
        ConfigurationError: `outcome` is not an `Outcome`.
    """
    for index, item in enumerate(attachments_of(outcome), start=1):
        if item.is_text:
            text += "\n" + _shown_text(index, item, chars)
            chars = max(0, chars - len(item.text))
    return text


def _shown_text(index: int, item: Attachment, chars: int) -> str:
    """An attached text, which cannot be taken for the host's."""
    body = html.escape(item.text[:chars], quote=False)
    left = len(item.text) - chars
    if left > 0:
        body += f"… [truncated {left} chars]"
    return f'<shown index="{index}" type="{html.escape(item.mime_type)}">\n{body}\n</shown>'
