"""Input of the tool `js_repl`: source text, perhaps below a line of options."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

import attrs

from interpstack.checks import shown
from interpstack_javascript import JAVASCRIPT

__all__ = ["PRAGMAS", "Input", "InputFault", "check_fields", "read_input"]

#: How a first line of options begins.
PRAGMAS: Final = ("// interpstack:", "// codex-js-repl:")
_FENCE: Final = "`" * 3
_MOST: Final = 2**64 - 1
_NUMBER: Final = re.compile(r"\+?[0-9]+", re.ASCII)
_FIELDS: Final = ("code", "timeout_ms")
#: Characters of the input that a message repeats.
_SHOWN: Final = 60


class InputFault(ValueError):
    """The input is not JavaScript source, or its options are wrong; the model gets the message."""


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


def check_fields(fields: Any, *, tool: str = "js_repl") -> None:
    """Refuse wrong fields of a call of the tool as a function.

    Args:
        fields: The call's arguments.
        tool: Name of the tool, for messages.

    Raises:
        InputFault: A field is unknown, missing, or of another type.
    """
    if not isinstance(fields, dict):
        raise InputFault(f"{tool} takes the fields code and timeout_ms; got no fields")
    unknown = [name for name in fields if name not in _FIELDS]
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise InputFault(
            f"{tool} takes the fields code and timeout_ms only; got {_quoted(str(unknown[0]))}"
            f"{more}. Put everything else into the source"
        )
    if not isinstance(fields.get("code"), str):
        got = shown(fields["code"], JAVASCRIPT.literal) if "code" in fields else "nothing"
        raise InputFault(f"{tool} takes JavaScript source text in the field code; got {got}")
    given = fields.get("timeout_ms")
    if isinstance(given, str):  # a pragma has text, a field a number
        _refuse_number(f"the text {_quoted(given)}", f"{tool} field")
    if given is not None:
        whole = isinstance(given, float) and given.is_integer()
        _number(int(given) if whole else given, f"{tool} field")


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
    given = [*wanted, *([] if timeout_ms is None else [_number(timeout_ms, f"{tool} field")])]
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
    return _number(value, f"{tool} pragma")


def _number(value: Any, place: str) -> int:
    """The milliseconds of the option.

    Args:
        value: The option, as text or as a number.
        place: Where the option stands, for messages.
    """
    text = str(value)
    fits = _NUMBER.fullmatch(text) and len(text) <= len(str(_MOST)) + 1
    if not fits or not 0 < int(text) <= _MOST:
        _refuse_number(_quoted(text), place)
    return int(text)


def _refuse_number(got: str, place: str) -> NoReturn:
    raise InputFault(
        f"{place} timeout_ms must be a positive whole number of milliseconds; got {got}. For 15 "
        "seconds, pass timeout_ms=15000"
    )


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
