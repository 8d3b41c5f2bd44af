"""The parts of an agent for the example server: a scripted model, and a tool with an effect."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from langchain_core.tools import tool
from scripted import Script


@tool
async def note(what: str) -> str:
    """Write a line into the log of effects."""
    with open(os.environ["EFFECTS"], "a") as log:  # noqa: ASYNC230, PTH123 - one write, appended
        log.write(what + "\n")
    await asyncio.sleep(0.02)
    return "noted"


def parts() -> tuple[Any, list[Any]]:
    return Script(), [note]
