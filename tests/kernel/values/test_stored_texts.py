"""Every text of a record comes back from a store that writes UTF-8."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack.values import from_storable, to_storable
from interpstack_testing.conformance.texts import texts

#: Texts with halves of pairs, and texts that begin like an escaped one.
TEXTS = texts(8) | st.builds("\ufdd0text:{}".format, texts(3)) | st.just("\ud800")
TREES = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers() | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def every_text(tree: Any) -> list[str]:
    if isinstance(tree, str):
        return [tree]
    if isinstance(tree, dict):
        return [text for item in tree.items() for text in every_text(list(item))]
    return [text for item in tree for text in every_text(item)] if isinstance(tree, list) else []


@given(TREES)
def test_a_tree_comes_back_from_texts_that_utf_8_has_a_form_for(tree: Any) -> None:
    stored = to_storable(tree)
    for text in every_text(stored):
        text.encode("utf-8")
    assert from_storable(stored) == tree


def test_a_tree_whose_texts_can_be_stored_is_stored_as_it_is() -> None:
    tree = {"a": ["é", ("b", 1)], "\ufdd0": {"c": None}}
    assert to_storable(tree) is tree
    assert from_storable(tree) is tree


def test_a_tree_may_be_deeper_than_the_stack_of_python() -> None:
    tree: Any = "\ud800"
    for _ in range(5000):
        tree = [tree]
    found = from_storable(to_storable(tree))
    for _ in range(5000):
        (found,) = found
    assert found == "\ud800"


def test_tuples_and_other_objects_are_carried() -> None:
    other = object()
    assert from_storable(to_storable(("\ud800", other))) == ["\ud800", other]


@pytest.mark.parametrize("text", ["\ufdd0text:", "\ufdd0text:no", "\ufdd0text:7"])
def test_a_malformed_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        from_storable([text])
