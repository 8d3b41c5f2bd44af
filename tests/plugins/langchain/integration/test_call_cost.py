"""What one more call from code costs: functions of this project that run, and objects that wait.

Where 100 calls wait at once, the garbage collector looks through all objects that they keep, and
runs the more often the more there are.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from types import CoroutineType, FunctionType, MethodType
from typing import Any

from langchain_core.tools import tool

#: For one call of a tool that waits, with durability on. These are ceilings, which only fall: who
#: brings the figures down lowers them here.
CALLS, OBJECTS = 100, 21

ROOT = Path(__file__).parents[4]
OURS = tuple(str(ROOT / folder) for folder in ("src", "plugins"))
FEW, MANY = 10, 30
CODE = "await Promise.all(Array.from({length: %d}, (_, i) => tools.wait({n: i})))"


async def test_a_call_runs_few_functions_of_this_project(talk: Callable[..., Any]) -> None:
    runs: list[str] = []

    def note(frame: Any, event: str, arg: object) -> None:
        if event == "call" and _is_ours(frame.f_code):
            runs.append(frame.f_code.co_name)

    @tool
    async def wait(n: int) -> int:
        """Answer with the number."""
        return n

    async def run(count: int) -> int:
        runs.clear()
        sys.setprofile(note)
        try:
            await chat.run(CODE % count)
        finally:
            sys.setprofile(None)
        return len(runs)

    chat = talk(ptc=[wait])
    await run(MANY)  # what is done once
    assert (await run(MANY) - await run(FEW)) / (MANY - FEW) <= CALLS


async def test_a_call_that_waits_keeps_few_objects_of_this_project(
    talk: Callable[..., Any],
) -> None:
    seen: list[int] = []

    @tool
    async def wait(n: int) -> int:
        """Count the objects when all calls wait."""
        if n == last:
            seen.append(sum(_is_of_this_project(one) for one in gc.get_objects()))
        return n

    chat = talk(ptc=[wait])
    for count in (MANY, FEW, MANY):
        last = count - 1
        await chat.run(CODE % count)
    assert (seen[2] - seen[1]) / (MANY - FEW) <= OBJECTS


def _is_of_this_project(one: object) -> bool:
    if isinstance(one, CoroutineType):
        return _is_ours(one.cr_code)
    function = one.__func__ if isinstance(one, MethodType) else one
    if isinstance(function, FunctionType):
        return _is_ours(function.__code__)
    return str(type(one).__module__).startswith("interpstack")


def _is_ours(code: Any) -> bool:
    """Whether code is of this project, or was made by attrs, as all of that is here."""
    return code.co_filename.startswith((*OURS, "<attrs generated"))
