"""Python as a guest language."""

from __future__ import annotations

import pytest

from interpstack_python import PYTHON


@pytest.mark.parametrize(
    ("given", "expected"),
    [("web-search", "web_search"), ("web search.v2", "web_search_v2"), ("del", "del_")],
)
def test_names_stay_as_they_are(given: str, expected: str) -> None:
    assert PYTHON.identifier(given) == expected


def test_arguments_go_by_name() -> None:
    assert PYTHON.call("task", {"description": '"x"', "n": "1"}) == 'task(description="x", n=1)'
    assert PYTHON.usage("task", {"a": True, "b": False}) == "task(*, a, b=…)"
    assert PYTHON.usage("task", {}) == "task()"


def test_signatures_stand_in_a_block_of_python() -> None:
    assert PYTHON.listing("tools", ["a", "b"]) == "```python\n# on `tools`\na\nb\n```"
