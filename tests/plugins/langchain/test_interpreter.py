"""The interpreter of one middleware: what it adds to calls of the model and to evals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from graph_tasks import tool_request
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from interpstack import ConfigurationError, SessionClosed
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_langchain.evals.eval_call import running_eval
from interpstack_langchain.interpreter import Interpreter, ModelCall
from interpstack_langchain.tools.native_calls import NativeCall, running_native_call

STATE: dict[str, Any] = {"messages": [HumanMessage("go", id="h1")]}
SERVER_TOOL = {"type": "web_search", "name": "web_search"}


@tool
def look() -> str:
    """Look."""
    return "seen"


@pytest.fixture
def make() -> Iterator[Any]:
    made: list[CodeInterpreterMiddleware] = []

    def interpreter(**given: Any) -> Interpreter:
        made.append(CodeInterpreterMiddleware(**given))
        return made[-1]._interpreter

    yield interpreter
    for middleware in made:
        middleware.stack.close()


def request(system: SystemMessage | None = None, tools: Any = (), **state: Any) -> Any:
    model = GenericFakeChatModel(messages=iter([]))
    given: Any = {**STATE, **state}
    return ModelRequest(
        model=model,
        messages=STATE["messages"],
        system_message=system,
        tools=list(tools),
        state=given,
    )


def called(found: Interpreter, given: Any) -> ModelCall:
    with found.model_call(given) as call:
        return call


# -- calls of the model --------------------------------------------------------------------


def test_the_prompt_comes_after_the_agent_s_own(make: Any) -> None:
    found = make()
    alone = called(found, request()).request.system_message
    assert alone is not None
    text = alone.content
    assert isinstance(text, str)
    assert "`eval`" in text
    plain = called(found, request(SystemMessage("Be brief."))).request.system_message
    assert plain is not None
    assert plain.content == f"Be brief.\n\n{text}"
    block = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    blocks = called(found, request(SystemMessage([block]))).request.system_message
    assert blocks is not None
    assert blocks.content == [block, {"type": "text", "text": f"\n\n{text}"}]


def test_the_model_has_all_tools_unless_they_are_left_to_code(make: Any) -> None:
    for options, names in (({}, ["eval", "look", "web_search"]), ({"tools_only": True}, ["eval"])):
        found = make(**options)
        given = request(tools=[*found.tools(), look, SERVER_TOOL])
        tools = called(found, given).request.tools
        assert [one["name"] if isinstance(one, dict) else one.name for one in tools] == names


def test_messages_without_images_are_passed_on_as_they_are(make: Any) -> None:
    given = request()
    assert called(make(), given).request.messages is given.messages


def test_a_response_is_passed_on_where_there_is_nothing_to_note(make: Any) -> None:
    response: ModelResponse[Any] = ModelResponse(result=[AIMessage("hi")])
    assert called(make(), request()).answered(response) is response


def test_counts_of_limits_leave_with_the_response(make: Any) -> None:
    found = make()
    counts = {"thread_tool_call_count": {"look": 2}}
    response: ModelResponse[Any] = ModelResponse(result=[AIMessage("hi")])
    answer = ModelCall(request(), None, {}, found.evals.channels, counts).answered(response)
    assert isinstance(answer, ExtendedModelResponse)
    assert answer.model_response is response
    assert answer.command is not None
    assert answer.command.update == counts


# -- calls of tools ------------------------------------------------------------------------


def test_a_call_that_only_code_may_make_is_refused(make: Any) -> None:
    request = tool_request("c", "look")
    assert make().direct_call(request) is request
    answer = make(tools_only=True).direct_call(request)
    assert (answer.status, answer.name, answer.tool_call_id) == ("error", "look", "c")
    assert "direct tool calls are disabled; use eval and" in answer.text


def test_a_call_that_code_of_another_interpreter_makes_is_not_refused(make: Any) -> None:
    found = make(tools_only=True)
    token = running_native_call.set(NativeCall("c"))
    try:
        request = tool_request("c", "look")
        assert found.direct_call(request) is request
        assert isinstance(found.direct_call(tool_request("d", "look")), ToolMessage)
    finally:
        running_native_call.reset(token)


async def nothing(given: Any) -> Any:
    raise AssertionError("no call was made")


def test_an_eval_runs_with_the_options_of_its_middleware(make: Any) -> None:
    found = make(tool_events=False, tool_errors="raise")
    given = tool_request()
    with found.eval_call(given, nothing, is_async=True) as running:
        assert running_eval.get() is running
        assert (running.tells_tools, running.raises) == (False, True)
        assert (running.request, running.name, running.cell) == (given, "a", None)
        assert running.store is None, "there is no checkpointer"
    assert running_eval.get(None) is None


def test_an_eval_that_raises_is_over(make: Any) -> None:
    def run() -> None:
        with make().eval_call(tool_request(), nothing, is_async=True):
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run()
    assert running_eval.get(None) is None


# -- the end -------------------------------------------------------------------------------


def test_the_state_is_seen_under_plain_names(make: Any) -> None:
    found = make(tool_name="js")
    name = found.evals.channels.own("interpreter_turn")
    assert name != "interpreter_turn"
    assert found.view({name: "t1", "messages": []})["interpreter_turn"] == "t1"


async def test_a_stack_of_its_own_is_closed_and_a_ready_one_is_not(make: Any) -> None:
    found = make()
    ready = make(stack=found.evals.stack)
    await ready.aclose()
    assert found.evals.stack.session("a").key == "a"
    await found.aclose()
    with pytest.raises(SessionClosed):
        found.evals.stack.session()


def test_a_tool_with_the_name_of_the_interpreter_is_refused(make: Any) -> None:
    found = make(tool_name="look")
    with pytest.raises(
        ConfigurationError, match=r"another tool named 'look'.*tool_name='run_code'"
    ):
        called(found, request(tools=[*found.tools(), look]))
    copied = [one.model_copy() for one in found.tools()]
    assert called(found, request(tools=copied)).request.tools == copied
