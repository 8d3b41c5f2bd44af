"""Functions and objects as agents."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError, InterpreterStack
from interpstack_workflows.agents.agent import Agent, AgentAnswer, AgentCall, AgentFailed
from interpstack_workflows.agents.functions import FunctionAgent, agent_of
from interpstack_workflows.budgets.usage import WorkflowUsage

_CALL = AgentCall(prompt="hi", key="k")


async def shout(prompt: str) -> str:
    return prompt.upper()


async def keyed(call: Any) -> AgentAnswer:
    return AgentAnswer(call.key, WorkflowUsage(output_tokens=3))


async def annotated(task: AgentCall, loud: bool = False) -> Any:
    return [task.prompt, loud]


class Greeter:
    async def __call__(self, prompt: str) -> str:
        return f"hello {prompt}"


@pytest.mark.parametrize(
    ("target", "answer"),
    [
        (shout, AgentAnswer("HI")),
        (keyed, AgentAnswer("k", WorkflowUsage(output_tokens=3))),
        (annotated, AgentAnswer(["hi", False])),
        (Greeter(), AgentAnswer("hello hi")),
    ],
)
async def test_functions_are_agents(target: Any, answer: AgentAnswer) -> None:
    agent = agent_of(target)
    assert agent is not None
    assert await agent.run(_CALL) == answer


def test_an_agent_is_itself() -> None:
    agent = FunctionAgent(shout)
    assert agent_of(agent) is agent


@pytest.mark.parametrize("target", [5, "shout", lambda prompt: prompt, object()])
def test_other_objects_are_left_to_other_plugins(target: Any) -> None:
    assert agent_of(target) is None


async def two(one: str, other: str) -> None: ...


async def none() -> None: ...


@pytest.mark.parametrize("function", [two, none])
def test_a_function_takes_one_argument(function: Any) -> None:
    with pytest.raises(ConfigurationError, match="takes one argument, the prompt or the call"):
        FunctionAgent(function)


def test_plugins_make_agents_through_a_hook() -> None:
    with InterpreterStack(plugins=["workflows"]) as stack:
        made = stack.hook.interpstack_workflow_agent(target=shout, name="shout")
        assert isinstance(made, Agent)
        assert stack.hook.interpstack_workflow_agent(target=5, name="five") is None


async def test_functions_of_the_call_work_in_its_folder() -> None:
    async def plain(prompt: str) -> str:
        return prompt

    async def whole(call: AgentCall) -> str:
        return call.prompt

    assert not FunctionAgent(plain).takes_cwd
    assert FunctionAgent(whole).takes_cwd


@pytest.mark.parametrize(
    ("wish", "value"),
    [
        ({"model": "large"}, "model, and the call asks for 'large'"),
        ({"provider": "acme"}, "provider, and the call asks for 'acme'"),
        ({"model_options": {"thinking": "high"}}, "thinking, and the call asks for 'high'"),
    ],
)
async def test_a_function_of_the_prompt_refuses_a_call_that_asks_for_a_model(
    wish: dict[str, Any], value: str
) -> None:
    called: list[str] = []

    async def of_prompt(prompt: str) -> str:
        called.append(prompt)
        return prompt

    async def of_call(call: AgentCall) -> str:
        return f"{call.model} {call.provider} {dict(call.model_options)}"

    agent = FunctionAgent(of_prompt)
    with pytest.raises(AgentFailed, match=value) as failed:
        await agent.run(AgentCall(prompt="p", **wish))
    assert failed.value.final
    assert not called
    (asked,) = [*wish.values()]
    assert str(asked) in (await FunctionAgent(of_call).run(AgentCall(prompt="p", **wish))).value
