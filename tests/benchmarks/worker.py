"""Runs one side of one case: `worker.py SIDE CASE`.

Writes a line when it is ready. For each line it reads it runs the case once and writes the
figures as a line of JSON. Ends with its input.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys

__all__: list[str] = []


async def _serve(side: str, case: str) -> None:
    once = await getattr(importlib.import_module(side), case)()
    _tell({"ready": True})
    while sys.stdin.readline():
        _tell(await once())


def _tell(message: dict[str, float]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:]))
