"""Hints about names that somebody may have meant."""

from __future__ import annotations

import pytest

from interpstack.similar_names import did_you_mean, similar_names


@pytest.mark.parametrize(
    ("wrong", "known", "near"),
    [
        ("serch", ["search", "save"], ["search"]),
        ("Read-Price", ["write_price", "readPrice"], ["readPrice"]),
        ("READ_PRICE", ["read price"], ["read price"]),
        ("xyz", ["search", "save"], []),
        ("", ["search"], []),
        ("...", ["..", "a"], [".."]),
        ("x" * 61, ["x" * 61], []),
        ("x" * 100, ["x" * 60], ["x" * 60]),
    ],
)
def test_spelling_does_not_matter(wrong: str, known: list[str], near: list[str]) -> None:
    assert similar_names(wrong, known) == near


def test_a_hint_lists_the_nearest_first() -> None:
    known = ["tables", "table", "label", "other"]
    assert did_you_mean("tabel", known) == "; did you mean 'table'?"
    hint = did_you_mean("tabel", known, most=3, alike=0.5, write=str)
    assert hint == "; did you mean table or label or tables?"
    assert did_you_mean("tabel", known, alike=0.95) == ""


def test_few_of_many_names_are_compared() -> None:
    many = (f"name{at}" for at in range(10**9))
    assert similar_names("name1999", many) == ["name1999"]
    assert similar_names("x" * 10**7, ["y" * 10**7]) == []
