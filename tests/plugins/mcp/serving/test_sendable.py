"""Texts that messages can carry."""

from __future__ import annotations

import pytest

from interpstack_mcp.serving.sendable import sendable


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("", ""),
        ("é 😀 \x00", "é 😀 \x00"),
        ("a\ud800b", r"a\ud800b"),
        ("\udfff\ud83d", r"\udfff\ud83d"),
        ("é\udc00", r"é\udc00"),
    ],
)
def test_halves_of_pairs_are_escapes(text: str, sent: str) -> None:
    assert sendable(text) == sent
