"""The state that a worker sends along is data of a guest: each part is checked."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import Image
from interpstack_workers import MalformedMessage
from interpstack_workers.saved_state import SavedRealm, read_saved_state


def test_what_becomes_of_variables_is_reported() -> None:
    image = SavedRealm(image=Image("e", "b", b""))
    assert (image.there, image.described()) == (True, "variables are as they were before this cell")
    values = SavedRealm(values={"a": 1, "f": {"$": "lost"}})
    assert values.described().endswith("restored from their values; not restored: f")
    lost = SavedRealm(lost="too large")
    assert (lost.there, lost.described()) == (
        False,
        "all variables of earlier cells are lost: too large",
    )
    assert not SavedRealm().there


@pytest.mark.parametrize("found", [None, {}, {"lost": 5}, {"lost": "x", "values": {}}, []])
def test_other_forms_are_refused(found: Any) -> None:
    with pytest.raises(MalformedMessage):
        read_saved_state(found, b"")


def test_a_reason_is_read() -> None:
    assert read_saved_state({"lost": "too large"}, b"") == SavedRealm(lost="too large")
    assert read_saved_state({"values": {"a": 1}}, b"") == SavedRealm(values={"a": 1})
