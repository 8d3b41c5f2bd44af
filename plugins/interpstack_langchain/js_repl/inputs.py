"""Input of the tool `js_repl`: source text, perhaps below a line of options."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import attrs

__all__ = ["PRAGMAS", "Input", "InputFault", "read_input"]

#: How a first line of options begins.
PRAGMAS: Final = ("// interpstack:", "// codex-js-repl:")
_FENCE: Final = "`" * 3
_MOST: Final = 2**64 - 1
_NUMBER: Final = re.compile(r"\+?[0-9]+", re.ASCII)
#: Characters of the input that a message repeats.
_SHOWN: Final = 60


class InputFault(ValueError):
    """The input is no JavaScript source, or its options are wrong; the message is for the model."""


@attrs.frozen
class Input:
    """A call of the tool.

    Attributes:
        source: The source text. In place of the options is an empty line, so that line numbers in
            errors are those of the input.
        timeout_ms: Milliseconds that the cell may take in all; `None` for the usual time.
    """

    source: str
    timeout_ms: int | None = None


def read_input(text: str, timeout_ms: Any = None, *, tool: str = "js_repl") -> Input:
    """Read a call of the tool.

    Args:
        text: The source, perhaps below a line of options.
        timeout_ms: The option of this name, where the model passes it as a field.
        tool: Name of the tool, for messages.

    Raises:
        InputFault: The call is wrong.
    """
    if not text.strip():
        raise InputFault(
            f"{tool} expects raw JavaScript tool input (non-empty). Provide JS source text, "
            f"optionally with first-line `{PRAGMAS[0]} timeout_ms=15000`"
        )
    first, newline, rest = text.partition("\n")
    directive = _directive(first)
    if directive is None:
        source, wanted = text, []
    else:
        wanted = [_option(token, tool) for token in directive.split()]
        source = newline + rest
    given = [*wanted, *([] if timeout_ms is None else [_number(timeout_ms, tool)])]
    if len(given) > 1:
        raise InputFault(f"{tool} pragma specifies timeout_ms more than once; pass it once")
    if directive is not None and not rest.strip():
        raise InputFault(
            f"{tool} pragma must be followed by JavaScript source on subsequent lines; put the "
            "code below the first line"
        )
    _refuse_wrapping(source, tool)
    return Input(source, given[0] if given else None)


def _directive(line: str) -> str | None:
    """The options on a first line; `None` for a line of source."""
    stripped = line.lstrip()
    prefix = next((one for one in PRAGMAS if stripped.startswith(one)), None)
    return None if prefix is None else stripped[len(prefix) :]


def _option(token: str, tool: str) -> int:
    key, equals, value = token.partition("=")
    if not equals:
        raise InputFault(
            f"{tool} pragma expects space-separated key=value pairs (supported keys: timeout_ms); "
            f"got {_quoted(token)}"
        )
    if key != "timeout_ms":
        raise InputFault(f"{tool} pragma only supports timeout_ms; got {_quoted(key)}")
    return _number(value, tool)


def _number(value: Any, tool: str) -> int:
    text = str(value)
    if not _NUMBER.fullmatch(text) or len(text) > len(str(_MOST)) + 1 or int(text) > _MOST:
        raise InputFault(
            f"{tool} pragma timeout_ms must be an integer; got {_quoted(text)}. Pass milliseconds, "
            "as in timeout_ms=15000"
        )
    return int(text)


def _refuse_wrapping(source: str, tool: str) -> None:
    """Refuse source in a code fence, in a JSON string, or in a JSON object."""
    text = source.strip()
    if text.startswith(_FENCE):
        raise InputFault(
            f"{tool} expects raw JavaScript source, not markdown code fences: send the code alone, "
            f"without lines of {_FENCE}"
        )
    if text[:1] in ("{", '"') and _is_wrapped(text):
        raise InputFault(
            f"{tool} is a freeform tool and expects raw JavaScript source: send the code alone, "
            "not inside JSON or quotes"
        )


def _is_wrapped(text: str) -> bool:
    try:
        return isinstance(json.loads(text), (dict, str))
    except (ValueError, RecursionError):
        return False


def _quoted(text: str) -> str:
    return json.dumps(text[:_SHOWN]) + ("…" if len(text) > _SHOWN else "")
