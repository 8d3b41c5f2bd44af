"""Agents by name."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError, InterpreterStack
from interpstack_workflows.agents.agent import Agent, AgentAnswer, AgentCall
from interpstack_workflows.errors import UnknownAgent
from interpstack_workflows.runs.agent_names import agent_named, find_agents


class _Own(Agent):
    async def run(self, call: AgentCall) -> AgentAnswer:
        return AgentAnswer(call.prompt)


async def _echo(prompt: str) -> str:
    return prompt


@pytest.mark.parametrize("plugins", [(), ("workflows",)])
async def test_functions_and_agents_become_agents(plugins: Any) -> None:
    stack = InterpreterStack("quickjs", plugins)
    own = _Own()
    found = find_agents({"echo": _echo, "own": own}, stack)
    assert found["own"] is own
    assert (await found["echo"].run(AgentCall(prompt="p"))).value == "p"


@pytest.mark.parametrize("plugins", [(), ("workflows",), ("workflows", "langchain")])
async def test_objects_of_installed_plugins_become_agents(plugins: Any) -> None:
    runnables = pytest.importorskip("langchain_core.runnables")
    stack = InterpreterStack("quickjs", plugins)
    found = find_agents({"echo": runnables.RunnableLambda(_echo)}, stack)
    assert (await found["echo"].run(AgentCall(prompt="p"))).value == "p"


def test_other_objects_are_refused() -> None:
    stack = InterpreterStack("quickjs", ["workflows"])
    with pytest.raises(ConfigurationError, match="agent 'x': 3 is not an agent; pass an async"):
        find_agents({"x": 3}, stack)
    with pytest.raises(ConfigurationError, match="agents takes agents by name"):
        find_agents([_echo], stack)  # type: ignore[arg-type]


def test_calls_name_agents() -> None:
    one, two = _Own(), _Own()
    assert agent_named({"only": one}, None) == ("only", one)
    assert agent_named({"default": one, "b": two}, None) == ("default", one)
    assert agent_named({"default": one, "b": two}, "b") == ("b", two)
    message = r"Unknown agent: writr; did you mean 'writer'\? Known agents: reader, writer"
    with pytest.raises(UnknownAgent, match=message):
        agent_named({"writer": one, "reader": two}, "writr")
    with pytest.raises(UnknownAgent, match=r"Unknown agent: default\. Known agents: none"):
        agent_named({}, None)


@pytest.mark.parametrize("name", [1, "", None])
def test_names_that_no_script_can_write_are_refused(name: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"names that are non-empty strings; got (1|''|N)"):
        find_agents({name: _echo}, InterpreterStack())
