"""Conversion of errors that are thrown into the guest or raised by it.

Monty has no classes that inherit, so the guest can only catch Python's own exceptions. An error
with a name of its own arrives as a `RuntimeError` whose message begins with that name, as in
`ToolError: no such page`, and gets the name back when the guest does not catch it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import attrs
import pydantic_monty

from interpstack import GuestError, Place
from interpstack.guests import place_at
from interpstack_monty.crossing.named_errors import NamedErrors

__all__ = [
    "KNOWN",
    "describe",
    "exception_for",
    "fault",
    "is_memory_limit",
    "is_time_limit",
    "naming_language",
    "placed",
    "syntax_error",
    "thrown",
]

#: Exceptions with one message, which the host may raise in a guest by name.
KNOWN: Final[Mapping[str, type[Exception]]] = {
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
#: How Monty says which limit was reached; a guest can say so, too.
_TIME: Final = re.compile(r"feed time limit exceeded: \S+ > \S+")
_MEMORY: Final = re.compile(
    r"memory limit exceeded: \d+ bytes > \d+ bytes"
    r"|the worker exceeded its memory limit and was terminated"
)
#: What a parser found behind the last token of a cell.
_FOUND: Final = re.compile(r", found .*")
#: How Monty says that a built-in function, such as `map`, has called something of the host.
_IN_BUILTIN: Final = re.compile(
    r"external function '\w+' cannot suspend in this synchronous context"
)
#: Before Monty's message for code that it does not run, such as `SystemExit(3)`.
_INTERNAL: Final = "Internal error in monty: "
#: Characters of a message, and of a stack trace, that are returned at most.
_CHARS: Final = 16_384
#: Frames at each end of a long stack trace.
_FRAMES: Final = 10


def exception_for(error: GuestError, named: NamedErrors | None = None) -> Exception:
    """The exception that a guest catches for an error of the host.

    Args:
        error: The error.
        named: Collects the errors whose names no exception of Python has.
    """
    message = _text(error.message)
    if error.name in KNOWN:
        return KNOWN[error.name](message)
    name = _text(error.name)
    if named is not None:
        named.add(name, message)
    return RuntimeError(f"{name}: {message}")


def thrown(error: GuestError, named: NamedErrors | None = None) -> dict[str, Any]:
    """The same as an answer to a call."""
    made = exception_for(error, named)
    return {"exc_type": type(made).__name__, "message": made.args[0]}


def syntax_error(message: str, cell: str, line: int) -> GuestError:
    """The completion of a cell whose source is refused."""
    return GuestError("SyntaxError", message, stack=f"  at {cell}:{line} in <module>")


def describe(
    error: pydantic_monty.MontyError, cell: str, named: NamedErrors, lines: int
) -> GuestError:
    """The completion of a cell that did not catch its error.

    Args:
        error: The exception of Monty's client.
        cell: The name of the cell.
        named: Errors that the host threw into the cell; they get their own names back.
        lines: The lines of the cell's source; the source for Monty may have one more.
    """
    inner = error.exception()
    name, message = type(inner).__name__, str(error).partition(": ")[2]
    if isinstance(error, pydantic_monty.MontySyntaxError):
        name, message = "SyntaxError", str(inner)
    if name == "RuntimeError":
        if isinstance(error, pydantic_monty.MontyRuntimeError) and not error.traceback():
            # No code of the cell raised it.
            message = message.removeprefix(_INTERNAL)
        name, message = named.parts(message) or (name, message)
    if name == "NotImplementedError" and _IN_BUILTIN.fullmatch(message):
        message = (
            "a function that a built-in function calls, as in map(), filter() and sorted(key=…), "
            "cannot call a bridge; call the bridge in a loop or a comprehension"
        )
    return GuestError(name[:_CHARS], message[:_CHARS], stack=_stack(error, cell, lines)[:_CHARS])


def placed(described: GuestError, error: pydantic_monty.MontyError, source: str) -> GuestError:
    """A syntax error with its place in the source of a cell, and no word about what follows it."""
    place = fault(error, source)
    end = place_at(source, len(source.rstrip()))
    at_end = place is not None and (place.line, place.column) == (end.line, end.column)
    message = (
        _FOUND.sub(", found the end of the cell", described.message)
        if at_end
        else described.message
    )
    return attrs.evolve(described, message=message, place=place)


def naming_language(described: GuestError, source: str) -> GuestError:
    """A syntax error that says so first, if the source is in another language."""
    if described.name != "SyntaxError" or described.place is None:
        return described
    from interpstack_javascript.shapes import looks_like_javascript  # for such errors only

    lines = source.split("\n")
    if not looks_like_javascript(lines, min(described.place.line, len(lines)) - 1):
        return described
    why = "this looks like JavaScript; cells are Python"
    return attrs.evolve(described, message=f"{why}. {described.message}")


def fault(error: pydantic_monty.MontyError, source: str) -> Place | None:
    """The place of a syntax error in the source of a cell."""
    if not isinstance(error, pydantic_monty.MontySyntaxError):
        return None
    frames = error.traceback()
    lines = source.split("\n")
    if not frames or not 0 < frames[-1].line <= len(lines) + 1:
        return None
    frame = frames[-1]
    if frame.line > len(lines):  # in the line that preparation adds: a bracket is open
        return place_at(source, len(source.rstrip()))
    row = frame.line - 1
    column = _column(lines[row], frame.source_line or "", frame.column)
    return place_at(source, sum(len(line) + 1 for line in lines[:row]) + column - 1)


def _column(line: str, given: str, column: int) -> int:
    """The column in a line of the cell that corresponds to a column in Monty's form of the line."""
    at = given.find(line.strip())
    if at < 0:
        return min(column, len(line) + 1)
    return max(1, min(column - at + len(line) - len(line.lstrip()), len(line) + 1))


