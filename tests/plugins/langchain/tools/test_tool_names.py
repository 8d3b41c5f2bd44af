"""Names in `ptc` and `interrupt_on` are names of tools, or an error."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool

from interpstack import ConfigurationError
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_langchain.tools import tool_names
from interpstack_langchain.tools.tool_names import ToolNames

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])
paid: list[int] = []


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    paid.clear()


@tool
def pay(euros: int) -> str:
    """Pay."""
    paid.append(euros)
    return "paid"


@tool
def read_price(item: str) -> int:
    """Read a price."""
    return 3


class With(AgentMiddleware[Any, Any, Any]):
    """Brings tools, some of them from a turn on, or leaves some out."""

    def __init__(self, *tools: BaseTool, later: BaseTool | None = None, without: str = "") -> None:
        super().__init__()
        self.tools = list(tools)
        self.later, self.without, self.on = later, without, False

    def _changed(self, request: Any) -> Any:
        tools = [one for one in request.tools if one.name != self.without]
        if self.later is not None and self.on:
            tools.append(self.later)
        return request.override(tools=tools)

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(self._changed(request))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(self._changed(request))

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        is_later = self.later is not None and request.tool_call["name"] == self.later.name
        return handler(request.override(tool=self.later) if is_later else request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        is_later = self.later is not None and request.tool_call["name"] == self.later.name
        return await handler(request.override(tool=self.later) if is_later else request)


@pytest.mark.parametrize("name", ["Pay", "pay_", "payment", "PAY"])
@pytest.mark.parametrize("ptc", [["pay"], [pay]], ids=["name", "tool"])
def test_a_misspelt_name_that_needs_an_approval_names_the_nearest(name: str, ptc: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"interrupt_on names '{name}'.*mean 'pay'"):
        CodeInterpreterMiddleware(ptc=ptc, interrupt_on={name: True})


@pytest.mark.parametrize("wanted", [True, {"allowed_decisions": ["approve"]}])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("eval", {"ptc": ["pay"]}),
        ("eval", {"ptc": ["pay", "eval"]}),
        ("run", {"ptc": ["pay"], "tool_name": "run"}),
        ("read_price", {"ptc": ["pay"]}),
        ("later", {"ptc": ["pay"], "late_tools": ["later"]}),
        ("task", {"ptc": ["pay"], "subagents": False}),
    ],
)
def test_an_approval_that_could_never_be_asked_for_is_refused(
    name: str, arguments: Any, wanted: Any
) -> None:
    text = f"interrupt_on names '{name}', which code cannot call.*'pay'.*HumanInTheLoopMiddleware"
    with pytest.raises(ConfigurationError, match=text):
        CodeInterpreterMiddleware(**arguments, interrupt_on={name: wanted})


@pytest.mark.parametrize(
    ("name", "more", "takes"),
    [
        ("eval", {}, "the agent's own tools, and task."),
        ("task", {"subagents": False}, "the agent's own tools."),
    ],
)
def test_with_tools_only_the_message_does_not_list_tools_that_it_cannot_know(
    name: str, more: Any, takes: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"'{name}', which code .* It takes {takes} For"):
        CodeInterpreterMiddleware(tools_only=True, interrupt_on={name: True}, **more)


@both
@pytest.mark.parametrize("name", ["Pay", "pay_", "payment", "PAY", "transfer"])
async def test_no_call_runs_while_a_name_in_interrupt_on_is_wrong(
    talk: Any, use_async: bool, name: str
) -> None:
    chat = talk(tools=[pay], ptc=["pay"], interrupt_on={name: False})
    nearest = "it has: eval, pay" if name == "transfer" else "did you mean 'pay'"
    with pytest.raises(ConfigurationError, match=f"interrupt_on names '{name}'.*{nearest}"):
        await chat.turn("await tools.pay({euros: 5})")
    assert paid == []


@both
@pytest.mark.parametrize("name", ["readPrice", "read-price", "Read_Price", "reed_price"])
async def test_a_wrong_name_in_ptc_names_the_nearest(talk: Any, use_async: bool, name: str) -> None:
    chat = talk(tools=[pay, read_price], ptc=[name])
    with pytest.raises(ConfigurationError, match=f"ptc names '{name}'.*'read_price'"):
        await chat.turn("1")


async def test_another_spelling_shows_before_the_model_answers(talk: Any) -> None:
    chat = talk(tools=[pay], ptc=["Pay"])
    with pytest.raises(ConfigurationError, match="ptc names 'Pay'"):
        await chat.turn(AIMessage("no code at all"))
    assert chat.model.seen == []


@both
async def test_tools_of_other_middleware_are_known(talk: Any, use_async: bool) -> None:
    for where in ("before", "after"):
        chat = talk(**{where: [With(pay)]}, ptc=["pay"], interrupt_on={"pay": False})
        assert await chat.run("await tools.pay({euros: 5})") == ["<result>paid</result>"]


async def test_given_tools_and_task_may_need_approvals(talk: Any) -> None:
    chat = talk(ptc=[pay], interrupt_on={"pay": True, "task": True, "eval": False})
    paused = await chat.turn("await tools.pay({euros: 5})")
    (asked,) = paused["__interrupt__"]
    assert asked.value["action_requests"][0]["name"] == "pay"
    assert paid == []


@both
async def test_the_nearest_name_may_be_that_of_a_given_tool(talk: Any, use_async: bool) -> None:
    chat = talk(ptc=[pay], interrupt_on={"Pay": False})
    with pytest.raises(ConfigurationError, match=r"interrupt_on names 'Pay'.*did you mean 'pay'"):
        await chat.turn("await tools.pay({euros: 5})")
    assert paid == []


async def test_tools_that_the_model_alone_may_call_are_known(talk: Any) -> None:
    chat = talk(tools=[pay], interrupt_on={"pay": False})
    assert await chat.run("1") == ["<result>1</result>"]


@both
@pytest.mark.parametrize("where", ["before", "after"])
async def test_tools_left_out_of_a_turn_are_known(talk: Any, use_async: bool, where: str) -> None:
    chat = talk(
        tools=[pay, read_price], **{where: [With(without="pay")]}, ptc=["pay", "read_price"]
    )
    assert await chat.run("await tools.readPrice({item: 'x'})") == ["<result>3</result>"]


@both
async def test_tools_that_come_in_a_later_turn(talk: Any, use_async: bool) -> None:
    later = With(later=pay)
    chat = talk(
        before=[later],
        ptc=["pay"],
        interrupt_on={"pay": True},
        late_tools=["pay"],
    )
    assert await chat.run("typeof tools.pay") == ["<result>undefined</result>"]
    later.on = True
    paused = await chat.turn("await tools.pay({euros: 5})")
    assert len(paused["__interrupt__"]) == 1
    assert paid == []


async def test_a_tool_that_came_once_stays_known(talk: Any) -> None:
    later = With(later=pay)
    chat = talk(before=[later], ptc=["pay"])
    later.on = True
    assert await chat.run("await tools.pay({euros: 5})") == ["<result>paid</result>"]
    later.on = False
    assert await chat.run("typeof tools.pay") == ["<result>undefined</result>"]


def test_tools_of_the_provider_cannot_be_called_from_code() -> None:
    names = ToolNames.of(["web_search"], {"web_search": True}, ())
    names.see([{"type": "web_search_20250305", "name": "web_search"}])
    with pytest.raises(ConfigurationError, match="ptc names 'web_search'"):
        names.check([pay])
    ToolNames.of([], {"web_search": True}, ()).see([{"name": "web_search"}])


@pytest.mark.parametrize("late", ["pay", 7, None])
def test_late_tools_is_a_list(late: Any) -> None:
    with pytest.raises(ConfigurationError, match="late_tools takes a list of tool names"):
        CodeInterpreterMiddleware(late_tools=late)


def test_a_tool_that_is_given_may_be_named_as_well() -> None:
    names = ToolNames.of([pay, "pay", "read_price"], None, ())
    names.check([read_price])
    with pytest.raises(ConfigurationError, match="ptc names 'read_price'"):
        ToolNames.of([pay, "pay", "read_price"], None, ()).check([])


def test_spellings_are_compared_only_while_a_name_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each call of the model, and each eval, sees all tools of the agent."""
    compared: list[str] = []
    monkeypatch.setattr(tool_names, "bare", lambda name: compared.append(name) or name)
    names = ToolNames.of(["pay"], None, ())
    names.see([read_price])
    assert compared
    compared.clear()
    names.see([pay, read_price])
    names.check([pay, read_price])
    assert not compared
