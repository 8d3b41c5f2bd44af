"""The JavaScript kernel: the guest's side of the engine protocol, shared by all JS engines.

`docs/how-to/write-an-engine.md` describes how an engine installs and drives the kernel. The other
modules of this package prepare sources for JavaScript engines; some of them import wasmtime, and
importing the package alone does not.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from interpstack_javascript.language import JAVASCRIPT, TYPESCRIPT

__all__ = [
    "JAVASCRIPT",
    "KERNEL_NAME",
    "TYPESCRIPT",
    "ascii_source",
    "kernel_source",
    "web_source",
]

#: Script name of the kernel's own frames in stack traces; engines leave those lines out.
KERNEL_NAME = "interpstack:kernel"
#: Files of the folder `kernel`, in the order in which they make up one function. Each holds
#: statements of that function; the first opens it, and the last closes it.
_PARTS: Final = (
    "intrinsics",  # built-ins that guest code could replace, captured before it runs
    "realm",  # state of the realm and of the running cell
    "chance_and_time",  # `Math.random` and the clock, both decided by the host
    "encoding",  # values of the guest as JSON text
    "decoding",  # JSON text of the host as values
    "rendering",  # values as text for a reader
    "shortening",  # values that are too long for their reader, cut by structure
    "places",  # places in stacks as the user wrote them
    "errors",  # errors and their stacks as data
    "promises",  # promises of calls, whose value the code took for the value of the call
    "requests",  # calls of bridges, and timers
    "console",  # output, readable in memory when the guest was stopped
    "imports",  # the functions that an `import` in a cell calls
    "rejections",  # promises that were rejected and that no code handles
    "answers",  # the promise or timer that an answer settles
    "bridges",  # names under which the guest calls bridges
    "cell",  # how a cell begins and ends
    "closing",  # `for await` loops that end early
    "draining",  # all that a cell has queued, as one text
    "declaring",  # variables that a cell declares
    "variables",  # names and values of the guest's globals, both ways
    "looking",  # what the guest has along a path, for errors that name what is missing
    "commands",  # the commands of the host, and the end of the installation
)


@cache
def kernel_source() -> str:
    """The source of the kernel: one function expression that installs it."""
    folder = files(__name__) / "kernel"
    return "".join((folder / f"{part}.js").read_text("utf-8") for part in _PARTS)


@cache
def web_source() -> str:
    """Source of `web.js`: timers, URL, TextEncoder and the like; takes the kernel's interface."""
    return _read("web.js")


def ascii_source(source: str) -> str:
    """A source with escapes for the characters that ASCII lacks.

    V8 keeps two bytes for each character of a source that has any beyond Latin-1. Those characters
    have to be in comments or in texts that are not read raw, and to be below U+10000.
    """
    return source.encode("ascii", "backslashreplace").decode()


def _read(name: str) -> str:
    return (files(__name__) / name).read_text("utf-8")
