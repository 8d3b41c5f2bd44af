"""Arguments of calls as people see them: no two different ones look alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from interpstack import BigInt
from interpstack_langchain.rules.shown_values import digestible, plain, read, storable
from interpstack_testing.conformance.texts import joined

LARGE = 2**70


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (BigInt(5), 5),
        ("5", "5"),
        (BigInt(LARGE), {"$bigint": str(LARGE)}),
        (-LARGE, {"$bigint": str(-LARGE)}),
        (str(LARGE), str(LARGE)),
        (float(LARGE), float(LARGE)),
        ({"$bigint": str(LARGE)}, {"$$bigint": str(LARGE)}),
        ({"$$bigint": LARGE}, {"$$$bigint": {"$bigint": str(LARGE)}}),
        ({"$bigint": "5", "a": 1}, {"$bigint": "5", "a": 1}),
        ([{"$bigint": {"$bigint": 5}}], [{"$$bigint": {"$$bigint": 5}}]),
        ([2**63 - 1, {"a": 2**63}], [2**63 - 1, {"a": {"$bigint": str(2**63)}}]),
        (BigInt(2**9000), {"$bigint": hex(2**9000)}),
        ("pay \ud83d", {"$escaped": r"pay \ud83d"}),
        (r"pay \ud83d", r"pay \ud83d"),
        ("\\ud83d\ud83d\n\U0001f600", {"$escaped": "\\\\ud83d\\ud83d\n\U0001f600"}),
        ({"$escaped": r"\ud83d"}, {"$$escaped": r"\ud83d"}),
        ([{"$bigint": "\udc00"}], [{"$$bigint": {"$escaped": r"\udc00"}}]),
    ],
)
def test_each_value_has_a_form_of_its_own_that_a_checkpoint_holds(given: Any, shown: Any) -> None:
    found = storable(plain(given))
    assert found == shown
    assert type(found) is type(shown)
    serde = JsonPlusSerializer()
    assert serde.loads_typed(serde.dumps_typed(found)) == shown


_MARKS = st.sampled_from(
    ["$bigint", "$$bigint", "$$$bigint", "$", "v", "bigint", "a", "$escaped", "$$escaped"]
)
_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([LARGE, -LARGE, 2**63, -(2**63), 2**63 - 1, 2**9000, -(2**9000)]),
    st.sampled_from([LARGE, 5, 2**9000]).map(lambda one: hex(one)),
    st.text(max_size=3),
    st.text("\\\ud83d\ude00u08dx", max_size=6).map(joined),
    st.sampled_from([r"\ud83d", r"\\ud83d"]),
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_MARKS, inner, max_size=2),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None, database=None)
@drawn(_VALUES)
def test_a_shown_value_that_comes_back_is_the_value(given: Any) -> None:
    assert plain(given) == given
    shown = storable(plain(given))
    assert read(shown) == given
    serde = JsonPlusSerializer()
    assert read(serde.loads_typed(serde.dumps_typed(shown))) == given


@settings(max_examples=300, deadline=None, database=None)
@drawn(_VALUES, _VALUES)
def test_different_calls_have_different_digests(one: Any, other: Any) -> None:
    alike = json.dumps(digestible(plain(one))) == json.dumps(digestible(plain(other)))
    # In JSON, true is not 1, as it is in Python.
    assert alike == (repr(plain(one)) == repr(plain(other)))


def test_a_rule_can_write_an_integer_of_any_length() -> None:
    assert str({"n": plain(BigInt(2**20_000))}) == f"{{'n': {hex(2**20_000)}}}"
    assert plain(BigInt(2**20_000)) + 1 == 2**20_000 + 1


@pytest.mark.parametrize(
    "given",
    [
        {"$bigint": "x"},
        {"$bigint": 5},
        {"$bigint": "5", "a": 1},
        {"$escaped": "\\x"},
        {"$escaped": "\\ud8"},
        {"$escaped": 5},
        {"$escaped": "a", "b": 1},
    ],
)
def test_no_other_object_of_a_person_is_read(given: Any) -> None:
    assert read(given) == given
