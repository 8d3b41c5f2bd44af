"""Turns that leave nothing to the garbage collector, which would look through all that is alive."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from langchain_core.tools import tool


@tool
async def double(n: int) -> int:
    """Double a number."""
    return 2 * n


@pytest.mark.parametrize("mode", ["thread", "turn", "call"])
async def test_a_turn_is_freed_when_it_ends(talk: Any, mode: str) -> None:
    code = "await Promise.all([1, 2].map((n) => tools.double({n})))"
    chat = talk(mode=mode, tools=[double], ptc=["double"])
    await chat.run(code)
    gc.collect()
    gc.disable()
    try:
        assert await chat.run(code) == ["<result>[2, 4]</result>"]
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = {type(one).__name__ for one in gc.garbage if _is_ours(one)}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert left == set()


def _is_ours(one: object) -> bool:
    return type(one).__module__.startswith("interpstack")
