"""How much somebody must read who follows one call from code to its tool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from langchain_core.tools import tool
from walks import walks

#: Modules and packages of this project that wait for a tool which code calls, with durability on.
#: These are ceilings, which only fall: who brings the figures down lowers them here.
MODULES, PACKAGES = 12, 4

ROOT = Path(__file__).parents[4]


def waiting_modules() -> list[list[str]]:
    """This project's modules whose coroutines wait, for each task, the outermost first."""
    found = []
    for task in asyncio.all_tasks():
        names = [frame.f_globals.get("__name__", "") for frame in _waiting(task.get_coro())]
        own = [name for name in names if name.partition(".")[0].startswith("interpstack")]
        found.append(list(dict.fromkeys(own)))
    return found


def in_order(modules: list[str], walk: list[str]) -> bool:
    """Whether a walk passes these modules in this order."""
    places = [walk.index(module) for module in modules if module in walk]
    return len(places) == len(modules) and places == sorted(places)


def _waiting(awaited: Any) -> Iterator[FrameType]:
    """The frames of a coroutine and of all that it awaits."""
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None)
        if frame is not None:
            yield frame
        awaited = getattr(awaited, "cr_await", None)


async def test_a_call_passes_few_modules(talk: Callable[..., Any]) -> None:
    seen: list[list[list[str]]] = []

    @tool
    async def look() -> str:
        """Look who waits."""
        seen.append(waiting_modules())
        return "looked"

    (answer,) = await talk(ptc=[look]).run("await tools.look()")
    assert answer == "<result>looked</result>"
    (tasks,) = seen
    modules = {module for waiting in tasks for module in waiting}
    packages = {module.partition(".")[0] for module in modules}
    assert {"interpstack", "interpstack_durable", "interpstack_langchain"} <= packages
    assert len(modules) <= MODULES, sorted(modules)
    assert len(packages) <= PACKAGES, sorted(packages)
    pages = [
        [path.removesuffix(".py").replace("/", ".") for _, path in rows]
        for rows in walks(ROOT).values()
    ]
    astray = [one for one in tasks if not any(in_order(one, walk) for walk in pages)]
    assert astray == [], "a walk of the architecture page names the modules that wait, in order"


def test_a_walk_in_another_order_is_noticed() -> None:
    assert in_order(["a", "c"], ["a", "b", "c"])
    assert not in_order(["c", "a"], ["a", "b", "c"])
    assert not in_order(["a", "d"], ["a", "b", "c"])
