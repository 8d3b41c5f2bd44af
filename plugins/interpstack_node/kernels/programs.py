"""The texts that a kernel runs at its start: its own program, and the context of its guest.

A kernel gets them in one file that it can only read, which many kernels share. So a kernel that was
started ahead makes its guest's context while no session waits for it.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import weakref
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from interpstack import GuestSource
from interpstack_javascript import (
    KERNEL_NAME,
    kernel_source,
    web_source,
)
from interpstack_node.modules.builtin import PREFIXED, forms

__all__ = ["Programs", "guest_programs", "program"]


class Programs:
    """Texts for kernels; equal if the texts are.

    Args:
        setup: What the main program begins with: for `main.js` the guest's context, as its `setUp`
            takes it, or `None` for no guest.
        main: The main program.
    """

    def __init__(self, setup: Mapping[str, Any] | None = None, main: str = "main.js") -> None:
        self.text = json.dumps([program(main), program("stops.js"), setup], separators=(",", ":"))
        self._descriptor: int | None = None
        self._lock = threading.Lock()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Programs) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def descriptor(self) -> int:
        """A descriptor of a file with the texts, which is only for reading, and stays open.

        Whoever reads must say from where, since all of them share the descriptor's position.
        """
        with self._lock:
            if self._descriptor is None:
                self._descriptor = _file_of(self.text)
                weakref.finalize(self, os.close, self._descriptor)
            return self._descriptor


def _file_of(text: str) -> int:
    """A descriptor, only for reading, of a file that has no name any more."""
    handle, path = tempfile.mkstemp(prefix="interpstack-node-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    finally:
        Path(path).unlink()


@lru_cache(maxsize=8)
def guest_programs(
    sources: tuple[GuestSource, ...],
    *,
    memory_bytes: int | None,
    cwd: str | None,
    network: bool,
    readable: tuple[str, ...] = (),
    scratch: bool = False,
) -> Programs:
    """The texts for a guest.

    Args:
        sources: Run in the guest's context before any code of the guest.
        memory_bytes: The guest's memory limit; `None` for none.
        cwd: The working folder that the guest sees.
        network: Whether it has the host's network.
        readable: Files and folders that it may read, for messages.
        scratch: Whether it has a temporary folder.
    """
    web = GuestSource("javascript", "interpstack:web", web_source())
    return Programs(
        {
            "name": KERNEL_NAME,
            "kernelSource": kernel_source(),
            "setup": program("guest.js"),
            "modules": program("modules.js"),
            "builtins": program("builtins.js"),
            "packages": program("packages.js"),
            "forms": [forms(files=scratch or bool(readable), network=network), PREFIXED],
            "about": {"cwd": cwd, "network": network, "readable": readable, "scratch": scratch},
            "mostBytes": memory_bytes,
            "sources": [{"name": one.name, "source": one.source} for one in (web, *sources)],
        }
    )


@cache
def program(name: str) -> str:
    """One of the JavaScript files that make up a kernel."""
    return (files("interpstack_node") / "kernel" / name).read_text("utf-8")
