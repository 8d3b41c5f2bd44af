"""Prepares a cell's source: its last expression is handed to the kernel, to be shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from interpstack_monty.preparation.scan import scan

__all__ = ["RefusedSource", "prepare"]

#: The variable that holds a value until the engine decides whether to assign it.
_VALUE: Final = "__interpstack_value__"
#: The variable that holds the answer of `show`, and the last line of a cell: whatever was put in
#: the place of `show`, the cell gives the host a text and nothing else.
_SHOWN: Final = "__interpstack_shown__"
_TEXT: Final = f'f"{{{_SHOWN}}}"'


class RefusedSource(Exception):
    """Source that Monty takes and Python does not.

    Attributes:
        line: Where, from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def prepare(
    source: str, chars: int, value_name: str = "", pause: Callable[[], None] = lambda: None
) -> str:
    """The source with its last statement, if that is an expression, passed to the kernel's `show`.

    If that assigns to names, what they hold is passed, and not waited for. Otherwise the source
    ends with `None`, so that no cell gives a raw value. Lines stay where they are. It takes time in
    proportion to the source: at most about a second a MiB.

    Args:
        source: Without characters that UTF-8 lacks.
        chars: Characters of the result that `show` gives at most.
        value_name: A variable that gets the value, unless that is `None`; empty for none.
        pause: Called every few milliseconds; an exception from it ends the work.

    Raises:
        RefusedSource: It has a NUL, a `return` outside a function, which would be the value, or a
            method that Monty would not call, such as `__bool__`.
    """
    if "\0" in source:
        at = source.index("\0")
        raise RefusedSource("source code cannot contain null bytes", _line(source, at))
    found = scan(source, pause)
    if found is not None and found.returns is not None:
        raise RefusedSource(
            "'return' outside function; end the cell with the expression itself",
            _line(source, found.returns),
        )
    if found is not None and found.ignored is not None:
        name, at = found.ignored
        raise RefusedSource(
            f"the sandbox's Python never calls {name}; give the method another name, and call it",
            _line(source, at),
        )
    if found is None or not (found.value or found.assigned):
        return f"{source}\nNone"
    start, end = found.value or (len(source), len(source))
    value = f"({source[start:end]})" if found.value else found.assigned
    if value_name:
        value = f"(None if ({_VALUE} := {value}) is None else ({value_name} := {_VALUE}))"
    shown = f"{_SHOWN} = await __interpstack_show__({value}, {chars:d}"
    if found.value:
        return f"{source[:start]}{shown}){source[end:]}\n{_TEXT}"
    return f"{source}\n{shown}, False); {_TEXT}"


def _line(source: str, position: int) -> int:
    return source.count("\n", 0, position) + 1
