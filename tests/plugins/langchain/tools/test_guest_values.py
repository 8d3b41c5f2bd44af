"""What tools return, in types that cross to the guest."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import uuid
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any

import attrs
import pytest
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from pydantic import BaseModel, Field

from interpstack import UnsupportedValue
from interpstack_langchain.tools.guest_values import to_guest


class Colour(enum.Enum):
    RED = "red"


class Model(BaseModel):
    n: int = Field(serialization_alias="number")


@dataclasses.dataclass
class Data:
    n: int


@attrs.frozen
class Frozen:
    n: int


class Array:
    def tolist(self) -> list[Any]:
        return [1, [2]]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Colour.RED, "red"),
        (Model(n=1), {"n": 1}),
        (Data(2), {"n": 2}),
        (Frozen(3), {"n": 3}),
        ((1, {2}), [1, [2]]),
        (Array(), [1, [2]]),
        (bytearray(b"x"), b"x"),
        (Decimal("1.50"), "1.50"),
        (PurePosixPath("/a"), "/a"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (ToolMessage("text", tool_call_id="1"), "text"),
        (Document("text", metadata={"a": 1}), {"page_content": "text", "metadata": {"a": 1}}),
        ({True: 1, None: 2, 3: 4, Colour.RED: 5}, {"true": 1, "null": 2, "3": 4, "red": 5}),
        ({dt.date(2020, 1, 2): 1}, {"2020-01-02": 1}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_become_what_crosses(value: Any, expected: Any) -> None:
    made = to_guest(value)
    if isinstance(made, dict) and isinstance(value, Document):
        made = {key: made[key] for key in expected}
    assert made == expected


def test_what_is_in_a_value_twice_is_shared() -> None:
    inner: list[Any] = []
    for _ in range(60):  # each level doubles, were it not
        inner = [inner, inner]
    made = to_guest({"a": inner})
    assert made["a"][0] is made["a"][1]


def test_a_value_that_contains_itself_is_refused() -> None:
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(UnsupportedValue, match="contains itself or is nested too deep"):
        to_guest(ring)


def test_plain_lists_are_copied_without_reading_each_item() -> None:
    class Item(int):
        """Needs no conversion either, but may answer to any name."""

    for value in ([1, None, "a", b"b", 1.5, True], (1, 2), {3}, [], [Item(1)], [[1], 2]):
        made = to_guest(value)
        assert made == list(value)
        assert made is not value


def test_keys_that_are_equal_as_text_are_refused() -> None:
    with pytest.raises(UnsupportedValue, match="two keys of a dictionary are '1' as text"):
        to_guest({1: "a", "1": "b"})
    with pytest.raises(UnsupportedValue, match="a key of the type tuple cannot be the name"):
        to_guest({(1, 2): "a"})
