"""JavaScript and TypeScript as guest languages."""

from __future__ import annotations

import pytest

from interpstack_javascript import JAVASCRIPT, TYPESCRIPT


@pytest.mark.parametrize(
    ("given", "expected"),
    [("web_search", "webSearch"), ("web-search.v2", "webSearchV2"), ("GET_ALL", "GET_ALL")],
)
def test_names_are_in_camel_case(given: str, expected: str) -> None:
    assert JAVASCRIPT.identifier(given) == expected


def test_a_call_takes_one_object() -> None:
    assert (
        JAVASCRIPT.call("task", {"description": '"x"', "n": "1"})
        == 'task({description: "x", n: 1})'
    )
    assert JAVASCRIPT.usage("task", {"a": True, "b": False}) == "task({a, b?})"
    assert (JAVASCRIPT.call("task", {}), JAVASCRIPT.usage("task", {})) == ("task()", "task()")


def test_typescript_is_a_dialect() -> None:
    assert JAVASCRIPT.dialects == (TYPESCRIPT,)
    assert (TYPESCRIPT.title, TYPESCRIPT.endings[0], TYPESCRIPT.words) == (
        "TypeScript",
        ".ts",
        JAVASCRIPT.words,
    )
