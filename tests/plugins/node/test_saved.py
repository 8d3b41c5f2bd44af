"""Values that outlive a kernel, and reports in another form."""

from __future__ import annotations

import json

import pytest

from interpstack import EngineFailure
from interpstack_node.saved import SavedValues, read_names


def test_values_are_those_of_the_last_report() -> None:
    saved = SavedValues()
    assert (saved.read(), saved.current, saved.loss()) == ({}, True, "")
    saved.outdate()
    assert not saved.current
    saved.save('{"n": 1}')
    assert (saved.read(), saved.current) == ({"n": 1}, True)
    saved.forget()
    assert saved.read() == {}


def test_the_kernel_with_later_values_is_gone() -> None:
    saved = SavedValues()
    saved.save('{"n": 1}')
    saved.outdate()
    saved.accept()
    assert (saved.readable(), saved.current) == ({"n": 1}, True)


def test_what_has_no_value_is_listed() -> None:
    saved = SavedValues()
    lost = {f"f{n}": {"$": "lost", "v": "a function"} for n in range(55)}
    saved.save(json.dumps({"kept": 1, **lost}))
    notice = saved.loss()
    assert notice.endswith("f48, f49 and 5 more.")
    assert "kept" not in notice


def test_a_loss_is_reported_once() -> None:
    saved = SavedValues()
    saved.loaded('{"f": {"$": "lost", "v": "a function"}}')  # a notice of the restore named it
    assert saved.loss() == ""
    saved.save('{"f": {"$": "lost", "v": "a function"}, "g": {"$": "lost", "v": "a function"}}')
    assert saved.loss().endswith("without a value, and so lost: g.")
    assert saved.loss() == ""
    saved.save('{"f": 1}')
    saved.save('{"f": {"$": "lost", "v": "a function"}}')
    assert saved.loss() == ""


@pytest.mark.parametrize("text", ["", "[1]", "nothing", "NaN", "[" * 100_000])
def test_variables_in_another_form_are_refused(text: str) -> None:
    saved = SavedValues()
    saved.save(text)
    with pytest.raises(EngineFailure):
        saved.read()
    assert (saved.readable(), saved.loss()) == ({}, "")


@pytest.mark.parametrize("text", ["", "{}", "[1]", '["a", null]'])
def test_names_in_another_form_are_refused(text: str) -> None:
    with pytest.raises(EngineFailure):
        read_names(text)
