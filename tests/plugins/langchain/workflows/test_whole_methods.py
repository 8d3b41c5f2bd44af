"""Methods that run in one thread from their beginning to their end."""

from __future__ import annotations

import asyncio

import pytest

from interpstack_langchain.workflows.whole_methods import runs_method, whole


def test_a_method_runs_to_its_end() -> None:
    async def inner() -> bool:
        return runs_method()

    async def method() -> list[bool]:
        return [await inner(), await inner()]

    assert not runs_method()
    assert whole(method()) == [True, True]
    assert not runs_method()


def test_an_exception_of_a_method_is_raised() -> None:
    async def method() -> None:
        raise KeyError("a")

    with pytest.raises(KeyError, match="a"):
        whole(method())
    assert not runs_method()


async def test_only_the_thread_of_the_method_runs_it() -> None:
    async def method() -> bool:
        return runs_method()

    assert await asyncio.to_thread(whole, method())
    assert not runs_method()


def test_a_method_that_waits_is_refused() -> None:
    ended = []

    async def method() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            ended.append(True)

    with pytest.raises(RuntimeError, match="may wait for its checkpointer only"):
        whole(method())
    assert ended == [True]
    assert not runs_method()
