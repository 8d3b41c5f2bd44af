"""Tests of interpstack_monty.crossing.export_values: a kernel's answers are not trusted."""

from __future__ import annotations

from typing import Any

import pytest
from fake_monty import FakeWorker

from interpstack import UnsupportedValue
from interpstack_monty.crossing import export_values
from interpstack_monty.crossing.export_values import SessionGlobals, export, globals_in, lost, why
from interpstack_monty.workers import KernelReplaced


def _worker(answer: Any) -> Any:
    return FakeWorker(lambda source: answer)


def test_names_without_those_of_kernel_and_bridges() -> None:
    worker = _worker("a __interpstack_x tools b a\nkit a 7")
    found = globals_in(worker, frozenset({"tools"}), frozenset({"kit"}))
    assert found == SessionGlobals(own=("a", "b"), taken=("kit",))


@pytest.mark.parametrize("answer", [None, {}, ["a", ""], "a", "a\n\n", ""])
def test_an_answer_of_another_form_is_a_replaced_kernel(answer: Any) -> None:
    with pytest.raises(KernelReplaced, match="were replaced"):
        globals_in(_worker(answer), frozenset(), frozenset())


def test_values_are_wire_trees_and_those_that_are_missing_have_a_reason() -> None:
    answer = {"a": [[1, "x"], None], "b": [None, "no form for it"], "c": [1, 2, 3], "d": [1, 5]}
    worker = _worker(answer)
    unread = {"$": "lost", "v": "it could not be read"}
    assert export(worker, ["a", "b", "c", "d", "é'"]) == {
        "a": [1, "x"],
        "b": {"$": "lost", "v": "no form for it"},
        "c": unread,
        "d": unread,
        "é'": unread,
    }
    assert """["a", "b", "c", "d", "é'"]""" in worker.ran[0]


@pytest.mark.parametrize("answer", [None, 5, [], "a"])
def test_no_answer_loses_all_values(answer: Any) -> None:
    assert export(_worker(answer), ["a"]) == {"a": lost("it could not be read")}


def test_one_value_that_cannot_be_read_costs_no_other() -> None:
    class Odd:
        """A value that Monty's client has no form for."""

    loop: list[Any] = []
    loop.append(loop)
    found = export(_worker({"a": [Odd(), None], "b": [loop, None], "c": [3, None]}), list("abc"))
    assert found["c"] == 3
    assert {found["a"]["$"], found["b"]["$"]} == {"lost"}


def test_all_values_share_one_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_values, "_ROOM_BYTES", 1000)
    text = "x" * 400
    found = export(_worker({name: [text, None] for name in "abc"}), list("abc"))
    assert (found["a"], found["b"]) == (text, text)
    assert found["c"] == lost("it is too large")


def test_reasons_are_one_line_and_bounded() -> None:
    assert lost("x" * 1000)["v"] == "x" * 300
    assert why(UnsupportedValue("it is too large")) == "it is too large"
    assert why(ValueError("one\ntwo")) == "one"
    assert why(ValueError("x" * 1000)) == "x" * 300
