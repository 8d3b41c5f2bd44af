"""JSON texts of scripts, and values as pieces of a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack_workflows.runtime.texts import parsed, shown

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_json)
def test_shown_values_are_json(value: object) -> None:
    assert (value if isinstance(value, str) else parsed(shown(value))) == value


@pytest.mark.parametrize("text", ["", "{", "NaN", "Infinity", "[" * 100_000, "1 2"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parsed(text)


def test_a_string_is_shown_as_it_is() -> None:
    assert shown("é \n") == "é \n"
    assert shown({"a": "é"}) == '{"a":"é"}'
