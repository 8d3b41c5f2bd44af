"""Agents by name: the objects that a host gives, and the one that a script asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from interpstack import ConfigurationError, InterpreterStack, installed
from interpstack.checks import shown
from interpstack.similar_names import did_you_mean
from interpstack_workflows.agents.agent import Agent
from interpstack_workflows.agents.functions import agent_of
from interpstack_workflows.errors import UnknownAgent

__all__ = ["DEFAULT_AGENT", "agent_named", "asked_name", "find_agents"]

#: The agent of calls that name none.
DEFAULT_AGENT: Final = "default"
_HOOK: Final = "interpstack_workflow_agent"
#: Plugins that make agents of other objects.
_MAKERS: Final = ("workflows", "langchain")


def find_agents(targets: Mapping[str, Any], stack: InterpreterStack) -> dict[str, Agent]:
    """Return the agents that objects are or become.

    Args:
        targets: The objects, by the names under which scripts call them.
        stack: Its plugins are asked first, then those of this project.

    Raises:
        ConfigurationError: A name is wrong, or no plugin knows one of the objects.
    """
    if not isinstance(targets, Mapping):
        raise ConfigurationError(f"agents takes agents by name; got {shown(targets)}")
    for name in targets:
        if not isinstance(name, str) or not name:
            raise ConfigurationError(
                f"agents takes names that are non-empty strings; got {name!r:.100}"
            )
    return {name: _agent(target, name, stack) for name, target in targets.items()}


def asked_name(agents: Mapping[str, Agent], name: str | None) -> str:
    """Return the name of the agent that a call asks for; see `agent_named`."""
    return name or (next(iter(agents)) if len(agents) == 1 else DEFAULT_AGENT)


def agent_named(agents: Mapping[str, Agent], name: str | None) -> tuple[str, Agent]:
    """Return the agent that a call names: without a name the `default` one, or the only one.

    Raises:
        UnknownAgent: There is no such agent; the message lists the known ones.
    """
    wanted = asked_name(agents, name)
    if wanted in agents:
        return wanted, agents[wanted]
    known = sorted(agents)
    meant = did_you_mean(wanted, known) or "."
    raise UnknownAgent(f"Unknown agent: {wanted}{meant} Known agents: {', '.join(known) or 'none'}")


def _agent(target: Any, name: str, stack: InterpreterStack) -> Agent:
    hook = getattr(stack.hook, _HOOK, None)
    agent = agent_of(target) if hook is None else hook(target=target, name=name)
    if agent is None:
        makers = [plugin for plugin in _MAKERS if plugin in installed()]
        agent = getattr(InterpreterStack(stack.engine, makers).hook, _HOOK)(
            target=target, name=name
        )
    if not isinstance(agent, Agent):
        raise ConfigurationError(
            f"agent {name!r}: {shown(target)} is not an agent; pass an async function of the prompt"
            ", an Agent, or an object that an installed plugin knows, such as a LangGraph graph"
        )
    return agent
