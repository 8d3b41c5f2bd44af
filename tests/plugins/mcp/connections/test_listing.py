"""Lists in pages."""

from __future__ import annotations

import pytest

from interpstack_mcp.connections.failures import Unavailable
from interpstack_mcp.connections.listing import whole_list
from interpstack_mcp.limits import McpLimits


async def test_all_pages_are_one_list() -> None:
    async def page(cursor: str | None) -> tuple[list[int], str | None]:
        number = int(cursor or 0)
        return [number, number], str(number + 1) if number < 3 else None

    assert await whole_list(page, "numbers", McpLimits()) == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("items", [[], [1]])
async def test_a_list_without_end_is_refused(items: list[int]) -> None:
    asked: list[str | None] = []

    async def page(cursor: str | None) -> tuple[list[int], str | None]:
        asked.append(cursor)
        return items, str(len(asked))

    with pytest.raises(Unavailable, match="lists more than 50 numbers"):
        await whole_list(page, "numbers", McpLimits(tools=50))
    assert len(asked) == (51 if items else 100)


@pytest.mark.parametrize("last", ["", "last"])
async def test_a_cursor_that_comes_again_ends_the_list(last: str) -> None:
    async def page(cursor: str | None) -> tuple[list[int], str | None]:
        return ([1], "next") if cursor is None else ([2], last)

    assert await whole_list(page, "numbers", McpLimits()) == [1, 2]


async def test_a_page_beyond_an_empty_cursor_is_read() -> None:
    async def page(cursor: str | None) -> tuple[list[int], str | None]:
        return ([1], "") if cursor is None else ([2], None)

    assert await whole_list(page, "numbers", McpLimits()) == [1, 2]
