"""Texts for property tests."""

from __future__ import annotations

import json

from hypothesis import given

from interpstack_testing.conformance.texts import joined, texts


@given(texts(4))
def test_json_carries_each_text(text: str) -> None:
    assert json.loads(json.dumps(text)) == text


def test_pairs_are_joined_and_lone_surrogates_stay() -> None:
    assert joined("a\ud83d\ude00\ud83d") == "a\U0001f600\ud83d"
