"""Values of a notebook for code, and tables of code as data frames."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

from interpstack import (
    UNDEFINED,
    ConfigurationError,
    SetValue,
    UnsupportedValue,
    decode,
    encode,
)
from interpstack_notebook.values import as_frame, for_guest, is_records

DAY = datetime(2020, 1, 2)


def given(value: Any) -> Any:
    """A value as code gets it."""
    return decode(encode(value, None, for_guest))


def test_a_data_frame_becomes_records_of_python() -> None:
    frame = pd.DataFrame(
        {
            "n": [1, 2],
            "x": [0.5, None],
            "s": ["a", None],
            "d": [pd.Timestamp(DAY), None],
            "b": [True, False],
            "l": [[np.int64(1)], []],
        }
    )
    rows = given(frame)
    assert rows == [
        {"n": 1, "x": 0.5, "s": "a", "d": DAY, "b": True, "l": [1]},
        {"n": 2, "x": None, "s": None, "d": None, "b": False, "l": []},
    ]
    assert [type(value) for value in rows[0].values()] == [int, float, str, datetime, bool, list]
    assert given(frame.iloc[:0]) == []


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (pd.Series([1, None], dtype="Int64"), [1, None]),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.float64(0.5), 0.5),
        ({"a": (np.int32(1), pd.Timestamp(DAY))}, {"a": [1, DAY]}),
        ("text", "text"),
        ({"a": {np.int64(1)}}, {"a": SetValue((1,))}),
        ([pd.NaT, pd.NA, np.datetime64("NaT")], [None, None, None]),
        ([DAY, DAY.date()], [DAY, "2020-01-02"]),
        (pd.DataFrame({"d": [DAY.date()]}), [{"d": "2020-01-02"}]),
    ],
)
def test_other_values(value: Any, made: Any) -> None:
    assert given(value) == made


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_times_of_numpy_are_times_in_every_unit(unit: str) -> None:
    time = np.datetime64(DAY, unit)
    day = DAY.date().isoformat() if unit == "D" else DAY
    assert given([time, np.array([time])]) == [day, [day]]
    with pytest.raises(UnsupportedValue, match=r"a datetime\.timedelta cannot be passed"):
        given(np.timedelta64(7_000_000_000, "ns"))


def test_a_value_that_contains_itself_is_refused_at_once() -> None:
    twice: list[Any] = []
    twice += [twice, twice]
    with pytest.raises(UnsupportedValue, match="contains itself"):
        given({"a": twice})


def test_columns_of_one_name_are_refused() -> None:
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(ConfigurationError, match="two columns of the same name"):
        for_guest(frame)


def test_records_become_a_data_frame() -> None:
    frame = as_frame("rows", [{"a": 1, "b": UNDEFINED}, {"a": 2}])
    assert frame["a"].tolist() == [1, 2]
    assert frame["b"].isna().all()
    assert [is_records(one) for one in ([], [1], [{}], {"a": 1}, [{"a": 1}])] == [False] * 4 + [
        True
    ]


def test_what_is_no_data_frame_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="x is not an array of records"):
        as_frame("x", [1])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigurationError, match="--frames needs pandas: pip install pandas"):
        as_frame("x", [{"a": 1}])
