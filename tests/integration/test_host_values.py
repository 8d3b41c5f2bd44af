"""Objects of libraries that tools return: the same plain data through every door to code."""

from __future__ import annotations

import datetime as dt
from collections import namedtuple
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from langchain_core.messages import HumanMessage
from pydantic import AnyUrl, BaseModel, Field

from interpstack import UnsupportedValue, decode, encode, simplified
from interpstack_langchain.tools.guest_values import to_guest

Door = Callable[[Any], Any]
DAY = dt.datetime(2030, 1, 2)
Pair = namedtuple("Pair", "left right")


def of_bridge(value: Any) -> Any:
    """A value as a bridge answers it."""
    return decode(encode(value, None, simplified))


def of_tool(value: Any) -> Any:
    """A value as a tool of LangChain answers it."""
    return of_bridge(to_guest(value))


def of_notebook(value: Any) -> Any:
    """A variable of a notebook as code gets it."""
    return decode(encode(value, None, partial(simplified, times_as_text=False)))


doors = pytest.mark.parametrize("door", [of_bridge, of_tool, of_notebook])


class Price(BaseModel):
    cents: int = Field(serialization_alias="c")
    page: AnyUrl


@doors
def test_a_data_frame_becomes_all_of_its_rows(door: Door) -> None:
    frame = pd.DataFrame({"n": range(100), "x": [None, *[0.5] * 99], "s": ["a"] * 100})
    rows = door(frame)
    assert len(rows) == 100
    assert rows[:2] == [{"n": 0, "x": None, "s": "a"}, {"n": 1, "x": 0.5, "s": "a"}]
    assert [type(one) for one in rows[1].values()] == [int, float, str]
    assert door(frame.iloc[:0]) == []
    assert door({"report": [frame.head(1)]}) == {"report": [rows[:1]]}


@doors
def test_an_index_that_is_more_than_row_numbers_becomes_fields(door: Door) -> None:
    frame = pd.DataFrame({"k": ["x", "y", "x"], "j": [1, 1, 1], "v": [1, 2, 3]})
    assert door(frame.groupby("k")["v"].sum()) == [{"k": "x", "v": 4}, {"k": "y", "v": 2}]
    assert door(frame.groupby(["k", "j"])["v"].max().to_frame())[0] == {"k": "x", "j": 1, "v": 3}
    assert door(pd.Series([1, 2], index=["a", "b"])) == [
        {"index": "a", "value": 1},
        {"index": "b", "value": 2},
    ]
    assert door(pd.Series([1, None], dtype="Int64")) == [{"value": 1}, {"value": None}]


@doors
@pytest.mark.parametrize(
    ("value", "made"),
    [
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.zeros((2, 1500)), [[0.0] * 1500] * 2),
        (np.arange(2500), list(range(2500))),
        (np.array([(1, "x")], dtype=[("n", "i4"), ("s", "U4")]), [{"n": 1, "s": "x"}]),
        (np.ma.array([1, 2], mask=[False, True]), [1, None]),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        ({"a": (np.int32(1), np.str_("b"))}, {"a": [1, "b"]}),
        (pd.Categorical(["a", "b", None]), ["a", "b", None]),
        (pd.Categorical([1, None]), [1, None]),
        (pd.array([1, None], dtype="Int64"), [1, None]),
        (pd.array(["a", None], dtype="string"), ["a", None]),
        (pd.array([0.5, None], dtype="Float64"), [0.5, None]),
        (pd.arrays.SparseArray([0, 1]), [0, 1]),
        (
            pd.MultiIndex.from_tuples([("a", 1), ("b", None), (None, 2)]),
            [["a", 1], ["b", None], [None, 2]],
        ),
        (pd.CategoricalIndex(["a", None]), ["a", None]),
        (pd.Index([0.5, None]), [0.5, None]),
        (pd.Index([1, 2]), [1, 2]),
        ([pd.NaT, pd.NA, np.datetime64("NaT", "s"), np.timedelta64("NaT", "s")], [None] * 4),
        (np.timedelta64(7_000_000_000, "ns"), "P0DT7S"),
        (pd.Timedelta(5, "ns"), "P0DT0.000000005S"),
        (Price(cents=1, page=AnyUrl("https://a.b/")), {"cents": 1, "page": "https://a.b/"}),
        (Pair(1, 2), [1, 2]),
    ],
    ids=str,
)
def test_other_objects_become_plain_data(door: Door, value: Any, made: Any) -> None:
    assert door(value) == made


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_points_in_time_are_text_and_in_notebooks_times(unit: str) -> None:
    value = [np.datetime64(DAY, unit), pd.Timestamp(DAY), DAY, np.array([np.datetime64(DAY, unit)])]
    text = DAY.isoformat()
    assert of_bridge(value) == of_tool(value) == [text, text, text, [text]]
    assert of_notebook(value) == [DAY, DAY, DAY, [DAY]]
    frame = pd.DataFrame({"d": [pd.Timestamp(DAY), None], "e": [DAY.date(), None]})
    assert of_tool(frame)[0] == {"d": text, "e": "2030-01-02"}
    assert of_notebook(frame)[0] == {"d": DAY, "e": "2030-01-02"}


@doors
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns, .* of the name 'a'; rename one"),
        (pd.DataFrame({("a", "b"): [1]}), "columns of more than one level; join their names"),
        (np.datetime64("2030-01-01T00:00:00.000000001"), "parts of a microsecond, .* convert it"),
        (np.datetime64("20000-01-01"), "what Python's times cannot; convert it"),
        (np.timedelta64(3, "M"), "what Python's times cannot; convert it"),
        (np.longdouble(1), "a numpy.longdouble cannot be passed to the guest; convert it"),
        ({"a": [object()]}, r"a builtins.object cannot be passed .* \(at \$.a\[0\]\)"),
        (pd.Series(pd.period_range("2030-01", periods=1)), r"pandas\S*Period cannot be passed"),
        ((one for one in "ab"), "a builtins.generator cannot be passed .* convert it to a list"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_would_lose_data_is_refused_with_a_remedy(
    door: Door, value: Any, message: str
) -> None:
    with pytest.raises(UnsupportedValue, match=message):
        door(value)


def test_a_long_frame_is_given_up_before_it_is_whole() -> None:
    frame = pd.DataFrame({"n": np.arange(10**7)})
    with pytest.raises(UnsupportedValue, match="more than 1000 bytes"):
        encode(frame, 1000, simplified)


def test_a_message_of_langchain_becomes_an_object() -> None:
    assert of_tool([HumanMessage("hello")])[0]["content"] == "hello"
