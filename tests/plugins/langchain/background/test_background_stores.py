"""Suspended runs in memory are bounded."""

from __future__ import annotations

import pytest

from interpstack_langchain.background import background_stores
from interpstack_langchain.background.background_stores import Images


def test_the_oldest_images_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_stores, "_MAX_CHARS", 10)
    images = Images()
    images.keep("a", "x" * 4)
    images.keep("b", "x" * 4)
    images.keep("b", "y" * 6)
    assert (images.get("a"), images.get("b")) == ("xxxx", "yyyyyy")
    images.keep("c", "z")
    assert (images.get("a"), images.get("b"), images.get("c")) == (None, "yyyyyy", "z")
    images.drop("b")
    images.drop("b")
    images.keep("d", "w" * 9)
    assert (images.get("c"), images.get("d")) == ("z", "w" * 9)
