"""How much somebody must read who follows one call from code to its tool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from langchain_core.tools import tool

#: Modules and packages of this project that wait for a tool which code calls, with durability on.
#: These are ceilings, which only fall: who brings the figures down lowers them here.
MODULES, PACKAGES = 12, 4

ROOT = Path(__file__).parents[4]


def waiting_modules() -> set[str]:
    """This project's modules whose coroutines wait in a task of the running loop."""
    frames = [frame for task in asyncio.all_tasks() for frame in _waiting(task.get_coro())]
    names = {frame.f_globals.get("__name__", "") for frame in frames}
    return {name for name in names if name.partition(".")[0].startswith("interpstack")}


def _waiting(awaited: Any) -> Iterator[FrameType]:
    """The frames of a coroutine and of all that it awaits."""
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None)
        if frame is not None:
            yield frame
        awaited = getattr(awaited, "cr_await", None)


async def test_a_call_passes_few_modules(talk: Callable[..., Any]) -> None:
    seen: list[set[str]] = []

    @tool
    async def look() -> str:
        """Look who waits."""
        seen.append(waiting_modules())
        return "looked"

    (answer,) = await talk(ptc=[look]).run("await tools.look()")
    assert answer == "<result>looked</result>"
    (modules,) = seen
    packages = {module.partition(".")[0] for module in modules}
    assert {"interpstack", "interpstack_durable", "interpstack_langchain"} <= packages
    assert len(modules) <= MODULES, sorted(modules)
    assert len(packages) <= PACKAGES, sorted(packages)
    page = (ROOT / "docs/explanation/architecture.md").read_text()
    told = {module for module in modules if f"`{module.replace('.', '/')}.py`" in page}
    assert told == modules, "the walks of this page name all modules that wait"
