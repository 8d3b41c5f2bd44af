"""Changes of servers that tell them to listeners only."""

from __future__ import annotations

import asyncio
from collections.abc import Set
from typing import Any

from mcp import Client, types
from mcp.server import Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourceUpdated,
    ToolsListChanged,
)

from interpstack_mcp.connections.following import Following


async def _nothing(ctx: Any, params: Any) -> Any:
    return types.ListToolsResult(tools=[])


def _server(bus: InMemorySubscriptionBus, asked: list[Any]) -> Server[Any]:
    handler = ListenHandler(bus)

    async def listen(ctx: Any, params: types.SubscriptionsListenRequestParams) -> Any:
        asked.append(params.notifications.model_dump(exclude_none=True))
        return await handler(ctx, params)

    return Server(
        "s",
        on_list_tools=_nothing,
        on_list_prompts=_nothing,
        on_list_resources=_nothing,
        on_subscriptions_listen=listen,
    )


async def _until(holds: Any) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - of another task
            await asyncio.sleep(0.01)  # the SDK tells nobody when a stream is open


async def test_changes_are_heard_and_other_resources_listened_to() -> None:
    bus, asked, heard = InMemorySubscriptionBus(), list[Any](), list[str]()
    uris: set[str] = set()
    missed: list[int] = []

    async def hear(message: Any) -> None:
        heard.append(message.method.removeprefix("notifications/"))

    def wanted() -> Set[str]:
        return uris

    async with Client(_server(bus, asked), message_handler=hear) as client:
        following = Following(client, lambda: missed.append(1), wanted)
        task = asyncio.ensure_future(following.run())
        await _until(lambda: len(asked) == 1)
        assert "resource_subscriptions" not in asked[0]
        uris.add("a:b")
        await following.again()
        await _until(lambda: len(asked) == 2)
        assert asked[1]["resource_subscriptions"] == ["a:b"]
        await bus.publish(PromptsListChanged())
        await bus.publish(ResourceUpdated(uri="a:b"))
        await _until(lambda: {"prompts/list_changed", "resources/updated"} <= set(heard))
        assert not missed
        await bus.publish(ToolsListChanged())
        await _until(lambda: missed)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_for_code_only_tools_matter() -> None:
    bus, asked = InMemorySubscriptionBus(), list[Any]()
    async with Client(_server(bus, asked)) as client:
        task = asyncio.ensure_future(Following(client, list).run())
        await _until(lambda: asked)
        assert asked == [{"tools_list_changed": True}]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_old_servers_tell_by_themselves() -> None:
    async with Client(Server("s", on_list_tools=_nothing), mode="legacy") as client:
        await Following(client, list).run()
