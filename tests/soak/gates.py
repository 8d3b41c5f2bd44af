"""What the loads of the soak share: the pause for samples, the log of effects, and the tally."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TextIO

__all__ = ["Gate", "Log", "Tally"]

_SHOWN_WRONGS = 20


class Gate:
    """Lets steps run until somebody wants to look at a process in which nothing runs."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._running = 0
        self.ended = False

    @asynccontextmanager
    async def step(self) -> AsyncIterator[None]:
        """Hold for one step; waits while the gate is closed."""
        await self._open.wait()
        self._running += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    @asynccontextmanager
    async def closed(self) -> AsyncIterator[None]:
        """Hold while no step runs."""
        self._open.clear()
        try:
            await self._idle.wait()
            yield
        finally:
            self._open.set()


class Log:
    """The log of effects outside of all interpreters, and what it is expected to hold.

    Both are files, so that the memory of this process does not grow with them.
    """

    def __init__(self, folder: Path) -> None:
        self._effects_path, self._expected_path = folder / "effects", folder / "expected"
        self._effects, self._expected = (
            _appended(self._effects_path),
            _appended(self._expected_path),
        )

    @property
    def path(self) -> Path:
        """The file of effects, one name a line, to which other processes may append."""
        return self._effects_path

    def write(self, name: str) -> None:
        """Do the effect of this name."""
        self._effects.write(f"{name}\n")

    def expect(self, name: str, least: int, most: int) -> None:
        """Expect the effect of this name so many times."""
        self._expected.write(json.dumps([name, least, most]) + "\n")

    def differences(self) -> tuple[list[str], list[str]]:
        """Lost effects, and effects that were done too often or by nobody."""
        done = Counter(self._effects_path.read_text("utf-8").splitlines())
        lost, wrong = [], []
        for line in self._expected_path.read_text("utf-8").splitlines():
            name, least, most = json.loads(line)
            count = done.pop(name, 0)
            if count < least:
                lost.append(f"{name}: done {count} times")
            elif count > most:
                wrong.append(f"{name}: done {count} times")
        return lost, [*wrong, *(f"{name}: expected by nobody" for name in done)]

    def close(self) -> None:
        """Close the files."""
        self._effects.close()
        self._expected.close()


def _appended(path: Path) -> TextIO:
    """A file whose lines are written one by one, so that those of other processes fit between."""
    return path.open("a", buffering=1, encoding="utf-8")


class Tally:
    """Steps by kind, and what was wrong with them."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.steps: Counter[str] = Counter()
        self.wrong_count = 0
        self.wrong: list[str] = []

    def note(self, load: str, kind: str) -> None:
        """Count a step that has ended."""
        self.steps[f"{load}: {kind}"] += 1

    def report(self, text: str) -> None:
        """Count something wrong; the first ones are shown."""
        self.wrong_count += 1
        if len(self.wrong) < _SHOWN_WRONGS:
            self.wrong.append(text)
