"""Parts of a result: a path into it, and a bounded piece of the text there."""

from __future__ import annotations

from typing import Any, Final

from interpstack.checks import listed
from interpstack.similar_names import did_you_mean
from interpstack_langchain.workflows.by_models.lines import as_json, line
from interpstack_workflows.api import WorkflowError

__all__ = ["selected"]

#: Names of fields that a message lists.
_LISTED: Final = 20


def selected(result: Any, path: str, offset: int, chars: int) -> str:
    """Return a piece of a result, after a line that says what it is.

    Args:
        result: The result, as JSON.
        path: Names and numbers to the part, divided by `/`, as in `files/0/name`.
        offset: Characters of the part's text before the piece.
        chars: Characters of the piece at most.

    Raises:
        WorkflowError: There is no such part, or its text ends before the offset.
    """
    value = _at(result, path)
    text = value if isinstance(value, str) else as_json(value)
    if offset > len(text):
        raise WorkflowError(f"the text there has {len(text)} characters; offset {offset} is behind")
    piece = text[offset : offset + chars]
    end = offset + len(piece)
    more = f"; {len(text) - end} more, from offset {end}" if end < len(text) else ""
    return f"{_kind(value)}, characters {offset} to {end} of {len(text)}{more}\n{piece}"


def _at(value: Any, path: str) -> Any:
    seen = ""
    for part in [one for one in path.strip().strip("/").split("/") if one]:
        value = _member(value, part.replace("~1", "/").replace("~0", "~"), seen or "the result")
        seen = f"{seen}/{part}" if seen else part
    return value


def _member(value: Any, name: str, where: str) -> Any:
    if isinstance(value, dict):
        if name in value:
            return value[name]
        meant = did_you_mean(name, value, write=lambda one: repr(line(one)))
        known = _fields(value) or "no fields"
        raise WorkflowError(f"{line(where)} has no field {line(name)!r}{meant} It has: {known}")
    if isinstance(value, list):
        if name.isdecimal() and name.isascii() and int(name[:12]) < len(value):
            return value[int(name)]
        raise WorkflowError(
            f"{line(where)} is an array of {len(value)} items, counted from 0; got {line(name)!r}"
        )
    raise WorkflowError(f"{line(where)} is {_kind(value)}, which has no parts")


def _fields(value: dict[str, Any]) -> str:
    return listed(value, _LISTED, lambda name: line(name, 60))


def _kind(value: Any) -> str:
    match value:
        case dict():
            return f"object with {len(value)} fields ({_fields(value)})"
        case list():
            return f"array of {len(value)} items"
        case str():
            return "text"
        case None:
            return "null"
    return "true or false" if isinstance(value, bool) else "number"
