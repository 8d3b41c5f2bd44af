from __future__ import annotations

import pytest

from interpstack_display.media_types import checked_type, is_text

STARTS = {
    "image/png": b"\x89PNG\r\n\x1a\n0",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/gif": b"GIF89a00",
    "image/webp": b"RIFF0000WEBPVP8 ",
    "image/avif": b"\0\0\0\x20ftypavif",
    "image/heic": b"\0\0\0\x20ftypheic",
    "image/tiff": b"II*\0....",
    "image/bmp": b"BM\x9e\0\0\0\0\0\0\0\x36\0\0\0\x28",
    "application/pdf": b"%PDF-1.7",
    "audio/wav": b"RIFF0000WAVEfmt ",
    "audio/flac": b"fLaC....",
    "audio/mpeg": b"ID3\x04....",
    "application/ogg": b"OggS....",
    "video/mp4": b"\0\0\0\x20ftypisom",
    "video/webm": b"\x1a\x45\xdf\xa3....",
    "application/zip": b"PK\x03\x04....",
    "application/gzip": b"\x1f\x8b\x08....",
}


@pytest.mark.parametrize("mime_type", STARTS)
def test_a_type_is_read_from_the_first_bytes(mime_type: str) -> None:
    assert checked_type(STARTS[mime_type], "") == mime_type
    assert checked_type(STARTS[mime_type], "application/octet-stream") == mime_type
    assert checked_type(STARTS[mime_type], mime_type.upper()) == mime_type


@pytest.mark.parametrize("mime_type", STARTS)
def test_bytes_of_another_format_contradict_the_type(mime_type: str) -> None:
    other = "image/png" if mime_type != "image/png" else "image/gif"
    with pytest.raises(ValueError, match=f"^the bytes are {mime_type}, not {other}$"):
        checked_type(STARTS[mime_type], other)
    with pytest.raises(ValueError, match=f"^the bytes are not {mime_type}: such files"):
        checked_type(b"something else", mime_type)


@pytest.mark.parametrize(
    ("named", "mime_type"),
    [
        ("IMAGE/JPG", "image/jpeg"),
        (" image/jpeg ", "image/jpeg"),
        ("image/jpeg; quality=high", "image/jpeg"),
    ],
)
def test_types_have_one_spelling(named: str, mime_type: str) -> None:
    assert checked_type(STARTS["image/jpeg"], named) == mime_type


@pytest.mark.parametrize(
    ("data", "named", "mime_type"),
    [
        (b"a,b", "text/csv", "text/csv"),
        (b"a,b", "text/csv;charset=UTF-8", "text/csv"),
        (b"{}", "application/json", "application/json"),
        (b"{}", "application/ld+json", "application/ld+json"),
        (b"<svg/>", "text/svg", "image/svg+xml"),
        (b"<?xml version='1.0'?><SVG>", "image/svg+xml", "image/svg+xml"),
        (b"\0\1\2", "application/octet-stream", "application/octet-stream"),
        (b"\0\1\2", "application/x-thing", "application/x-thing"),
        (b"PK\x03\x04..", "application/vnd.oasis.opendocument.text", None),
        (b"OggS....", "audio/ogg", "audio/ogg"),
        (b"\0\0\0\x20ftypM4A ", "audio/mp4", "audio/mp4"),
    ],
)
def test_types_that_the_bytes_can_be_of(data: bytes, named: str, mime_type: str | None) -> None:
    assert checked_type(data, named) == (mime_type or named)


@pytest.mark.parametrize(
    ("data", "named", "message"),
    [
        (b"\1\2\3", "", "the media type cannot be determined from the bytes; pass it, as mimeType"),
        (b"abc", "png", "'png' is not a media type; write one as 'image/png'"),
        (b"abc", "text/\x1b[31m", "is not a media type"),
        (b"abc", "a" * 300 + "/b", "is not a media type"),
        (b"abc", "text/plain\n", None),
        (b"\xff\xfe", "text/plain", "text/plain takes text in UTF-8; the bytes are not UTF-8"),
        (b"abc", "text/plain; charset=latin1", "text must be in UTF-8; got charset 'latin1'"),
        (b"<html>", "image/svg+xml", "the text is not image/svg.xml: it has no <svg> element"),
        (b"abc", "image/x-icon", "image/x-icon cannot be checked; the accepted types of images"),
        (b"abc", "video/x-msvideo", "video/x-msvideo cannot be checked"),
        (b"%PDF-1", "text/plain", "the bytes are application/pdf, not text/plain"),
        (b"PK\x03\x04", "text/plain", "the bytes are application/zip, not text/plain"),
        (b"PK\x03\x04", "application/pdf", "the bytes are not application/pdf"),
    ],
)
def test_refused_types(data: bytes, named: str, message: str | None) -> None:
    if message is None:  # the spaces around a type are no part of it
        assert checked_type(data, named) == named.strip()
        return
    with pytest.raises(ValueError, match=message):
        checked_type(data, named)


def test_textual_types() -> None:
    assert [is_text(one) for one in ("text/x", "image/svg+xml", "application/json")] == [True] * 3
    assert [is_text(one) for one in ("image/png", "application/pdf")] == [False] * 2
