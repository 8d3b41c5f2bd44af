"""How much somebody must read who follows one call from code to its tool."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool
from walks import in_order, modules_of, waiting_modules, walks

#: Modules and packages of this project that wait for a tool which code calls, with durability on.
#: These are ceilings, which only fall: who brings the figures down lowers them here.
MODULES, PACKAGES = 12, 4

ROOT = Path(__file__).parents[4]


async def test_a_call_passes_few_modules(
    talk: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "interpstack.tools")  # a log of calls would wait, too
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
    pages = [modules_of(rows) for rows in walks(ROOT).values()]
    astray = [one for one in tasks if not any(in_order(one, walk) for walk in pages)]
    assert astray == [], "a walk of the architecture page names the modules that wait, in order"


def test_a_walk_in_another_order_is_noticed() -> None:
    assert in_order(["a", "c"], ["a", "b", "c"])
    assert not in_order(["c", "a"], ["a", "b", "c"])
    assert not in_order(["a", "d"], ["a", "b", "c"])
