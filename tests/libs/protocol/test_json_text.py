"""Short JSON of guests, read at once; test_long_json.py has the long."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interpstack_protocol import json_text, read_json


def _refuse(text: str, refuse: Any) -> Any:
    raise AssertionError(f"{len(text)} characters were read in pieces")


@pytest.mark.parametrize("value", [None, 1, "a", [1, [2.5]], {"a": {"b": [True]}}])
def test_values_are_those_of_the_standard_library(value: Any) -> None:
    assert read_json(json.dumps(value)) == value


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "", "[1", "1 2"])
def test_texts_that_are_not_json_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_json(text)


def test_only_long_texts_are_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "LongReader", _refuse)
    text = json.dumps("x" * (json_text._SHORT_CHARS - 2))
    assert len(read_json(text)) == len(text) - 2
    with pytest.raises(AssertionError, match=f"{len(text) + 1} characters"):
        read_json(text + " ")
