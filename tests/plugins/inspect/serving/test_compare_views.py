"""Comparisons: what an address names, and the pages."""

from __future__ import annotations

import pytest
from inspected import HOSTILE, RecordSource, Server, hostile_record, looked_at, record
from inspected import summary as made_summary
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from interpstack_inspect.serving.compare_views import Choice


@pytest.mark.parametrize(
    ("query", "names", "numbers", "complete"),
    [
        ("", [], [], False),
        ("run=a", ["a"], [], False),
        ("run=a&eval=1", ["a"], [1], False),
        ("run=a&eval=1&eval=2", ["a", "a"], [1, 2], True),
        ("run=a&run=b", ["a", "b"], [], True),
        ("run=a&run=b&eval=&eval=+", ["a", "b"], [], True),
        ("run=a&run=b&eval=1&eval=", ["a", "b"], [1], False),
        ("run=a&eval=1&run=b&eval=2", ["a", "b"], [1, 2], True),
    ],
)
def test_choices(query: str, names: list[str], numbers: list[int], complete: bool) -> None:
    choice = Choice.of(QueryParams(query))
    assert (choice.names, choice.numbers, choice.complete) == (names, numbers, complete)
    assert bool(choice.missing) != complete


@pytest.mark.parametrize(
    "query",
    ["run=a&run=b&run=c", "run=a&eval=1&eval=2&eval=3", "run=a&eval=x", f"run={'x' * 2001}"],
)
def test_wrong_choices(query: str) -> None:
    with pytest.raises(HTTPException, match=r"choose two|up to 9 digits"):
        Choice.of(QueryParams(query))


async def test_two_evals_and_two_conversations() -> None:
    other = record(summary=made_summary(number=2, code="const y = 7"))
    source = RecordSource({"a/b?c": [record(), other], "d": [record()]})
    async with Server.of(source).browser() as client:
        page = await looked_at(client, "/compare?run=a/b?c&eval=1&eval=2")
        assert page.of("mark")
        assert "Code: 2 differences" in page.words
        assert "Calls in order: no differences" in page.words
        page = await looked_at(client, "/compare?run=a/b?c&run=d")
        assert "Evals in order: 1 difference" in page.words
        page = await looked_at(client, "/compare?run=a/b?c")
        assert "Choose a second eval or conversation." in page.words
        assert [one["value"] for one in page.of("input") if one.get("name") == "run"] == [
            "a/b?c"
        ] * 2
        page = await looked_at(client, "/compare?run=d&run=d&eval=1&eval=")
        assert "Give the numbers of both evals" in page.words
        await looked_at(client, "/compare?run=a/b?c&eval=1&eval=3", 404)
        await looked_at(client, "/compare?run=a/b?c&run=gone", 404)
        await looked_at(client, "/compare?run=a&run=b&run=c", 400)


async def test_hostile_texts_on_both_sides_stay_text() -> None:
    source = RecordSource({HOSTILE: [hostile_record(), record()]})
    async with Server.of(source).browser() as client:
        query = {"run": HOSTILE, "eval": ["1", "2"]}
        page = (await client.get("/compare", params=query)).text
        assert "<img" not in page
        assert page.count("<script") == 1
        assert "&lt;script&gt;alert(1)" in page
