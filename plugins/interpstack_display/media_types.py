"""Media types of attachments: their names, and whether bytes are of a type.

Types are recognised by their first bytes. Nothing is parsed or decompressed, because the bytes come
from guests.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import attrs

__all__ = ["checked_type", "is_text"]

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")
#: Other names of types.
_ALIASES: Final = {
    "application/x-pdf": "application/pdf",
    "audio/mp3": "audio/mpeg",
    "audio/wave": "audio/wav",
    "audio/x-wav": "audio/wav",
    "image/jpg": "image/jpeg",
    "image/x-png": "image/png",
    "image/svg": "image/svg+xml",
    "text/svg": "image/svg+xml",
}
_UNKNOWN: Final = "application/octet-stream"
_SVG: Final = "image/svg+xml"
#: Bytes at the start of an SVG in which its root element begins.
_SVG_HEAD: Final = 4096
#: Textual types beside `text/*`, and endings of such types.
_TEXTS: Final = frozenset(
    {
        "application/ecmascript",
        "application/javascript",
        "application/json",
        "application/sql",
        "application/toml",
        "application/x-ndjson",
        "application/xml",
        "application/yaml",
    }
)
_TEXT_ENDINGS: Final = ("+json", "+xml", "+yaml")


@attrs.frozen
class _Format:
    """A format with known first bytes.

    Attributes:
        types: Its types, the usual one first.
        begins: Whether bytes begin as this format does.
        holds: Whether files of other formats are of this one inside, as documents in a ZIP.
    """

    types: tuple[str, ...]
    begins: Callable[[bytes], bool]
    holds: bool = False


def _start(*starts: bytes) -> Callable[[bytes], bool]:
    return lambda data: data.startswith(starts)


def _riff(kind: bytes) -> Callable[[bytes], bool]:
    return lambda data: data.startswith(b"RIFF") and data[8:12] == kind


def _brand(*brands: bytes) -> Callable[[bytes], bool]:
    return lambda data: data[4:8] == b"ftyp" and data[8:12].startswith(brands)


def _bitmap(data: bytes) -> bool:
    return data.startswith(b"BM") and data[6:10] == b"\0\0\0\0" and len(data) > 14


_FORMATS: Final = (
    _Format(("image/png", "image/apng"), _start(b"\x89PNG\r\n\x1a\n")),
    _Format(("image/jpeg",), _start(b"\xff\xd8\xff")),
    _Format(("image/gif",), _start(b"GIF87a", b"GIF89a")),
    _Format(("image/webp",), _riff(b"WEBP")),
    _Format(("image/avif",), _brand(b"avif", b"avis")),
    _Format(("image/heic", "image/heif"), _brand(b"hei", b"hev", b"mif1", b"msf1")),
    _Format(("image/tiff",), _start(b"II*\0", b"MM\0*")),
    _Format(("image/bmp",), _bitmap),
    _Format(("application/pdf",), _start(b"%PDF-")),
    _Format(("audio/wav",), _riff(b"WAVE")),
    _Format(("audio/flac",), _start(b"fLaC")),
    _Format(("audio/mpeg",), _start(b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")),
    _Format(
        ("application/ogg", "audio/ogg", "audio/opus", "video/ogg"),
        _start(b"OggS"),
    ),
    _Format(("video/mp4", "audio/mp4", "audio/m4a", "audio/x-m4a", "video/quicktime"), _brand(b"")),
    _Format(("video/webm", "audio/webm", "video/x-matroska"), _start(b"\x1a\x45\xdf\xa3")),
    _Format(("application/zip",), _start(b"PK\x03\x04", b"PK\x05\x06"), holds=True),
    _Format(("application/gzip",), _start(b"\x1f\x8b"), holds=True),
)
#: Families whose types are accepted only where their first bytes can be checked.
_CHECKED: Final = ("audio/", "image/", "video/")


def is_text(mime_type: str) -> bool:
    """Whether a type is textual; an SVG is a text."""
    if mime_type.startswith("text/") or mime_type in _TEXTS:
        return True
    return mime_type.endswith(_TEXT_ENDINGS)


def checked_type(data: bytes, mime_type: str) -> str:
    """The type in its usual spelling, if the bytes can be of it.

    Args:
        data: The bytes.
        mime_type: The type that the guest names; the empty string for none.

    Raises:
        ValueError: The type is malformed or unknown, or the bytes are of another.
    """
    named = _spelled(mime_type) if mime_type else ""
    found = next((one for one in _FORMATS if one.begins(data)), None)
    if named in ("", _UNKNOWN):
        if found is not None:
            return found.types[0]
        if not named:
            raise ValueError(
                "the media type cannot be determined from the bytes; "
                "pass it, as mimeType or mime_type"
            )
        return named
    if found is not None and named in found.types:
        return named
    _refuse_other(named, found)
    if is_text(named):
        _check_text(data, named)
    return named


def _refuse_other(named: str, found: _Format | None) -> None:
    """Raise a `ValueError` if bytes of a format cannot be of the named type."""
    if found is not None and not (found.holds and named.startswith("application/")):
        raise ValueError(f"the bytes are {found.types[0]}, not {named}")
    known = sorted({name for one in _FORMATS for name in one.types})
    if named in known:
        raise ValueError(f"the bytes are not {named}: such files begin differently")
    if named.startswith(_CHECKED) and named != _SVG:
        accepted = ", ".join([*(one for one in known if one.startswith(_CHECKED)), _SVG])
        raise ValueError(
            f"{named} cannot be checked; the accepted types of images, audio and video are "
            f"{accepted}; show other files as {_UNKNOWN}"
        )


def _check_text(data: bytes, named: str) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{named} takes text in UTF-8; the bytes are not UTF-8") from None
    if named == _SVG and b"<svg" not in data[:_SVG_HEAD].lower():
        raise ValueError(f"the text is not {named}: it has no <svg> element")


def _spelled(mime_type: str) -> str:
    if not isinstance(mime_type, str):
        raise ValueError("a media type is a text, as 'image/png'")  # noqa: TRY004 - for guests
    name, _, parameters = mime_type.partition(";")
    name = name.strip().lower()
    if len(mime_type) > 200 or not _NAME.fullmatch(name):
        raise ValueError(f"{mime_type[:100]!r} is not a media type; write one as 'image/png'")
    charset = re.search(r"charset\s*=\s*\"?([\w.-]+)", parameters, re.IGNORECASE)
    if charset is not None and charset[1].lower() not in ("utf-8", "utf8", "us-ascii"):
        raise ValueError(f"text must be in UTF-8; got charset {charset[1][:40]!r}")
    return _ALIASES.get(name, name)
