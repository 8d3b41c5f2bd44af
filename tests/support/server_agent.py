"""The parts of an agent for the example server: a scripted model, and a tool with an effect."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Annotated, Any

from interpstack_example_server import Parts
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
    data = {"what": what, "call": call, "process": os.getpid()}
    _append(".paid", json.dumps({**data, "begins": True, "time": time.monotonic()}))
    await asyncio.sleep(0.05)
    _append(".paid", json.dumps({**data, "begins": False, "time": time.monotonic()}))
    return "paid"


@tool
async def hold(what: str, call: Annotated[str, InjectedToolCallId]) -> str:
    """Note the call, and return when there is a file that says so, for this call or for all."""
    _append(".held", json.dumps({"what": what, "call": call, "process": os.getpid()}))
    await asyncio.to_thread(_wait_for_release, what)
    return "held"


@tool
async def buy(what: str) -> str:
    """Note a purchase, which needs an approval."""
    _append("", f"bought {what}")
    return f"bought {what}"


def _wait_for_release(what: str) -> None:
    files = [Path(os.environ["EFFECTS"] + ".release" + ending) for ending in ("", f"-{what}")]
    while not any(file.exists() for file in files):
        time.sleep(0.02)


def _append(ending: str, line: str) -> None:
    with Path(os.environ["EFFECTS"] + ending).open("a") as log:  # one write, appended
        log.write(line + "\n")


def parts() -> Parts:
    return Parts(model=Script(), tools=[note, pay, hold, buy], interrupt_on={"buy": True})


def no_parts() -> Any:
    return Script(), []
