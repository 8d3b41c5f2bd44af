"""Texts about the interpreter itself, for the model."""

from __future__ import annotations

from typing import Any

import attrs
from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import SystemMessage

import interpstack_agents as agents
from interpstack import GuestLanguage
from interpstack_langchain.options import Options

__all__ = [
    "InterpreterPrompt",
    "code_description",
    "interpreter_section",
    "tool_description",
    "with_section",
]


@attrs.frozen
class InterpreterPrompt:
    """Part of a `HostOffer` for the prompt section on the interpreter itself.

    Attributes:
        options: Options of the middleware.
        lifetime: A sentence that says how long variables live.
    """

    options: Options
    lifetime: str


def interpreter_section(options: Options, lifetime: str, language: GuestLanguage) -> str:
    """The section on the interpreter for the system prompt."""
    facts = agents.InterpreterFacts(lifetime, options.limits())
    text = agents.interpreter_section(facts, options.tool_name, language)
    if options.background is not None:
        wait, terminate = options.background.tools
        text += (
            f"\n- Code that waits longer than {options.background.yield_after:g} s for its calls "
            f"answers with an id, and the calls continue. `{wait}` continues the code, "
            f"`{terminate}` ends it."
        )
    return text


def tool_description(mode: agents.Persistence, language: GuestLanguage) -> str:
    """The description of the eval tool."""
    # Whether the agent has a checkpointer is known in a run only: the prompt says more.
    in_threads = "Variables persist across calls."
    is_thread = mode.scope == agents.PersistenceScope.THREAD
    lifetime = in_threads if is_thread else agents.lifetime_of_variables(mode)
    return f"Run {language.title} in a sandbox and get the value of its last expression. {lifetime}"


def code_description(language: str) -> str:
    """The description of the eval tool's argument.

    Args:
        language: The title of the guest language.
    """
    return f"{language} to run. The value of the last expression is returned."


def with_section(request: ModelRequest[Any], text: str) -> ModelRequest[Any]:
    """A request whose system prompt ends with one more section."""
    before = request.system_message
    if before is None:
        message = SystemMessage(content=text)
    elif isinstance(before.content, str):
        message = SystemMessage(content=f"{before.content}\n\n{text}")
    else:
        # providers join the texts of blocks as they are
        block = {"type": "text", "text": f"\n\n{text}"}
        message = SystemMessage(content=[*before.content, block])
    return request.override(system_message=message)
