"""What agents written for langchain-quickjs rely on beside its arguments."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterable
from typing import Any, get_args

import pytest
from fake_models import FakeModel
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForToolRun
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, SystemMessage
from langchain_core.tools import BaseTool, StructuredTool, Tool, tool
from langgraph.types import interrupt
from pydantic import Field

import interpstack_langchain as package
from interpstack import ConfigurationError, HostOffer, InterpreterStack
from interpstack_accounts.api import Budget
from interpstack_langchain import CodeInterpreterMiddleware, PTCOption, SubagentStreamEvent
from interpstack_subagents.api import Subagents

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])


# -- tools ---------------------------------------------------------------------------------


@tool
async def only_async(x: int) -> int:
    """Add one."""
    await asyncio.sleep(0)
    return x + 1


@tool
async def ask_first(what: str) -> str:
    """Ask."""
    return f"{interrupt(what)}: {what}"


class AsyncClass(BaseTool):
    name: str = "async_class"
    description: str = "Double."
    loops: list[Any] = Field(default_factory=list)

    def _run(self, x: int, run_manager: CallbackManagerForToolRun | None = None) -> int:
        raise NotImplementedError("use the async form")

    async def _arun(self, x: int, run_manager: Any = None) -> int:
        self.loops.append(asyncio.get_running_loop())
        await run_manager.on_text("doubling")  # an async manager, as in an async graph
        return 2 * x


class Broken(BaseTool):
    """Has done something before it says that it cannot go on."""

    name: str = "broken"
    description: str = "Break."
    done: list[str] = Field(default_factory=list)

    def _run(self) -> str:
        self._effect()
        return ""

    def _effect(self) -> None:
        self.done.append("sync")
        raise NotImplementedError("half way")

    async def _arun(self) -> str:
        self.done.append("async")
        return "twice"


@both
async def test_tools_with_an_async_form_alone_run(talk: Any, use_async: bool) -> None:
    doubling = AsyncClass()
    chat = talk(tools=[only_async], ptc=["only_async", doubling])
    code = "[await tools.onlyAsync({x: 1}), await tools.asyncClass({x: 4}), await tools.asyncClass"
    assert await chat.run(f"{code}({{x: 5}})]") == ["<result>[2, 8, 10]</result>"]
    assert len(set(map(id, doubling.loops))) == 1  # what a tool keeps open stays usable


@both
async def test_a_tool_that_has_begun_is_not_begun_again(talk: Any, use_async: bool) -> None:
    broken = Broken()
    answer = (await talk(ptc=[broken]).run("await tools.broken()"))[0]
    assert ("twice" in answer) == use_async
    assert broken.done == (["async"] if use_async else ["sync"])


async def test_an_async_tool_may_interrupt_a_synchronous_agent(talk: Any) -> None:
    chat = talk(tools=[ask_first], ptc=["ask_first"])
    chat.use_async = False
    paused = await chat.turn("await tools.askFirst({what: 'x'})")
    assert [one.value for one in paused["__interrupt__"]] == ["x"]


async def _shout(text: str) -> str:
    return text.upper()


@both
@pytest.mark.parametrize("given", ["{tool_input: 'a'}", "{__arg1: 'a'}", "{q: 'a'}"])
async def test_tools_of_the_old_kind_work(talk: Any, use_async: bool, given: str) -> None:
    old = Tool(name="old", func=lambda q: f"got {q}", description="Get.")
    shout = Tool(name="shout", func=None, coroutine=_shout, description="Shout.")
    for chat in (talk(ptc=[old, shout]), talk(tools=[old, shout], ptc=["old", "shout"])):
        code = f"[await tools.old({given}), await tools.shout({given})]"
        assert await chat.run(code) == ['<result>["got a", "A"]</result>']
        assert "old(input: { tool_input: string })" in str(chat.model.seen[0][0].text)


async def test_a_tool_of_the_old_kind_takes_one_text(talk: Any) -> None:
    old = Tool(name="old", func=lambda q: f"got {q}", description="Get.")
    (answer,) = await talk(ptc=[old]).run("await tools.old({a: 'a', b: 'b'})")
    assert answer.startswith('<error type="ToolError">')


# -- arguments and names -------------------------------------------------------------------


def test_no_mode_is_the_default() -> None:
    assert CodeInterpreterMiddleware(mode=None).options.mode == "thread"


@pytest.mark.parametrize(
    "name", ["max_subagent_concurrency", "max_ptc_calls", "max_snapshot_bytes", "max_result_chars"]
)
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
def test_counts_are_positive_integers(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} takes a positive integer"):
        CodeInterpreterMiddleware(**{name: value})


def test_the_least_memory_is_reported_as_a_number() -> None:
    with pytest.raises(ConfigurationError, match="at least 4194304; got 1"):
        CodeInterpreterMiddleware(memory_limit=1)


@pytest.mark.parametrize(("name", "value"), [("timeout", "5"), ("mode", 3), ("ptc", 3)])
def test_a_wrong_type_is_a_wrong_value_and_a_type_error(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError):
        CodeInterpreterMiddleware(**{name: value})
    with pytest.raises(TypeError):
        CodeInterpreterMiddleware(**{name: value})


def test_the_public_names_of_the_peer_are_there() -> None:
    names = {
        "SUBAGENT_STREAM_EVENT_TYPE",
        "CodeInterpreterMiddleware",
        "PTCOption",
        "SubagentCompleteEvent",
        "SubagentErrorEvent",
        "SubagentStartEvent",
        "SubagentStreamEvent",
    }
    assert names <= set(package.__all__)
    assert package.SUBAGENT_STREAM_EVENT_TYPE == "subagent"
    assert len(get_args(SubagentStreamEvent)) == 3
    given: PTCOption = ["a", only_async]
    assert isinstance(given, Iterable)


# -- the tool ------------------------------------------------------------------------------


@pytest.mark.parametrize(("engine", "language"), [("quickjs", "javascript"), ("monty", "python")])
def test_the_tool_says_in_which_language_its_code_is(engine: str, language: str) -> None:
    middleware = CodeInterpreterMiddleware(engine=engine)
    assert middleware.tools[0].metadata == {"ls_code_input_language": language}
    middleware.stack.close()


async def test_a_deep_copy_of_the_tool_is_the_same_interpreter(talk: Any) -> None:
    chat = talk()
    (original,) = chat.middleware.tools
    for copied in (copy.deepcopy(original), original.model_copy(deep=True)):
        assert type(copied) is type(original)
        assert copied.metadata == original.metadata
        assert copied.metadata is not original.metadata
        assert copied.evals is original.evals
    assert copy.deepcopy({"tools": [original, original]})["tools"][0].name == "eval"
    chat.agent.nodes["tools"].bound._tools_by_name["eval"] = copy.deepcopy(original)
    assert await chat.run("6 * 7") == ["<result>42</result>"]


# -- hooks without a graph -----------------------------------------------------------------


@pytest.mark.parametrize("budget", [None, Budget(tokens=10)], ids=["plain", "budget"])
@pytest.mark.parametrize("mode", ["thread", "turn", "call"])
async def test_hooks_work_without_a_graph(mode: str, budget: Budget | None) -> None:
    from langchain.agents.middleware.types import ModelRequest, ModelResponse

    middleware = CodeInterpreterMiddleware(mode=mode, budget=budget, ptc=["only_async"])
    runtime: Any = None
    state: Any = {"messages": []}
    state |= middleware.before_agent(state, runtime) or {}
    state |= await middleware.abefore_agent(state, runtime) or {}
    model = GenericFakeChatModel(messages=iter([]))
    request = ModelRequest(
        model=model, messages=[], tools=[only_async], state=state, system_message=None
    )
    seen: list[SystemMessage | None] = []

    def answer(given: Any) -> ModelResponse[Any]:
        seen.append(given.system_message)
        return ModelResponse(result=[AIMessage("")])

    async def answer_later(given: Any) -> ModelResponse[Any]:
        return answer(given)

    middleware.wrap_model_call(request, answer)
    await middleware.awrap_model_call(request, answer_later)
    assert [("onlyAsync(" in str(message.text)) for message in seen if message] == [True, True]
    assert middleware.after_agent(state, runtime) is None
    assert await middleware.aafter_agent(state, runtime) is None
    middleware.stack.close()


@both
async def test_a_subclass_may_have_both_forms_of_a_hook(use_async: bool) -> None:
    class Counted(CodeInterpreterMiddleware):
        begun = 0

        def before_agent(self, state: Any, runtime: Any) -> Any:
            self.begun += 1
            return super().before_agent(state, runtime)

        async def abefore_agent(self, state: Any, runtime: Any) -> Any:
            self.begun += 1
            return await super().abefore_agent(state, runtime)

    middleware = Counted()
    model = FakeModel(messages=iter([AIMessage("done")]))
    agent = create_agent(model, middleware=[middleware])
    given: Any = {"messages": [("user", "go")]}
    await agent.ainvoke(given) if use_async else await asyncio.to_thread(agent.invoke, given)
    assert middleware.begun == 1
    middleware.close()


# -- calls that count, names that show, events ---------------------------------------------


def _turn(tools: Iterable[Any] = (), *, dispatch: Any = None) -> HostOffer:
    return HostOffer(tools=tools, parts=[] if dispatch is None else [Subagents(dispatch)])


@pytest.mark.engines("javascript")
async def test_tools_is_there_without_tools(talk: Any) -> None:
    chat = talk()
    code = "[typeof tools, Object.keys(tools), Object.isFrozen(tools), await tools.$search('')]"
    assert await chat.run(code) == ['<result>["object", [], true, []]</result>']


@pytest.mark.engines("javascript")
async def test_helpers_do_not_show_among_tools(talk: Any) -> None:
    chat = talk(ptc=[only_async])
    code = (
        "const found = []; for (const name in tools) found.push(name);"
        "[found, Object.keys({...tools}), JSON.stringify(tools), typeof tools.$search,"
        " await tools.$describe('onlyAsync')]"
    )
    (answer,) = await chat.run(code)
    assert answer.startswith('<result>[["onlyAsync"], ["onlyAsync"], "{}", "function"')
    assert "onlyAsync(input: { x: number })" in answer


@both
async def test_events_of_tools_can_be_turned_off(talk: Any, evals: Any, use_async: bool) -> None:
    for tool_events, expected in ((True, ["start", "complete"]), (False, [])):
        chat = talk(ptc=[only_async], tool_events=tool_events)
        chat.say([evals("await tools.onlyAsync({x: 1})")])
        given = {"messages": [("user", "go")]}
        config = {"configurable": {"thread_id": "t"}}
        stream = chat.agent.astream(given, config, stream_mode="custom")
        events = [event async for event in stream]
        assert [event["phase"] for event in events if event["type"] == "tool"] == expected


class Seen(BaseCallbackHandler):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def on_text(self, text: str, **kwargs: Any) -> None:
        self.texts.append(text)


async def test_callbacks_of_async_forms_are_the_calls(talk: Any) -> None:
    chat, seen = talk(ptc=[AsyncClass()]), Seen()
    chat.use_async = False
    config = {"configurable": {"thread_id": "t"}, "callbacks": [seen]}
    await chat.turn("await tools.asyncClass({x: 1})", config=config)
    assert seen.texts == ["doubling"]


def test_a_plain_stack_has_tools_too() -> None:
    with InterpreterStack("quickjs", ["ptc"]) as stack, stack.session() as session:
        session.bind(_turn())
        assert session.eval_sync("Object.keys(tools).length").text == "0"


def test_structured_tools_keep_their_schema() -> None:
    from interpstack_langchain.tools.wrapped_tools import native_tool

    made = StructuredTool.from_function(coroutine=_shout, name="s", description="S.")
    assert native_tool(made).get_input_schema() is made.get_input_schema()
