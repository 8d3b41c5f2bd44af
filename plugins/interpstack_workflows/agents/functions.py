"""Plain functions as agents."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from interpstack import ConfigurationError
from interpstack.checks import is_async_function, shown
from interpstack_workflows.agents.agent import Agent, AgentAnswer, AgentCall, AgentFailed

__all__ = ["FunctionAgent", "agent_of"]


class FunctionAgent(Agent):
    """An agent made of an async function.

    Args:
        function: Takes the prompt, or the `AgentCall` if its first parameter is called `call` or
            is annotated so; returns the value, or an `AgentAnswer`.

    Raises:
        ConfigurationError: The object is not an async function of one argument.
    """

    def __init__(self, function: Callable[[Any], Awaitable[Any]]) -> None:
        self._function = function
        self._takes_call = _takes_call(function)
        self.takes_cwd = self._takes_call
        self.description = _description(function)

    async def run(self, call: AgentCall) -> AgentAnswer:
        if not self._takes_call:
            _refuse_wishes(call)
        answer = await self._function(call if self._takes_call else call.prompt)
        return answer if isinstance(answer, AgentAnswer) else AgentAnswer(answer)


def _refuse_wishes(call: AgentCall) -> None:
    """Refuse a call that asks for what a function of the prompt alone never learns.

    Raises:
        AgentFailed: The call asks for a model, a provider or an effort.
    """
    wishes = {"model": call.model, "provider": call.provider, **call.model_options}
    for name, value in wishes.items():
        if value is not None:
            raise AgentFailed(
                f"agent {call.agent!r} is a function of the prompt and takes no {name}, and the "
                f"call asks for {value!r:.100}; name the function's parameter `call`, and read "
                f"the {name} from it, or leave it out of the script",
                final=True,
            )


def _description(function: Any) -> str:
    """Return the first paragraph of a function's docstring, on one line."""
    is_function = inspect.isroutine(function)
    text = inspect.getdoc(function if is_function else type(function)) or ""
    return " ".join(text.partition("\n\n")[0].split())


def _takes_call(function: Callable[..., Any]) -> bool:
    parameters = list(inspect.signature(function).parameters.values())
    taken = [
        one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    needed = [one for one in taken[1:] if one.default is one.empty]
    if not taken or needed:
        raise ConfigurationError(
            "a function that is an agent takes one argument, the prompt or the call; "
            f"got {shown(function)}"
        )
    first = taken[0]
    return first.name == "call" or first.annotation in (AgentCall, "AgentCall")


def agent_of(target: Any) -> Agent | None:
    """Return the agent that a target is or makes; `None` for a target of another kind."""
    if isinstance(target, Agent):
        return target
    return FunctionAgent(target) if is_async_function(target) else None
