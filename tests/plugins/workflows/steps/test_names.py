"""Names of steps: digests of what they ask for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack_workflows.steps.names import StepNames, canonical

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.dictionaries(st.text(), _json, max_size=4))
def test_the_order_of_keys_does_not_count(inputs: dict[str, Any]) -> None:
    turned = dict(reversed(inputs.items()))
    assert StepNames("root").name("agent", inputs) == StepNames("root").name("agent", turned)


@given(_json, _json)
def test_other_values_have_other_texts(one: Any, other: Any) -> None:
    if canonical(one) == canonical(other):
        assert one == other


def test_names_have_a_digest_and_a_count() -> None:
    names = StepNames("root")
    first, signature = names.name("agent", {"prompt": "é"})
    assert len(first) == 4 + 24
    assert first.startswith("sig_")
    assert signature == '{"kind":"agent","prompt":"\\u00e9","scope":"root"}'
    assert names.name("agent", {"prompt": "é"}) == (f"{first}#2", signature)
    assert names.name("agent", {"prompt": "é"})[0] == f"{first}#3"
    assert names.name("agent", {"prompt": "e"})[0].isidentifier()


def test_kinds_and_scopes_have_names_of_their_own() -> None:
    inputs = {"prompt": "p"}
    made = {
        StepNames(scope).name(kind, inputs)[0]
        for scope in ("root", "root/a")
        for kind in ("agent", "ask")
    }
    assert len(made) == 4


def test_a_key_stands_for_the_inputs() -> None:
    one, other = StepNames("root"), StepNames("root")
    assert one.name("agent", {"a": 1}, "k")[0] == other.name("agent", {"a": 2}, "k")[0]
    assert one.name("agent", {"a": 1}, "k")[0].endswith("#2")
    assert one.name("agent", {"a": 1})[0].startswith("sig_")


@pytest.mark.parametrize("value", [{1}, float("nan"), {"a": object()}])
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"JSON"):
        canonical(value)
