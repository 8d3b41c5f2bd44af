"""Tables of code as data frames."""

from __future__ import annotations

import sys

import pytest

from interpstack import UNDEFINED, ConfigurationError
from interpstack_notebook.values import as_frame, is_records


def test_records_become_a_data_frame() -> None:
    frame = as_frame("rows", [{"a": 1, "b": UNDEFINED}, {"a": 2}])
    assert frame["a"].tolist() == [1, 2]
    assert frame["b"].isna().all()
    assert [is_records(one) for one in ([], [1], [{}], {"a": 1}, [{"a": 1}])] == [False] * 4 + [
        True
    ]


def test_what_is_no_data_frame_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="x is not an array of records"):
        as_frame("x", [1])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigurationError, match="--frames needs pandas: pip install pandas"):
        as_frame("x", [{"a": 1}])
