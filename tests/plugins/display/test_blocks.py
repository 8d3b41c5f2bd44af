from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_display.blocks import split_data_url, to_block

SEEN = {"type": "image", "mimeType": "image/png", "data": "eA=="}


@pytest.mark.parametrize(
    "block",
    [
        SEEN,
        {"type": "image", "base64": "eA==", "mime_type": "image/png"},
        {"type": "image", "source_type": "base64", "data": "eA==", "mime_type": "image/png"},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "eA=="},
        },
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,eA=="}},
        {"type": "image_url", "image_url": "DATA:image/png;BASE64,eA=="},
        {"type": "input_image", "image_url": "data:image/png;base64,eA=="},
        {"type": "image", "url": "data:image/png;base64,eA=="},
    ],
)
def test_blocks_of_every_kind_have_one_form(block: dict[str, Any]) -> None:
    assert to_block(block) == SEEN


def test_other_fields_of_a_block_stay() -> None:
    block = {
        "type": "file",
        "base64": "eA==",
        "mime_type": "text/csv",
        "filename": "a.csv",
        "id": 1,
    }
    assert to_block(block) == {
        "type": "file",
        "mimeType": "text/csv",
        "data": "eA==",
        "filename": "a.csv",
        "id": 1,
    }
    assert to_block({**SEEN, "data": b"x"}) == {**SEEN, "data": b"x"}
    assert to_block({"type": "image", "base64": "eA=="}) == {"type": "image", "data": "eA=="}
    assert to_block({"type": "document", "base64": "eA==", "mime_type": "application/pdf"}) == {
        "type": "file",
        "mimeType": "application/pdf",
        "data": "eA==",
    }


def test_a_file_that_mcp_embeds_is_a_file() -> None:
    resource = {"uri": "file:///a.bin", "mimeType": "application/zip", "blob": "eA=="}
    assert to_block({"type": "resource", "resource": resource, "annotations": None}) == {
        "type": "file",
        "annotations": None,
        "uri": "file:///a.bin",
        "mimeType": "application/zip",
        "data": "eA==",
    }


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"type": "text", "text": "x"},
        {"type": 5, "data": "eA==", "mimeType": "image/png"},
        {"type": ["image"], "data": "eA==", "mimeType": "image/png"},
        {"type": "image", "url": "https://example.com/a.png"},
        {"type": "image", "url": "data:image/png,x"},
        {"type": "image", "file_id": "1"},
        {"type": "image", "source": {"type": "url", "url": "https://example.com"}},
        {"type": "image", "source": {"type": "base64", "data": "eA=="}},
        {"type": "file", "data": "a record of the tool's own"},
        {"type": "resource", "resource": {"uri": "a", "text": "x"}},
        {"type": "resource", "resource": "x"},
    ],
)
def test_other_values_are_no_blocks(value: dict[str, Any]) -> None:
    assert to_block(value) is None


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("data:image/png;base64,eA==", ("image/png", True, "eA==")),
        ("DATA:,x", ("", False, "x")),
        ("data:text/plain;charset=utf-8;base64,eA==", ("text/plain", True, "eA==")),
        ("data:text/plain;base64;x=1,eA==", ("text/plain", False, "eA==")),
        ("data: is a word", None),
        ("https://example.com", None),
        ("data:" + "a" * 1000 + ",x", None),
    ],
)
def test_parts_of_data_urls(text: str, parts: Any) -> None:
    assert split_data_url(text) == parts


def test_a_block_is_a_mapping() -> None:
    with pytest.raises(ConfigurationError, match=r"to_block takes a content block.*; got None"):
        to_block(None)  # type: ignore[arg-type]
