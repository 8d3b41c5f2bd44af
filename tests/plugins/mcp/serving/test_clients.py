"""Sessions of clients, and their limits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpstack import ConfigurationError, HostOffer, InterpreterStack
from interpstack_mcp.serving.clients import Clients, ServerLimits
from interpstack_mcp.serving.runs import ServedCell


async def test_the_client_that_is_idle_longest_makes_room() -> None:
    async with InterpreterStack() as stack:
        clients = Clients(stack, HostOffer(), ServerLimits(clients=2))
        first, second = await clients.client("a", ()), await clients.client("b", ())
        await first.session.eval("var x = 1")
        assert await clients.client("a", ()) is first
        third = await clients.client("c", ())
        assert await clients.client("a", (), new=False) is first
        with pytest.raises(ConfigurationError, match="there is no such session"):
            await clients.client("b", (), new=False)
        for busy in (first, third):
            busy.add(ServedCell(lambda names: False))
        with pytest.raises(ConfigurationError, match="2 clients are busy"):
            await clients.client("d", ())
        assert second.session is not third.session
        await clients.aclose()


async def test_simultaneous_first_requests_of_a_client_share_its_session() -> None:
    async with InterpreterStack() as stack:
        clients = Clients(stack, HostOffer(), ServerLimits(clients=1))
        await (await clients.client("a", ())).session.eval("var x = 1")  # closing it takes a while
        made = await asyncio.gather(*(clients.client("b", ()) for _ in range(3)))
        assert made[0] is made[1] is made[2]
        assert await clients.client("b", (), new=False) is made[0]
        await clients.aclose()


async def test_texts_are_found_by_their_address_alone() -> None:
    async with InterpreterStack() as stack:
        clients = Clients(stack, HostOffer(), ServerLimits())
        uri = (await clients.client("a", ())).keep("result", "text")
        assert clients.text(uri, ()) == "text"
        assert clients.text("interpstack://results/x/result", ()) is None
        assert clients.text(uri, ("somebody else",)) is None


@pytest.mark.parametrize("wrong", [{"clients": 0}, {"idle_seconds": -1}, {"cells": 1.5}])
def test_limits_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="ServerLimits"):
        ServerLimits(**wrong)