def is_time_limit(error: Exception) -> bool:
    """Whether Monty says that it stopped the code because its time was up.

    A guest can raise the same error; whether it is true, only the clock tells.
    """
    return _says(error, TimeoutError, _TIME)


def is_memory_limit(error: Exception) -> bool:
    """Whether Monty says that it stopped the code because its memory was used up.

    A guest can raise the same error, and ends only its own cell by that.
    """
    return _says(error, MemoryError, _MEMORY)


def _says(error: Exception, kind: type[Exception], wording: re.Pattern[str]) -> bool:
    if not isinstance(error, pydantic_monty.MontyError):
        return False
    inner = error.exception()
    return isinstance(inner, kind) and wording.fullmatch(str(inner)) is not None


def _stack(error: pydantic_monty.MontyError, cell: str, lines: int) -> str:
    if not isinstance(error, (pydantic_monty.MontyRuntimeError, pydantic_monty.MontySyntaxError)):
        return ""
    frames = [frame for frame in error.traceback() if frame.filename != _KERNEL]
    if not frames:
        return ""
    current = frames[0].filename
    shown = [
        line if count == 1 else f"{line} ({count} times)"
        for line, count in _counted(_line(frame, current, cell, lines) for frame in frames)
    ]
    if len(shown) > 2 * _FRAMES:
        left_out = f"  … {len(shown) - 2 * _FRAMES} more"
        shown = [*shown[:_FRAMES], left_out, *shown[-_FRAMES:]]
    return "\n".join(shown)


def _counted(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    for line, same in itertools.groupby(lines):
        yield line, sum(1 for _ in same)


def _line(frame: pydantic_monty.Frame, current: str, cell: str, lines: int) -> str:
    earlier = "an earlier cell" if _INPUT.fullmatch(frame.filename) else "a string"
    where, line = earlier, frame.line
    if frame.filename == current:
        where, line = cell, min(line, lines)
    return f"  at {where}:{line} in {frame.function_name or '<module>'}"


def _text(text: str) -> str:
    """The text of a message; half of a surrogate pair is written as its escape."""
    return text.encode("utf-8", "backslashreplace").decode()
