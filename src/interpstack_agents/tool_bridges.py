"""Bridges to the tools of an agent, for plugins that offer them to code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from interpstack import (
    UNDEFINED,
    UNKNOWN,
    CellContext,
    ErrorValue,
    GuestError,
    GuestLanguage,
    HostTool,
    MapValue,
    OpenFields,
    SetValue,
    call_blocking,
)
from interpstack.values import is_known, known_fields
from interpstack_agents.tool_fields import (
    has_plain_fields,
    misfitting_field,
    missing_field,
    unknown_field,
)

__all__ = [
    "as_single_field",
    "has_many_parts",
    "plain_input",
    "tool_fault",
    "tool_handler",
    "tool_input",
]

#: Parts of an input that are prepared on the event loop.
_MOST_PARTS: Final = 1000
#: Characters of an input that an example repeats.
_SHOWN: Final = 60


def tool_handler(
    name: str, tool: HostTool, language: GuestLanguage
) -> Callable[[Any, CellContext], Awaitable[Any]]:
    """The handler of a bridge to a tool: prepares the input, and calls the tool.

    It is called on the loop (`Bridge.on_loop`) and returns the awaitable of the tool's call, so no
    coroutine of a plugin stands between the cell loop and the tool while the tool runs.

    Args:
        name: Name of the bridge, as code writes it, such as `tools.readPrice`.
        tool: The tool.
        language: Language of the guest, for the example in the error.

    Returns:
        A function that returns the awaitable of the tool's call. It takes no input as no fields,
        and raises `TypeError` for an input that is neither an object nor the text of a single
        field, and for a field that the tool does not have.
    """

    def call(value: Any, context: CellContext) -> Awaitable[Any]:
        if not has_many_parts(value):
            return tool.call(prepared(value, is_plain=context.plain_input), context)
        return prepared_apart(value, context)

    async def prepared_apart(value: Any, context: CellContext) -> Any:
        given = await call_blocking(partial(prepared, value, is_plain=context.plain_input))
        return await tool.call(given, context)

    prepared = partial(tool_input, name, tool, language)
    return call


def tool_input(
    name: str, tool: HostTool, language: GuestLanguage, value: Any, *, is_plain: bool = False
) -> dict[str, Any]:
    """The input with which a bridge calls a tool.

    Args:
        name: Name of the bridge, as code writes it.
        tool: The tool.
        language: Language of the guest, for the example in the error.
        value: Input from code.
        is_plain: Whether it has only types that tools take.

    Raises:
        TypeError: The input is neither an object nor the text of a single field, or has a field
            that the tool does not have.
    """
    if value is UNDEFINED or value is None:
        return {}
    if not isinstance(value, dict):
        value = as_single_field(value, tool)
    if not isinstance(value, dict):
        raise TypeError(_usage(name, tool, language, value))
    given: dict[str, Any] = value if is_plain else plain_input(value)
    fault = unknown_field(tool.input_schema, given)
    if fault:
        fault = unknown_field(tool.input_schema, given, language.fields(tool))
        raise TypeError(f"{name} {fault}")
    return given


def tool_fault(name: str, tool: HostTool, language: GuestLanguage, value: Any) -> GuestError | None:
    """The error of a call of a tool that cannot succeed, as far as its input is known.

    The names of fields are refused as `tool_input` refuses them. Whether a field is missing or of a
    wrong type is for the tool to say, if it can; else its schema decides, where no library would
    make a value of the type of what is given.

    Args:
        name: Name of the bridge, as code writes it.
        tool: The tool.
        language: Language of the guest, for messages.
        value: The input; see `Bridge.fault`.
    """
    if value is UNKNOWN:
        return None
    value = {} if value is UNDEFINED or value is None else as_single_field(value, tool)
    if not isinstance(value, dict):
        text = _usage(name, tool, language, value) if is_known(value) else ""
        return GuestError("TypeError", text) if text else None
    given = {key: item for key, item in value.items() if item is not UNDEFINED}
    known, is_open = known_fields(given), isinstance(value, OpenFields)
    is_plain = has_plain_fields(tool.input_schema)
    if is_plain or (len(known) == len(given) and not is_open):
        named = plain_input({key: known.get(key) for key in given})
        if unknown_field(tool.input_schema, named):
            fault = unknown_field(tool.input_schema, named, language.fields(tool))
            return GuestError("TypeError", f"{name} {fault}")
    if not is_plain:
        return None
    known = plain_input(known)
    missing = "" if is_open else missing_field(tool.input_schema, given)
    strict = tool.refuses is not None
    field, kinds = misfitting_field(tool.input_schema, known, strict=strict)
    if tool.refuses is not None:
        asks = (missing or field) and not is_open
        text = tool.refuses(known, given.keys() - known.keys()) if asks else ""
        return GuestError("ToolError", text) if text else None
    text = f" needs the field {missing!r}" if missing else ""
    if field and not missing:
        got = language.literal(known[field])[:_SHOWN]
        text = f": field {field!r} takes {kinds}; got {got}"
    message = f"{name}{text}; its fields are: {language.fields(tool)}"
    return GuestError("TypeError", message) if text else None


def _usage(name: str, tool: HostTool, language: GuestLanguage, value: Any) -> str:
    """How to call a tool that was not called with fields: with the first one that must be there."""
    fields, must = tool.input_schema.get("properties"), tool.input_schema.get("required")
    names = [str(one) for one in (must if isinstance(must, list) else [])]
    names += [str(one) for one in (fields if isinstance(fields, Mapping) else ())]
    given = language.literal(value) if isinstance(value, (str, int, float)) else "…"
    example = language.call(name, {(names or ["field"])[0]: given if len(given) <= _SHOWN else "…"})
    listed = language.fields(tool)
    text = f"{name} takes {language.words.arguments}, as in {example}"
    return f"{text}; its fields are: {listed}" if listed else text


def has_many_parts(value: Any) -> bool:
    """Whether a value of code has so many parts that an event loop must not go through all of them.

    Args:
        value: Any value that a guest passes.
    """
    parts = [value]
    for part in parts:
        if isinstance(part, dict):
            parts += part.values()
        elif isinstance(part, list):
            parts += part
        elif isinstance(part, MapValue):
            parts += [inner for entry in part.entries for inner in entry]
        elif isinstance(part, SetValue):
            parts += part.items
        if len(parts) > _MOST_PARTS:
            return True
    return False


def as_single_field(value: Any, tool: HostTool) -> Any:
    """The input of a tool; a text becomes the field of a tool that has only one field.

    Args:
        value: Input from code: fields by name, or anything else.
        tool: The tool.

    Returns:
        The fields by name where a text was one; else the value itself.
    """
    fields = tool.input_schema.get("properties")
    if not isinstance(value, str) or not isinstance(fields, dict) or len(fields) != 1:
        return value
    return dict.fromkeys(fields, value)


def plain_input(value: Any) -> Any:
    """Convert an input of code to the types that tools take, without stand-ins for guest values.

    Args:
        value: Any value that a guest passes.

    Returns:
        The value, with a mapping for a Map whose keys are text or whole numbers, and a list of
        pairs for any other; a list for a Set; name and message of an error. Fields that are
        `undefined` are dropped, so that the schema's defaults apply.
    """
    if isinstance(value, dict):
        return {k: plain_input(v) for k, v in value.items() if v is not UNDEFINED}
    if isinstance(value, MapValue):
        return _plain_map(value.entries)
    if isinstance(value, (list, SetValue)):
        return [plain_input(item) for item in (value if isinstance(value, list) else value.items)]
    if isinstance(value, ErrorValue):
        return {"name": value.name, "message": value.message}
    return None if value is UNDEFINED else value


def _plain_map(entries: Sequence[tuple[Any, Any]]) -> Any:
    """Numbers become text, as those of an object in JSON; keys that this makes equal stay apart."""
    pairs = [[plain_input(key), plain_input(item)] for key, item in entries]
    keys = [_field(key) for key, _ in pairs]
    if None in keys or len({*keys}) < len(keys):
        return pairs
    return {key: item for key, (_, item) in zip(keys, pairs, strict=True)}


def _field(key: Any) -> str | None:
    """The text of a key that JSON can have; `None` for any other."""
    if isinstance(key, bool) or not isinstance(key, (str, int)):
        return None
    return key if isinstance(key, str) else str(key) if key.bit_length() <= 64 else None
