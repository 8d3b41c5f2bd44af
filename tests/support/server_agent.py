"""The parts of an agent for the example server: a scripted model, and a tool with an effect."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Annotated, Any

from langchain_core.tools import InjectedToolCallId, tool
from scripted import Script


@tool
async def note(what: str) -> str:
    """Write a line into the log of effects."""
    _append("", what)
    await asyncio.sleep(0.02)
    return "noted"


@tool
async def pay(what: str, call: Annotated[str, InjectedToolCallId]) -> str:
    """Note beginning and end, with the id of the call, the process and the time."""
    told = {"what": what, "call": call, "process": os.getpid()}
    _append(".paid", json.dumps({**told, "begins": True, "time": time.monotonic()}))
    await asyncio.sleep(0.05)
    _append(".paid", json.dumps({**told, "begins": False, "time": time.monotonic()}))
    return "paid"


@tool
async def hold(what: str, call: Annotated[str, InjectedToolCallId]) -> str:
    """Note the call, and return when there is a file that says so."""
    _append(".held", json.dumps({"what": what, "call": call, "process": os.getpid()}))
    await asyncio.to_thread(_wait_for_release)
    return "held"


def _wait_for_release() -> None:
    while not Path(os.environ["EFFECTS"] + ".release").exists():
        time.sleep(0.02)


def _append(ending: str, line: str) -> None:
    with Path(os.environ["EFFECTS"] + ending).open("a") as log:  # one write, appended
        log.write(line + "\n")


def parts() -> tuple[Any, list[Any]]:
    return Script(), [note, pay, hold]
