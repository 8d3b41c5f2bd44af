"""Values of JSON that are counted before it is parsed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interpstack_mcp.connections.counted import TooManyValues, ValueCount

TEXTS = ["a,[{", 'say "a,b"', "back\\slash,\\", '\\"', ",,,,,,,,,,"]


def _within(data: bytes, most: int, piece: int) -> bool:
    count = ValueCount(most)
    try:
        for begin in range(0, len(data), piece):
            count.add(data[begin : begin + piece])
    except TooManyValues:
        return False
    return True


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 2**20])
@pytest.mark.parametrize(
    ("value", "number"),
    [([0] * 10, 10), ({"a": [], "b": {}}, 4), (TEXTS, 5), ({text: text for text in TEXTS}, 5)],
)
def test_texts_do_not_count_however_the_message_is_cut(value: Any, number: int, piece: int) -> None:
    data = json.dumps(value).encode()
    assert _within(data, number, piece)
    assert not _within(data, number - 1, piece)


def test_the_next_message_counts_from_0() -> None:
    count = ValueCount(3)
    for _ in range(5):
        count.begin()
        count.add(b'[0, 0, "')
