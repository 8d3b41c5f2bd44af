"""The JavaScript kernel: the guest's side of the engine protocol, shared by all JS engines.

`docs/how-to/write-an-engine.md` describes how an engine installs and drives the kernel. The other
modules of this package prepare sources for JavaScript engines; some of them import wasmtime, and
importing the package alone does not.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from interpstack_javascript.language import JAVASCRIPT, TYPESCRIPT

__all__ = ["JAVASCRIPT", "KERNEL_NAME", "TYPESCRIPT", "kernel_source", "web_source"]

#: Script name of the kernel's own frames in stack traces; engines leave those lines out.
KERNEL_NAME = "interpstack:kernel"


@cache
def kernel_source() -> str:
    """Source of `kernel.js`: one function expression that installs the kernel."""
    return _read("kernel.js")


@cache
def web_source() -> str:
    """Source of `web.js`: timers, URL, TextEncoder and the like; takes the kernel's interface."""
    return _read("web.js")


def _read(name: str) -> str:
    return (files(__name__) / name).read_text("utf-8")
