from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest

from interpstack import UNDEFINED
from interpstack_display.attachments import Attachment
from interpstack_display.inputs import read_attachments


def read(value: Any, *more: Any) -> list[Attachment]:
    return list(read_attachments(value, *more))


def test_pictures_in_every_form(png: SimpleNamespace) -> None:
    made = Attachment(png.data, "image/png")
    forms = [
        png.data,
        png.url,
        {"type": "image", "mimeType": "image/png", "data": png.base64},
        {"type": "image", "mimeType": "image/png", "data": png.data},
        {"type": "image", "data": png.base64},
        {"type": "image", "base64": png.base64, "mime_type": "image/png"},
        {"type": "image_url", "image_url": {"url": png.url, "detail": "high"}},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": png.base64},
        },
        {"data": png.data},
        {"data": png.data, "mime_type": "image/png"},
        {"data": png.base64, "mimeType": "image/png"},
        {"type": "image", "mimeType": "application/octet-stream", "data": png.base64},
        [{"type": "image", "mimeType": "image/png", "data": png.base64}],
        {"content": [{"type": "image", "mimeType": "image/png", "data": png.base64}]},
        {"type": "resource", "resource": {"uri": "a", "mimeType": "image/png", "blob": png.base64}},
    ]
    for form in forms:
        assert read(form) == [made], form


def test_names_and_types_beside_the_value_or_in_it(png: SimpleNamespace) -> None:
    named = Attachment(png.data, "image/png", "a.png")
    assert read(png.data, None, "a.png") == [named]
    assert read(png.url, "image/png", "a.png") == [named]
    assert read({"data": png.data, "name": "a.png"}, None, "b.png") == [named]
    assert read({"data": png.data, "filename": "a.png", "name": None}) == [named]


@pytest.mark.parametrize(
    ("value", "mime_type", "text"),
    [
        ("hello", "text/plain", "hello"),
        ("\ud800", "text/plain", "\\ud800"),
        ("data:,a%20b", "text/plain", "a b"),
        ("data:text/html,<p>", "text/html", "<p>"),
        ({"type": "text", "text": "a"}, "text/plain", "a"),
        ({"text": "a,b", "mimeType": "text/csv"}, "text/csv", "a,b"),
        ({"type": "resource", "resource": {"uri": "u", "text": "a"}}, "text/plain", "a"),
        ([{"a": 1}], "text/markdown", "| a |\n| --- |\n| 1 |"),
        ({"a": [1]}, "application/json", '{\n  "a": [\n    1\n  ]\n}'),
        (5, "application/json", "5"),
        (True, "application/json", "true"),
        ({"data": "abc"}, "application/json", '{\n  "data": "abc"\n}'),
        ({"type": "user", "name": "ann"}, "application/json", None),
        ([1, {"type": "text", "text": "a"}], "application/json", None),
        ({"content": "abc"}, "application/json", None),
    ],
)
def test_texts_tables_and_objects(value: Any, mime_type: str, text: str | None) -> None:
    (made,) = read(value)
    assert made.mime_type == mime_type
    assert text is None or made.text == text


def test_code_chooses_the_form_of_a_text_or_a_table() -> None:
    assert read("# A", "text/markdown")[0].mime_type == "text/markdown"
    assert read("<svg/>", "image/svg+xml")[0].mime_type == "image/svg+xml"
    assert read([{"a": 1}], "application/json")[0].text == '[\n  {\n    "a": 1\n  }\n]'


def test_content_of_several_blocks_becomes_several_attachments(png: SimpleNamespace) -> None:
    block = {"type": "image", "data": png.base64, "mimeType": "image/png"}
    made = read({"content": [{"type": "text", "text": "a"}, block], "isError": False})
    assert [one.mime_type for one in made] == ["text/plain", "image/png"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "display takes bytes, a data URL"),
        (UNDEFINED, "display takes bytes, a data URL"),
        ("", "the text is empty"),
        ([0] * 50_001, "more than 50000 items and fields; show a part of it"),
        ({"a": [[[]] * 60_000]}, "more than 50000 items and fields"),
        ([{"type": "text", "text": "a"}] * 30_000, "more than 50000 items and fields"),
        (b"", "takes bytes, at least one"),
        (b"123", "cannot be determined from the bytes"),
        ("data:image/png;base64,@@", "the data are not Base64"),
        ("data:image/png;base64,eA", "the data are not Base64"),
        ("data:image/png;base64,e A==", "the data are not Base64"),
        ("data:image/png;base64,é", "the data are not Base64"),
        ("data:image/png;base64,eA==", "the bytes are not image/png"),
        ("data:text/plain,100%", "a % that is not followed"),
        ({"type": "image", "url": "https://example.com/a.png"}, "takes data, not an address"),
        ({"type": "image"}, "put the bytes of a file, or their Base64, in the field data"),
        ({"type": "image", "data": 5, "mimeType": "image/png"}, "in the field data"),
        ({"type": "image", "data": "eA==", "mimeType": "text/plain"}, "cannot hold text/plain"),
        ({"type": "image", "data": "a,b", "mimeType": "text/csv"}, "are not Base64"),
        ({"data": b"x", "mimeType": 5}, "is a text, as 'image/png'"),
        ({"data": b"x", "mimeType": "text/plain", "name": "../x"}, "without a path"),
        ({"data": b"x", "mimeType": "text/plain", "name": 5}, "name takes a string"),
    ],
)
def test_refused_values(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(value)


@pytest.mark.parametrize(
    ("value", "mime_type", "message"),
    [
        ("data:text/plain,x", "text/html", "the data URL is of the type 'text/plain'"),
        ({"data": b"x", "mimeType": "text/plain"}, "text/html", "two different media types"),
        ({"a": 1}, "text/html", "is shown as application/json; for 'text/html', pass a text"),
        ([{"a": 1}], "text/csv", "is shown as text/markdown or application/json"),
    ],
)
def test_refused_types(value: Any, mime_type: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(value, mime_type)


def test_attachments_are_made_one_by_one() -> None:
    items = read_attachments([{"type": "text", "text": "a"}, {"type": "image", "data": b"?"}])
    assert next(items).text == "a"
    with pytest.raises(ValueError, match="cannot be determined"):
        next(items)


@pytest.mark.parametrize("chars", [3, 4, 5, 7])
def test_percent_signs_are_decoded_in_pieces(monkeypatch: pytest.MonkeyPatch, chars: int) -> None:
    monkeypatch.setattr("interpstack_display.inputs._PIECE_CHARS", chars)
    for text in ("%41%42%43%44", "a%41b%42é%43", "ab%41", "abc%41", "%E2%82%ACx", "plain text"):
        (made,) = read(f"data:text/plain,{text}")
        assert made.data == unquote_to_bytes(text)
    for text in ("%41%4", "ab%", "abc%4x", "%%41", "%41%42%43%4"):
        with pytest.raises(ValueError, match="two hexadecimal digits"):
            read(f"data:text/plain,{text}")


def test_content_in_content_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[Any] = []
    monkeypatch.setattr("interpstack_display.inputs.check_parts", counted.append)
    value: Any = [{"type": "text", "text": "x"}]
    for _ in range(90):
        value = [{"type": "text", "text": "y", "content": value}]
    assert [item.text for item in read(value)] == ["x"]
    assert counted == [value]
