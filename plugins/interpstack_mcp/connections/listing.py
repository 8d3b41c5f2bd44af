"""Lists of a server, which come in pages and may have no end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import attrs
import mcp
from mcp import types

from interpstack_mcp.connections.failures import Unavailable
from interpstack_mcp.connections.received import ReceivedMessages
from interpstack_mcp.limits import McpLimits

__all__ = ["Listing", "listed_tools", "whole_list"]

#: Pages of one list.
_PAGES: Final = 100
_Item = TypeVar("_Item")


@attrs.frozen(eq=False)
class Listing:
    """The tools of a server at one moment.

    Attributes:
        tools: As the server describes them.
        instructions: The server's own words on its use.
        fault: Why the server cannot be reached now; empty if it can.
        left_out: Tools that do not fit the protocol, with the reasons.
    """

    tools: tuple[types.Tool, ...] = ()
    instructions: str = ""
    fault: str = ""
    left_out: tuple[tuple[str, str], ...] = ()


async def whole_list(
    page: Callable[[str | None], Awaitable[tuple[list[_Item], str | None]]],
    what: str,
    limits: McpLimits,
) -> list[_Item]:
    """All items of a list.

    A cursor that the server has given before ends the list: some servers give the same one on
    their last page, or an empty text, and answer it with that page again.

    Args:
        page: Asks for the page at a cursor; returns its items and the next cursor.
        what: The items' name in an error, such as `tools`.
        limits: Limits of everything that the server sends.

    Raises:
        Unavailable: There are too many.
    """
    found: list[_Item] = []
    pages: list[list[_Item]] = []
    cursors: set[str] = set()
    cursor: str | None = None
    for _ in range(_PAGES):
        items, cursor = await page(cursor)
        repeats, cursor = cursor in cursors, None if cursor in cursors else cursor
        if not (repeats and items in pages):
            found += items
        if cursor is None or len(found) > limits.tools:
            break
        pages.append(items)
        cursors.add(cursor)
    if cursor is not None or len(found) > limits.tools:
        raise Unavailable(
            f"it lists more than {limits.tools} {what} (McpLimits.tools), or its list does not end"
        )
    return found


async def listed_tools(client: mcp.Client, received: ReceivedMessages) -> Listing:
    """All tools of a server.

    Raises:
        Unavailable: There are too many.
    """

    async def page(cursor: str | None) -> tuple[list[Any], str | None]:
        answer = await client.list_tools(cursor=cursor)
        return answer.tools, answer.next_cursor

    received.left_out.pop("tools/list", None)
    offers = client.server_capabilities.tools is not None
    tools = await whole_list(page, "tools", received.limits) if offers else []
    left_out = received.left_out.get("tools/list", ())
    return Listing(tuple(tools), client.instructions or "", left_out=tuple(left_out))
