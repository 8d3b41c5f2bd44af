"""The tools of the server, as a client lists them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp import types

from interpstack import ConfigurationError, HostOffer, InterpreterStack
from interpstack.checks import shown
from interpstack_mcp.serving.outcomes import RESULT_SCHEMA

__all__ = ["TOOL_NAMES", "check_arguments", "tools_for"]

#: The arguments of each tool, and their types.
_FIELDS: Final[Mapping[str, Mapping[str, type]]] = {
    "run_code": {"code": str},
    "wait": {"cell": str, "terminate": bool},
    "search_tools": {"query": str},
    "reset": {},
}
TOOL_NAMES: Final = tuple(_FIELDS)
_WORDS: Final[Mapping[type, str]] = {str: "a string", bool: "true or false"}
_SESSION: Final = {
    "type": "string",
    "description": "The session that an earlier result named; leave it out otherwise.",
}


def check_arguments(tool: str, given: Mapping[str, Any], *, names_session: bool) -> None:
    """Refuse arguments that a tool does not take: without them, it would do something else.

    Args:
        tool: The name of the tool.
        given: The arguments of a client; `null` counts as left out.
        names_session: Whether the client has to name its session.

    Raises:
        ConfigurationError: An argument is unknown, or of another type.
    """
    fields = {**_FIELDS[tool], **({"session": str} if names_session else {})}
    for name, value in given.items():
        if name not in fields:
            known = ", ".join(fields) or "no arguments"
            raise ConfigurationError(f"{tool} has no argument {name!r:.100}; it takes {known}")
        if value is not None and not isinstance(value, fields[name]):
            wanted = _WORDS[fields[name]]
            raise ConfigurationError(
                f"{tool} takes {wanted} as {name}; got {shown(value, json.dumps)}"
            )


def tools_for(
    stack: InterpreterStack, offer: HostOffer, *, names_session: bool
) -> list[types.Tool]:
    """The tools, described for the stack's language and what code can call.

    Args:
        stack: The stack.
        offer: The tools and parts for the code.
        names_session: Whether the client has to name its session.
    """
    language = stack.language
    cells = " ".join(filter(None, (language.words.cells, language.words.together)))
    about = (
        f"Run {language.title} code. Variables stay for later calls. {cells} Return only what you "
        "need: the value of the last expression is the result."
    )
    sections = stack.prompt(offer)
    tools = [
        _tool(
            "run_code",
            f"{about}\n\n{sections}" if sections else about,
            {"code": {"type": "string", "description": f"{language.title} source."}},
            RESULT_SCHEMA,
        ),
        _tool(
            "wait",
            "Wait for code that still runs, or stop it.",
            {
                "cell": {"type": "string", "description": "The cell that run_code named."},
                "terminate": {"type": "boolean", "description": "Stop the code instead."},
            },
            RESULT_SCHEMA,
            required=["cell"],
        ),
        _tool(
            "search_tools",
            "Find functions that code can call, by words; returns their signatures.",
            {"query": {"type": "string"}},
        ),
        _tool("reset", "Stop all code, and delete all variables.", {}, required=[]),
    ]

    if names_session:
        for tool in tools:
            tool.input_schema["properties"]["session"] = _SESSION
    return tools


def _tool(
    name: str,
    description: str,
    fields: dict[str, Any],
    output: dict[str, Any] | None = None,
    required: list[str] | None = None,
) -> types.Tool:
    return types.Tool(
        name=name,
        description=description,
        input_schema={
            "type": "object",
            "properties": dict(fields),
            "required": list(fields) if required is None else required,
            "additionalProperties": False,
        },
        output_schema=output,
    )
