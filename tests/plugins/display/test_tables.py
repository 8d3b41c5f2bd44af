from __future__ import annotations

import json
import math
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from interpstack import UNDEFINED, ErrorValue, MapValue, SetValue
from interpstack_display.tables import is_table, json_text, markdown_table


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([{"a": 1}, {"b": None}], True),
        ([{"a": datetime(2026, 1, 2, tzinfo=UTC), "b": UNDEFINED}], True),
        ([], False),
        ([{}], False),
        ([{"a": 1}, 2], False),
        ([{"a": [1]}], False),
        ({"a": 1}, False),
        ([{str(column): 1 for column in range(51)}], False),
        ([{str(row % 50): 1} for row in range(1000)], True),
        ([{str(row % 50): 1} for row in range(1001)], False),
    ],
)
def test_a_list_of_flat_records_is_a_table(value: Any, found: bool) -> None:
    assert is_table(value) is found


def test_a_table_in_markdown_has_all_fields_as_columns() -> None:
    rows = [{"a": 1, "b": "x|y"}, {"b": "two\nlines", "c": True}, {"c": UNDEFINED, "a": -0.5}]
    assert markdown_table(rows).splitlines() == [
        "| a | b | c |",
        "| --- | --- | --- |",
        "| 1 | x\\|y |  |",
        "|  | two lines | true |",
        "| -0.5 |  |  |",
    ]


def test_no_text_leaves_its_column() -> None:
    rows = [{"a|": "x\\|y", "b\\|": "\\\\||"}, {"a|": "C:\\new", "b\\|": "\\"}]
    assert markdown_table(rows).splitlines() == [
        r"| a\| | b\\\| |",
        "| --- | --- |",
        r"| x\\\|y | \\\\\|\| |",
        r"| C:\new | \ |",
    ]


def test_a_row_of_backslashes_takes_time_in_proportion() -> None:
    text = "\\" * 200_000
    began = time.thread_time()
    shown = markdown_table([{"a": text}])
    assert time.thread_time() - began < 2  # half a minute, if each backslash began a search
    assert shown.splitlines()[-1] == f"| {text} |"


def test_an_integer_without_end_is_described() -> None:
    assert markdown_table([{"a": 10**5000}]).splitlines()[-1] == "| <integer of 16610 bits> |"


def test_values_that_json_lacks_take_their_nearest_form() -> None:
    value = {
        "map": MapValue([(1, "a")]),
        "set": SetValue([1, 2]),
        "error": ErrorValue("TypeError", "no"),
        "none": [UNDEFINED, None],
        "bytes": b"123",
        "date": datetime(2026, 1, 2, tzinfo=UTC),
        "numbers": [math.nan, math.inf, 10**30, True, 10**5000],
    }
    assert json.loads(json_text(value)) == {
        "map": [[1, "a"]],
        "set": [1, 2],
        "error": "TypeError: no",
        "none": [None, None],
        "bytes": "<3 bytes>",
        "date": "2026-01-02T00:00:00+00:00",
        "numbers": ["nan", "inf", 10**30, True, "<integer of 16610 bits>"],
    }
