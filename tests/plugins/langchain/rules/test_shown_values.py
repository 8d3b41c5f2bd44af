"""Arguments of calls as people see them: no two different ones look alike."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from interpstack import UNDEFINED, BigInt, ErrorValue, MapValue, SetValue
from interpstack_langchain.rules.shown_values import plain, read, storable

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
        ({"$bigint": str(LARGE)}, [["$bigint", str(LARGE)]]),
        ([2**63 - 1, {"a": 2**63}], [2**63 - 1, {"a": {"$bigint": str(2**63)}}]),
        (MapValue(((BigInt(LARGE), SetValue((1,))),)), [[{"$bigint": str(LARGE)}, [1]]]),
        (BigInt(2**9000), {"$bigint": hex(2**9000)}),
        (ErrorValue("TypeError", "no"), {"name": "TypeError", "message": "no"}),
        (UNDEFINED, None),
    ],
)
def test_each_value_has_a_form_of_its_own_that_a_checkpoint_holds(given: Any, shown: Any) -> None:
    found = storable(plain(given))
    assert found == shown
    assert type(found) is type(shown)
    serde = JsonPlusSerializer()
    assert serde.loads_typed(serde.dumps_typed(found)) == shown


@pytest.mark.parametrize("given", [5, "5", LARGE, -(2**9000), [LARGE, {"a": LARGE}], None, {}])
def test_a_shown_value_that_comes_back_is_the_value(given: Any) -> None:
    assert read(storable(plain(given))) == given


@pytest.mark.parametrize("given", [{"$bigint": "x"}, {"$bigint": 5}, {"$bigint": "5", "a": 1}])
def test_no_other_object_is_an_integer(given: Any) -> None:
    assert read(given) == given
