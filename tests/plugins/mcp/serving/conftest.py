"""Servers in this process, and clients of the SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import attrs
import pytest_asyncio
from mcp import Client, types

from interpstack import HostOffer, InterpreterStack, Limits, bridge
from interpstack_mcp.api import GATE, CodeServer, ServerLimits


@attrs.define
class Served:
    """A server of this process.

    Attributes:
        server: The server.
        paid: What code has paid.
        begun: Set when code has called `slow`.
    """

    server: CodeServer
    paid: list[str]
    begun: asyncio.Event
    _closing: asyncio.Event = attrs.field(factory=asyncio.Event)
    _holding: list[asyncio.Task[None]] = attrs.field(factory=list)

    async def client(self, answer: Any = None, asked: Any = None, **options: Any) -> Client:
        """A client; `answer` is what its person answers to each question, noted in `asked`."""

        async def elicit(ctx: Any, params: Any) -> types.ElicitResult:
            if asked is not None:
                asked.append(params.message)
            return types.ElicitResult(**answer)

        if answer is not None:
            options["elicitation_callback"] = elicit
        client = Client(self.server.app(), **options)
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._holding.append(asyncio.ensure_future(self._hold(client, ready)))
        await ready
        return client

    async def _hold(self, client: Client, ready: asyncio.Future[None]) -> None:
        """Hold a client in one task: scopes of the SDK end where they began."""
        async with client:
            ready.set_result(None)
            await self._closing.wait()

    async def aclose(self) -> None:
        self._closing.set()
        await asyncio.gather(*self._holding)
        await self.server.aclose()


@pytest_asyncio.fixture
async def serve() -> AsyncIterator[Callable[..., Served]]:
    """Makes servers whose code can call `pay`, and `slow`, which ends when it is cancelled."""
    async with AsyncExitStack() as opened:

        def make(*approve: str, **limits: Any) -> Served:
            paid: list[str] = []
            begun = asyncio.Event()

            @bridge("tools.pay")
            async def pay(to: str) -> str:
                """Pay somebody."""
                paid.append(to)
                return f"paid {to}"

            @bridge("tools.slow")
            async def slow(text: str) -> str:
                """Wait for a long time."""
                begun.set()
                try:
                    await asyncio.sleep(60)
                finally:
                    paid.append(f"ended {text}")
                return text

            bounded = Limits(result_chars=1_000_000, console_chars=1_000_000)
            plugins = ["console", "display", GATE]
            stack = InterpreterStack(plugins=plugins, bridges=[pay, slow], limits=bounded)
            opened.push_async_callback(stack.aclose)
            server = CodeServer(stack, HostOffer(), approve, ServerLimits(**limits))
            made = Served(server, paid, begun)
            opened.push_async_callback(made.aclose)
            return made

        yield make
