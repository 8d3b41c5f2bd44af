"""The middleware is closed with its agent's server, whatever runs in it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.tools import tool

from interpstack import ConfigurationError
from interpstack_langchain import CodeInterpreterMiddleware


async def test_the_middleware_closes_after_the_evals_that_run(talk: Any) -> None:
    started, go = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        started.set()
        await go.wait()
        return "waited"

    chat = talk(tools=[wait], ptc=["wait"])
    async with chat.middleware as middleware:
        assert isinstance(middleware, CodeInterpreterMiddleware)
        running = asyncio.ensure_future(chat.run("await tools.wait({})"))
        await started.wait()
        with pytest.raises(ConfigurationError, match=r"await stack\.aclose\(\)"):
            middleware.close()
        go.set()
    assert "waited" in (await running)[0]
    with pytest.raises(ConfigurationError, match="was closed"):
        await chat.run("1")


def test_the_middleware_closes_where_no_loop_runs() -> None:
    with CodeInterpreterMiddleware() as middleware:
        assert middleware.stack.session("s").eval_sync("1 + 1").text == "2"
    middleware.close()


@pytest.mark.parametrize("mode", ["thread", "turn", "call"])
@pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])
async def test_the_host_learns_that_the_interpreter_was_closed(
    talk: Any, use_async: bool, mode: str
) -> None:
    chat = talk(mode=mode)
    assert await chat.run("1") == ["<result>1</result>"]
    await chat.middleware.aclose()
    with pytest.raises(
        ConfigurationError, match=r"tool 'eval' was closed, by close\(\).*new middle"
    ):
        await chat.turn("2")
