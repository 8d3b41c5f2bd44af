"""Finds file access on an event loop's thread that the project's own code is to blame for.

Python's audit events tell of files that are opened, listed or made, of processes, databases and
imports; `os.stat` and its like have none and are wrapped. Other packages may do what they like:
to blame is the innermost frame that is neither Python's own nor of the import system.
"""

from __future__ import annotations

import asyncio
import os
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

__all__ = ["Detector"]

_EVENTS = ("open", "import", "os.", "shutil.", "tempfile.", "subprocess.", "sqlite3.", "time.sleep")
_FREE = ("os.putenv", "os.unsetenv", "os.add_dll_directory", "os.kill")
_UNTOLD = ("stat", "lstat", "access", "readlink")
_STDLIB = sysconfig.get_path("stdlib")
_PACKAGES = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
_ROOT = Path(__file__).parents[2]
_OWN = (str(_ROOT / "src"), str(_ROOT / "plugins"))


class Detector:
    """Collects what is done while it is `on`.

    Attributes:
        on: Whether it looks.
        found: What was done, and from where, each once.
    """

    def __init__(self) -> None:
        self.on = False
        self.found: dict[str, None] = {}
        for name in _UNTOLD:
            setattr(os, name, self._told(name, getattr(os, name)))
        sys.addaudithook(self._hook)

    def _told(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.on:
                self._look(f"os.{name} {args[:1]}")
            return function(*args, **kwargs)

        return call

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if self.on and event.startswith(_EVENTS) and event not in _FREE:
            self._look(f"{event} {args[:1]}")

    def _look(self, what: str) -> None:
        if asyncio._get_running_loop() is None:
            return
        self.on = False
        try:
            where = _culprit(sys._getframe(2))
            if where:
                self.found[f"{what} in {where}"] = None
        finally:
            self.on = True


def _culprit(frame: FrameType | None) -> str:
    """The project's line that did it; empty if another package did."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_OWN):
            return f"{Path(file).relative_to(_ROOT)}:{frame.f_lineno}"
        library = file.startswith((_STDLIB, "<")) and not file.startswith(_PACKAGES)
        if not library:
            return ""
        frame = frame.f_back
    return ""
