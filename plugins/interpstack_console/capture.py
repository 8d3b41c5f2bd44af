"""The guest source of `console`, and the bridge that takes its output."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

from interpstack import Bridge, CellContext, GuestLanguage, GuestSource
from interpstack_javascript import JAVASCRIPT, ascii_source

__all__ = ["BRIDGE", "prompt", "source"]

_OWNER: Final = "interpstack_console"


def _take(value: Any, context: CellContext) -> None:
    """Keep one delivery of the guest's console buffer: `{"text": str, "omitted": int}`.

    The last one of a cell may have `end`, the last lines, behind what was omitted.

    Raises:
        ValueError: The delivery has another shape; the whole delivery is dropped.
    """
    context.write_console(*_checked(value))


def _checked(value: Any) -> tuple[str, int, str]:
    if not isinstance(value, dict) or value.keys() | {"end"} != {"text", "omitted", "end"}:
        raise ValueError("console output must be an object of text and omitted")
    text, omitted, end = value["text"], value["omitted"], value.get("end", "")
    texts = isinstance(text, str) and isinstance(end, str)
    if not texts or type(omitted) is not int or omitted < 0:
        raise ValueError("console output must be texts and a count of omitted characters")
    return text, omitted, end


#: Guest code has no name for it: only the kernel delivers, once a cell.
BRIDGE: Final = Bridge(
    name="console",
    handler=_take,
    on_loop=True,
    owner=_OWNER,
    raw=True,
    awaited=False,
    hidden=True,
    repeats=True,
)


def _read(name: str) -> str:
    return (files("interpstack_console") / name).read_text("utf-8")


# Read when this is imported: an event loop must not wait for files. As ASCII, it takes up to 0.1 MB
# less of each isolate of V8.
_TEXT: Final = ascii_source(_read("console.js"))
_SOURCE: Final = GuestSource(JAVASCRIPT.name, "interpstack:console", _TEXT, owner=_OWNER)
_PROMPT: Final = _read("prompt.md").strip()


def source() -> GuestSource:
    """The guest's `console`."""
    return _SOURCE


def prompt(language: GuestLanguage) -> str | None:
    """The prompt section on output; `None` for a language that does not say how code prints."""
    printing = language.words.printing
    return _PROMPT.format(printing=printing) if printing else None
