from __future__ import annotations

import base64
import re

import pytest

from interpstack_cli.running.inline_images import inline_image
from interpstack_display.api import Attachment

PNG = Attachment(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 30, "image/png", "a.png")
GIF = Attachment(b"GIF89a..", "image/gif")
KITTY = {"TERM": "xterm-kitty"}
ITERM = {"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}


def test_kitty_gets_a_png_in_parts() -> None:
    drawn = inline_image(PNG, KITTY)
    assert drawn is not None
    parts = re.findall(r"\x1b_G([^;]*);([A-Za-z0-9+/=]*)\x1b\\", drawn)
    assert "".join(f"\x1b_G{head};{text}\x1b\\" for head, text in parts) == drawn
    assert [head for head, _ in parts] == ["f=100,a=T,m=1", "m=1", "m=0"]
    assert all(len(text) <= 4096 for _, text in parts)
    assert base64.b64decode("".join(text for _, text in parts)) == PNG.data


def test_iterm_gets_any_usual_image_with_its_size() -> None:
    assert inline_image(GIF, ITERM) == "\x1b]1337;File=inline=1;size=8:R0lGODlhLi4=\x07"


@pytest.mark.parametrize(
    ("item", "environment"),
    [
        (GIF, KITTY),
        (Attachment(b"RIFF0000WEBP", "image/webp"), ITERM),
        (Attachment(b"<svg/>", "image/svg+xml"), ITERM),
        (Attachment(b"%PDF-1", "application/pdf"), ITERM),
        (Attachment(b"\x89PNG\r\n\x1a\n" + bytes(4 * 2**20), "image/png"), KITTY),
        (PNG, {}),
        (PNG, {"TERM": "xterm-256color"}),
        (PNG, {"TERM": "dumb", "TERM_PROGRAM": "iTerm.app"}),
        (PNG, {"TERM": "tmux-256color", "TERM_PROGRAM": "iTerm.app"}),
        (PNG, {**KITTY, "TMUX": "/run/tmux"}),
    ],
)
def test_nothing_is_drawn_that_the_terminal_may_not_know(
    item: Attachment, environment: dict[str, str]
) -> None:
    assert inline_image(item, environment) is None


@pytest.mark.parametrize(
    "environment",
    [
        KITTY,
        {"TERM_PROGRAM": "ghostty"},
        ITERM,
        {"TERM_PROGRAM": "WezTerm"},
        {"LC_TERMINAL": "iTerm2"},
    ],
)
def test_terminals_that_are_known(environment: dict[str, str]) -> None:
    assert inline_image(PNG, environment) is not None
