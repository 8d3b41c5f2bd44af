"""The tools of the server, as a client lists them."""

from __future__ import annotations

from typing import Any, Final

from mcp import types

from interpstack import HostOffer, InterpreterStack
from interpstack_mcp.serving.outcomes import RESULT_SCHEMA

__all__ = ["TOOL_NAMES", "tools_for"]

TOOL_NAMES: Final = ("run_code", "wait", "search_tools", "reset")
_SESSION: Final = {
    "type": "string",
    "description": "The session that an earlier result named; leave it out otherwise.",
}


def tools_for(stack: InterpreterStack, offer: HostOffer) -> list[types.Tool]:
    """The tools, described for the stack's language and what code can call."""
    language = stack.language
    cells = " ".join(filter(None, (language.words.cells, language.words.together)))
    about = (
        f"Run {language.title} code. Variables stay for later calls. {cells} Return only what you "
        "need: the value of the last expression is the result."
    )
    sections = stack.prompt(offer)
    return [
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
        _tool("reset", "Stop all code, and forget all variables.", {}, required=[]),
    ]


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
            "properties": {**fields, "session": _SESSION},
            "required": list(fields) if required is None else required,
            "additionalProperties": False,
        },
        output_schema=output,
    )
