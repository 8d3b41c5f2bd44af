"""Functions that code misspells, and the messages that it gets."""

from __future__ import annotations

from typing import Final

from interpstack import Session, bridge

__all__ = ["SEARCHES", "message_of"]


@bridge("tools.sqlQuery")
async def sql_query(query: str) -> list[str]:
    return [query]


@bridge("tools.search")
async def search(q: str, limit: int = 3) -> list[dict[str, str]]:
    return [{"title": q}] * limit


SEARCHES: Final = (sql_query, search)


async def message_of(session: Session, source: str) -> str:
    """The message of the error that a cell ends with."""
    outcome = await session.eval(source)
    assert outcome.error is not None, source
    return outcome.error.message
