"""The walks of the architecture page: functions and modules, in the order in which code passes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

_ROW = re.compile(r"^\| `(?P<function>[\w.]+)` \| `(?P<path>[\w/]+\.py)` \|", re.MULTILINE)


def walks(root: Path) -> dict[str, list[tuple[str, str]]]:
    """Functions and modules of each walk, by its heading."""
    page = (root / "docs/explanation/architecture.md").read_text("utf-8")
    parts = re.split(r"^## ", page, flags=re.MULTILINE)
    found = {part.partition("\n")[0]: _ROW.findall(part) for part in parts}
    return {title: rows for title, rows in found.items() if title.startswith("The walk of ")}


def modules_of(rows: list[tuple[str, str]]) -> list[str]:
    """Names of the modules of a walk."""
    return [path.removesuffix(".py").replace("/", ".") for _, path in rows]


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
