"""Approvals that other middleware of the agent asks for hold for calls from code, too."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from deepagents import create_deep_agent
from fake_models import FakeModel
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from interpstack import ConfigurationError
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_langchain.rules import agent_rules

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])
per_call = pytest.mark.skipif(
    "interrupt_mode" not in inspect.signature(HumanInTheLoopMiddleware).parameters,
    reason="this release of LangChain asks in one way only",
)

CONFIG = {"configurable": {"thread_id": "t"}}
APPROVE = {"type": "approve"}
PAY = "await tools.pay({to: 'Ann', euros: 50})"


class Till:
    """Payments that were made, and the tool that makes them."""

    def __init__(self) -> None:
        self.paid: list[str] = []
        paid = self.paid

        @tool
        def pay(to: str, euros: int) -> str:
            """Pay somebody."""
            paid.append(f"{to} {euros}")
            return f"receipt {to} {euros}"

        self.pay = pay


@pytest.fixture
def till() -> Till:
    return Till()


def answer_of(result: Any) -> str:
    return [m.text for m in result["messages"] if isinstance(m, ToolMessage)][-1]


def described(call: Any, state: Any, runtime: Any) -> str:
    return f"{call['name']} {call['args']['euros']} {state['messages'][0].text}"


RULES = [
    True,
    {"allowed_decisions": ["approve", "reject"], "description": described},
    {
        "allowed_decisions": ["approve"],
        "when": lambda request: request.tool_call["args"]["euros"] > 10,
    },
]


@both
@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("rule", RULES, ids=["true", "description", "when"])
async def test_a_sibling_asks_as_the_interpreter_would(
    talk: Any, till: Till, where: str, rule: Any
) -> None:
    sibling = HumanInTheLoopMiddleware({"pay": rule}, description_prefix="Look")
    chat = talk(tools=[till.pay], ptc=["pay"], **{where: [sibling]})
    code = f"await tools.pay({{to: 'Bob', euros: 5}}).catch(() => 0); {PAY}"
    if rule is not RULES[2]:
        code = PAY
    (found,) = (await chat.turn(code))["__interrupt__"]
    assert "Ann 50" not in till.paid
    (action,) = found.value["action_requests"]
    assert (action["name"], action["args"]) == ("pay", {"to": "Ann", "euros": 50})
    expected = "pay 50 go" if rule is RULES[1] else "Look\n\nTool: pay"
    assert action["description"].startswith(expected)
    (config,) = found.value["review_configs"]
    expected = ["approve", "edit", "reject", "respond"] if rule is True else None
    assert config["allowed_decisions"] == (expected or rule["allowed_decisions"])
    assert answer_of(await chat.decide(APPROVE)) == "<result>receipt Ann 50</result>"
    assert till.paid == (["Bob 5", "Ann 50"] if rule is RULES[2] else ["Ann 50"])


@both
async def test_a_decision_that_a_sibling_does_not_allow_is_refused(talk: Any, till: Till) -> None:
    sibling = HumanInTheLoopMiddleware({"pay": {"allowed_decisions": ["reject"]}})
    chat = talk(tools=[till.pay], ptc=["pay"], after=[sibling])
    await chat.turn(PAY)
    with pytest.raises(ValueError, match="pay can be decided with reject; got 'approve'"):
        await chat.decide(APPROVE)
    assert "too much" in answer_of(await chat.decide({"type": "reject", "message": "too much"}))
    assert not till.paid


async def test_a_subclass_is_found(talk: Any, till: Till) -> None:
    class Reviews(HumanInTheLoopMiddleware):
        pass

    chat = talk(tools=[till.pay], ptc=["pay"], before=[Reviews({"pay": True})])
    assert (await chat.turn(PAY))["__interrupt__"]
    assert not till.paid


async def test_the_model_s_own_calls_are_asked_about_once(talk: Any, till: Till) -> None:
    chat = talk(tools=[till.pay], ptc=["pay"], after=[HumanInTheLoopMiddleware({"pay": True})])
    call = {"name": "pay", "args": {"to": "Ann", "euros": 5}, "id": "c"}
    assert (await chat.turn(AIMessage("", tool_calls=[call])))["__interrupt__"]
    assert "__interrupt__" not in await chat.decide(APPROVE)
    assert till.paid == ["Ann 5"]


@pytest.mark.parametrize(("own", "asks"), [(False, False), (True, True)])
async def test_a_name_in_interrupt_on_is_decided_by_the_interpreter(
    talk: Any, till: Till, own: bool, asks: bool
) -> None:
    sibling = HumanInTheLoopMiddleware({"pay": {"allowed_decisions": ["reject"]}})
    chat = talk(tools=[till.pay], ptc=["pay"], interrupt_on={"pay": own}, after=[sibling])
    found = (await chat.turn(PAY)).get("__interrupt__", [])
    allowed = [one.value["review_configs"][0]["allowed_decisions"] for one in found]
    assert allowed == ([["approve", "edit", "reject", "respond"]] if asks else [])
    assert till.paid == ([] if asks else ["Ann 50"])
    if asks:
        await chat.decide(APPROVE)
        assert till.paid == ["Ann 50"]


@per_call
@both
async def test_a_sibling_that_asks_about_each_call_asks_once(talk: Any, till: Till) -> None:
    sibling: Any = HumanInTheLoopMiddleware({"pay": True}, interrupt_mode="per_call")
    chat = talk(tools=[till.pay], ptc=["pay"], after=[sibling])
    (found,) = (await chat.turn(PAY))["__interrupt__"]
    assert found.value["type"] == "tool_approval"
    assert not till.paid
    result = await chat.send(Command(resume={found.id: APPROVE}))
    assert answer_of(result) == "<result>receipt Ann 50</result>"
    assert till.paid == ["Ann 50"]


@per_call
@pytest.mark.parametrize("own", [False, True])
async def test_a_call_is_not_asked_about_in_two_ways(talk: Any, till: Till, own: bool) -> None:
    sibling: Any = HumanInTheLoopMiddleware({"pay": True}, interrupt_mode="per_call")
    chat = talk(tools=[till.pay], ptc=["pay"], interrupt_on={"pay": own}, after=[sibling])
    with pytest.raises(ConfigurationError, match="name the tool in one of them"):
        await chat.turn(PAY)
    assert not till.paid


async def test_approvals_need_a_record(talk: Any, till: Till) -> None:
    sibling = HumanInTheLoopMiddleware({"pay": True, "other": True})
    chat = talk(tools=[till.pay], ptc=["pay"], durable=False, after=[sibling])
    wanted = r"asks for an approval of 'pay'.*durable=True.*interrupt_on=\{'pay': False\}"
    with pytest.raises(ConfigurationError, match=wanted):
        await chat.turn("1")
    harmless = HumanInTheLoopMiddleware({"other": True})
    chat = talk(tools=[till.pay], ptc=["pay"], durable=False, after=[harmless])
    assert await chat.run("1") == ["<result>1</result>"]


async def test_siblings_are_looked_up_once_for_each_agent(
    talk: Any, till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    find = agent_rules.middleware_of

    def count(nodes: Any) -> Any:
        looked.append(id(nodes))
        return find(nodes)

    monkeypatch.setattr(agent_rules, "middleware_of", count)
    chat = talk(tools=[till.pay], ptc=["pay"], after=[HumanInTheLoopMiddleware({"pay": True})])
    await chat.run("1", "2")
    await chat.run("3")
    assert len(looked) == 1
    free = create_agent(
        chat.model,
        tools=[till.pay],
        middleware=[chat.middleware],
        checkpointer=InMemorySaver(),
    )
    guarded, chat.agent = chat.agent, free
    assert await chat.run(PAY) == ["<result>receipt Ann 50</result>"]
    assert len({*looked}) == 2
    chat.agent = guarded
    assert (await chat.turn(PAY, thread="other"))["__interrupt__"]
    assert till.paid == ["Ann 50"]


# -- deep agents ---------------------------------------------------------------------------


def _says(*calls: tuple[str, dict[str, Any]]) -> FakeModel:
    messages = [
        AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"c{number}"}])
        for number, (name, args) in enumerate(calls)
    ]
    return FakeModel(messages=iter([*messages, AIMessage("done")]))


def test_interrupt_on_of_a_deep_agent_holds_for_code(till: Till) -> None:
    with CodeInterpreterMiddleware(ptc=["pay"]) as interpreter:
        agent = create_deep_agent(
            model=_says(("eval", {"code": PAY})),
            tools=[till.pay],
            middleware=[interpreter],
            interrupt_on={"pay": True},
            checkpointer=InMemorySaver(),
        )
        result = agent.invoke({"messages": [("user", "go")]}, CONFIG)
        assert result["__interrupt__"][0].value["action_requests"][0]["name"] == "pay"
        assert not till.paid
        agent.invoke(Command(resume={"decisions": [APPROVE]}), CONFIG)
        assert till.paid == ["Ann 50"]


def _helped(till: Till, helper: dict[str, Any], **options: Any) -> Any:
    """A deep agent that sends its only subagent."""
    described = {"name": "helper", "description": "Helps.", "system_prompt": "Help."}
    return create_deep_agent(
        tools=[till.pay],
        subagents=[{**described, **helper}],
        checkpointer=InMemorySaver(),
        **options,
    )


def test_interrupt_on_of_a_subagent_holds_for_its_code(till: Till) -> None:
    with CodeInterpreterMiddleware(ptc=["pay"]) as interpreter:
        agent = _helped(
            till,
            {
                "model": _says(("eval", {"code": PAY})),
                "tools": [till.pay],
                "middleware": [interpreter],
                "interrupt_on": {"pay": True},
            },
            model=_says(("task", {"description": "go", "subagent_type": "helper"})),
        )
        result = agent.invoke({"messages": [("user", "go")]}, CONFIG)
        assert result["__interrupt__"][0].value["action_requests"][0]["name"] == "pay"
        assert not till.paid
        agent.invoke(Command(resume={"decisions": [APPROVE]}), CONFIG)
        assert till.paid == ["Ann 50"]


def test_interrupt_on_of_a_deep_agent_holds_for_subagents_that_code_sends(till: Till) -> None:
    code = "await task({description: 'go', subagentType: 'helper'})"
    with CodeInterpreterMiddleware() as interpreter:
        agent = _helped(
            till,
            {"model": FakeModel(messages=iter([AIMessage("helped")])), "tools": []},
            model=_says(("eval", {"code": code})),
            middleware=[interpreter],
            interrupt_on={"task": True},
        )
        result = agent.invoke({"messages": [("user", "go")]}, CONFIG)
        assert result["__interrupt__"][0].value["action_requests"][0]["name"] == "task"
        done = agent.invoke(Command(resume={"decisions": [APPROVE]}), CONFIG)
        assert answer_of(done) == "<result>helped</result>"
