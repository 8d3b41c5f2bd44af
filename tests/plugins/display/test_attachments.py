from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from interpstack import ConfigurationError, Outcome
from interpstack_display.attachments import (
    Attachment,
    DisplayLimits,
    attachments_of,
    described,
    only_shown,
)


def test_an_attachment_has_bytes_a_type_and_a_name(png: SimpleNamespace) -> None:
    made = Attachment(png.data, "image/PNG", "plot.png")
    assert (made.mime_type, made.name, made.base64) == ("image/png", "plot.png", png.base64)
    assert (made.is_image, made.is_text) == (True, False)
    assert repr(made) == (
        f"Attachment(data=<{len(png.data)} bytes>, mime_type='image/png', name='plot.png')"
    )
    text = Attachment.of(b"<svg/>", "image/svg+xml")
    assert (text.is_image, text.is_text, text.text) == (False, True, "<svg/>")


def test_the_type_is_read_from_the_bytes_where_none_is_passed(png: SimpleNamespace) -> None:
    assert Attachment.of(png.data).mime_type == "image/png"


@pytest.mark.parametrize("data", [b"", "text", bytearray(b"x"), None])
def test_data_are_bytes(data: Any) -> None:
    with pytest.raises(ValueError, match="takes bytes, at least one"):
        Attachment(data, "text/plain")


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "a" * 101, 5, ".", "..", "../plot.png", "/etc/passwd", "a\\b.png", "C:\\x"),
        *("a\nb", "\x1b]0;title\x07", "\x9b31m", "a\u202egnp.exe", "\u200bx", "\ud800", "\u2028"),
        "a\0.png",
    ],
)
def test_names_hold_no_path_and_no_control_characters(name: Any) -> None:
    with pytest.raises(ValueError, match=r"^name takes .*'plot\.png'$"):
        Attachment(b"x", "text/plain", name)


@pytest.mark.parametrize("name", [None, "plot.png", "Größe 1.png", "图.png", "a" * 100])
def test_other_names_stay(name: str | None) -> None:
    assert Attachment(b"x", "text/plain", name).name == name


def test_the_plain_form_makes_the_same_attachment(png: SimpleNamespace) -> None:
    for made in (Attachment(png.data, "image/png", "p.png"), Attachment(b"x", "text/plain")):
        assert Attachment.from_dict(made.to_dict()) == made


@pytest.mark.parametrize(
    "stored",
    [{}, {"data": "eA==", "mime_type": "text/plain"}, {"data": "?", "mime_type": "a/b", "name": 1}],
)
def test_a_damaged_plain_form_is_refused(stored: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"stored as mime_type|[bB]ase64"):
        Attachment.from_dict(stored)


def test_a_line_describes_an_attachment() -> None:
    assert described(Attachment(b"x" * 1234, "text/plain")) == "text/plain, 1,234 bytes"
    assert described(Attachment(b"x", "text/plain", "a.txt")) == "text/plain, 1 bytes, a.txt"


def test_notebooks_show_pictures_and_run_nothing(png: SimpleNamespace) -> None:
    picture = Attachment(png.data, "image/png")._repr_mimebundle_()
    assert picture == {"image/png": png.data, "text/plain": f"image/png, {len(png.data)} bytes"}
    for text, mime_type in ((b"<script>", "text/html"), (b"<svg/>", "image/svg+xml")):
        shown = Attachment(text, mime_type)._repr_mimebundle_()
        assert list(shown) == ["text/plain"]


def test_other_attachments_of_an_outcome_are_left_out() -> None:
    made = Attachment(b"x", "text/plain")
    assert attachments_of(Outcome(attachments=(1, made, ValueError()))) == (made,)
    assert only_shown([None, made]) == (made,)


@pytest.mark.parametrize(
    "limits",
    [{"count": 0}, {"item_bytes": -1}, {"total_bytes": "1"}, {"item_bytes": 2, "total_bytes": 1}],
)
def test_limits_are_positive_and_fit_together(limits: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        DisplayLimits(**limits)


def test_attachments_are_those_of_an_outcome() -> None:
    with pytest.raises(ConfigurationError, match="attachments_of takes an Outcome; got None"):
        attachments_of(None)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="described takes an Attachment; got None"):
        described(None)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="DisplayLimits: count takes a whole number"):
        DisplayLimits(count=0)
