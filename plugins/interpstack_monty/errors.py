"""Errors in both directions: thrown into the guest, and told of it.

Monty has no classes that inherit, so the guest can only catch Python's own exceptions. An error
with a name of its own arrives as a `RuntimeError` whose message begins with that name, as in
`ToolError: no such page`, and gets the name back when the guest does not catch it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import pydantic_monty

from interpstack import GuestError

__all__ = ["describe", "exception_for", "is_memory_limit", "is_time_limit", "thrown"]

#: Exceptions that take one message and that a guest may be given by their names.
_KNOWN: Final[Mapping[str, type[Exception]]] = {
    kind.__name__: kind
    for kind in (
        ArithmeticError,
        AssertionError,
        AttributeError,
        Exception,
        FileExistsError,
        FileNotFoundError,
        ImportError,
        IndexError,
        KeyError,
        LookupError,
        MemoryError,
        ModuleNotFoundError,
        NameError,
        NotImplementedError,
        OSError,
        OverflowError,
        PermissionError,
        RecursionError,
        RuntimeError,
        TimeoutError,
        TypeError,
        ValueError,
        ZeroDivisionError,
    )
}
#: Frames of the kernel, the first code of every realm; cells do not see them.
_KERNEL: Final = "<python-input-0>"
_INPUT: Final = re.compile(r"<python-input-\d+>")
#: Characters of a message, and of a stack trace, that are kept.
_CHARS: Final = 16_384
#: Frames at each end of a long stack trace.
_FRAMES: Final = 10


def exception_for(error: GuestError) -> Exception:
    """The exception that a guest catches for an error of the host."""
    if error.name in _KNOWN:
        return _KNOWN[error.name](_text(error.message))
    return RuntimeError(f"{_text(error.name)}: {_text(error.message)}")


def thrown(error: GuestError) -> dict[str, Any]:
    """The same as an answer to a call."""
    made = exception_for(error)
    return {"exc_type": type(made).__name__, "message": made.args[0]}


def describe(error: pydantic_monty.MontyError, cell: str, own: Sequence[GuestError]) -> GuestError:
    """How a cell ended that did not catch its error.

    Args:
        error: What Monty's client raised.
        cell: The name of the cell.
        own: Errors that the host threw into the cell; they get their own names back.
    """
    inner = error.exception()
    name, message = type(inner).__name__, str(error).partition(": ")[2]
    if isinstance(error, pydantic_monty.MontySyntaxError):
        name, message = "SyntaxError", str(inner)
    for given in own:
        if name == "RuntimeError" and message == f"{_text(given.name)}: {_text(given.message)}":
            name, message = given.name, given.message
    return GuestError(name[:_CHARS], message[:_CHARS], stack=_stack(error, cell)[:_CHARS])


def is_time_limit(error: pydantic_monty.MontyError) -> bool:
    """Whether Monty stopped the code because its time was up."""
    return _says(error, TimeoutError, "feed time limit exceeded")


def is_memory_limit(error: pydantic_monty.MontyError) -> bool:
    """Whether Monty stopped the code because its memory was used up."""
    return _says(error, MemoryError, "")


def _says(error: pydantic_monty.MontyError, kind: type[Exception], start: str) -> bool:
    inner = error.exception()
    return isinstance(inner, kind) and str(inner).startswith(start)


def _stack(error: pydantic_monty.MontyError, cell: str) -> str:
    if not isinstance(error, (pydantic_monty.MontyRuntimeError, pydantic_monty.MontySyntaxError)):
        return ""
    frames = [frame for frame in error.traceback() if frame.filename != _KERNEL]
    if not frames:
        return ""
    current = frames[0].filename
    lines = [
        line if count == 1 else f"{line} ({count} times)"
        for line, count in _counted(_line(frame, current, cell) for frame in frames)
    ]
    if len(lines) > 2 * _FRAMES:
        left_out = f"  … {len(lines) - 2 * _FRAMES} more"
        lines = [*lines[:_FRAMES], left_out, *lines[-_FRAMES:]]
    return "\n".join(lines)


def _counted(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    for line, same in itertools.groupby(lines):
        yield line, sum(1 for _ in same)


def _line(frame: pydantic_monty.Frame, current: str, cell: str) -> str:
    earlier = "an earlier cell" if _INPUT.fullmatch(frame.filename) else "a string"
    where = cell if frame.filename == current else earlier
    return f"  at {where}:{frame.line} in {frame.function_name or '<module>'}"


def _text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
