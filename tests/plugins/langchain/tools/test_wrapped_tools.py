"""Copies of tools that note the value of a call before it becomes a message."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from langchain.tools import ToolRuntime
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, Tool, tool
from pydantic import BaseModel, PrivateAttr

from interpstack_langchain.tools.native_calls import NativeCall, running_native_call
from interpstack_langchain.tools.wrapped_tools import (
    native_tool,
    with_native_tool,
    without_blocking_form,
    wraps_tool,
)


class Starts(BaseCallbackHandler):
    """Notes the inputs that tools start with."""

    def __init__(self) -> None:
        self.inputs: list[Any] = []

    def on_tool_start(self, serialized: Any, text: str, **kwargs: Any) -> None:
        self.inputs.append(kwargs["inputs"])


class Doubling(BaseTool):
    name: str = "double"
    description: str = "Double a number."

    def _run(self, number: int) -> dict[str, int]:
        return {"twice": 2 * number}


class Waiting(Doubling):
    async def _arun(self, number: int) -> dict[str, int]:
        return {"waited": 2 * number}


@tool
def look(where: str, config: RunnableConfig) -> list[str]:
    """Look at the configuration."""
    return [where, *sorted(config["configurable"])]


@pytest.fixture
def call() -> Iterator[NativeCall]:
    made = NativeCall("c")
    token = running_native_call.set(made)
    yield made
    running_native_call.reset(token)


def asked(name: str, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args, "id": "c", "type": "tool_call"}


def test_the_value_is_noted_and_the_message_is_the_tool_s_own(call: NativeCall) -> None:
    original, wrapped = Doubling(), native_tool(Doubling())
    answer = wrapped.invoke(asked("double", number=4))
    assert answer == original.invoke(asked("double", number=4))
    assert call.value == {"twice": 8}
    assert call.unchanged(answer)


async def test_an_async_form_of_its_own_is_used(call: NativeCall) -> None:
    await native_tool(Waiting()).ainvoke(asked("double", number=4))
    assert call.value == {"waited": 8}


async def test_a_tool_with_a_blocking_form_alone_runs_by_it(call: NativeCall) -> None:
    await native_tool(Doubling()).ainvoke(asked("double", number=4))
    assert call.value == {"twice": 8}


def test_a_copy_looks_like_its_tool() -> None:
    original, wrapped = Doubling(), native_tool(Doubling())
    assert isinstance(wrapped, Doubling)
    assert type(wrapped).__qualname__ == "Doubling"
    assert wrapped.args == original.args
    assert wrapped.get_input_schema().model_json_schema() == (
        original.get_input_schema().model_json_schema()
    )
    assert inspect.signature(wrapped._run) == inspect.signature(original._run)


class Counting(Doubling):
    _count: int = PrivateAttr(default=0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("description", "Look again."), ("tags", ["new"]), ("func", print), ("args_schema", None)],
)
def test_a_wrapped_tool_does_not_fit_a_changed_tool(name: str, value: Any) -> None:
    one = look.model_copy()
    wrapped = native_tool(one)
    assert wraps_tool(wrapped, one)
    assert not wraps_tool(wrapped, look)
    assert not wraps_tool(one, one)
    setattr(one, name, value)
    assert not wraps_tool(wrapped, one)


def test_a_wrapped_tool_does_not_fit_changed_private_attributes() -> None:
    counting = Counting()
    wrapped = native_tool(counting)
    assert wraps_tool(wrapped, counting)
    counting._count += 1
    assert not wraps_tool(wrapped, counting)


def test_copies_of_one_class_share_a_class() -> None:
    assert type(native_tool(Doubling())) is type(native_tool(Doubling()))
    assert type(native_tool(Doubling())) is not type(native_tool(Waiting()))


def test_a_wrong_input_is_refused_as_by_the_tool(call: NativeCall) -> None:
    for one in (look, native_tool(look)):
        with pytest.raises(ValueError, match="where\n  Field required"):
            one.invoke(asked("look", place="x"))
    assert not call.returned


def test_a_tool_that_raises_stop_iteration_names_it(call: NativeCall) -> None:
    def end() -> None:
        """End."""
        raise StopIteration("over")

    with pytest.raises(RuntimeError, match=r"the tool raised StopIteration\('over'\)"):
        native_tool(StructuredTool.from_function(end)).invoke(asked("end"))
    assert not call.returned


def test_a_call_that_was_abandoned_does_not_begin(call: NativeCall) -> None:
    call.leave()
    with pytest.raises(RuntimeError, match="was cancelled before this call began"):
        native_tool(Doubling()).invoke(asked("double", number=1))


def test_a_call_is_traced_below_its_eval_and_has_its_scope(call: NativeCall) -> None:
    starts = Starts()
    call.callbacks, call.configurable = [starts], {"scope": "call:1"}
    native_tool(look).invoke(asked("look", where="x"), {"configurable": {"thread_id": "t"}})
    assert call.value == ["x", "scope", "thread_id"]
    assert starts.inputs == [{"where": "x"}]


def test_callbacks_get_no_injected_arguments_however_often_the_tool_runs(call: NativeCall) -> None:
    @tool
    def pay(to: str, secret: Annotated[str, InjectedToolArg], euros: int = 1) -> str:
        """Pay somebody."""
        return f"{to} {secret} {euros}"

    starts = Starts()
    call.callbacks, wrapped = [starts], native_tool(pay)
    for args in ({"to": "Ann"}, {"to": "Bo"}, {"to": "Cy", "euros": 2}):
        wrapped.invoke(asked("pay", secret="s", **args))
    assert [sorted(one) for one in starts.inputs] == [["to"], ["to"], ["euros", "to"]]
    assert call.value == "Cy s 2"


def test_a_tool_with_a_method_of_its_own_reads_the_eval_s_configuration(call: NativeCall) -> None:
    class Own(Doubling):
        def invoke(self, given: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
            seen.append(ensure_config().get("metadata"))
            return super().invoke(given, config, **kwargs)

    from langchain_core.runnables.config import var_child_runnable_config

    seen: list[Any] = []
    config: RunnableConfig = {"metadata": {"run": 1}, "configurable": {}}
    token = var_child_runnable_config.set(config)
    try:
        native_tool(Own()).invoke(asked("double", number=1), config)
        assert var_child_runnable_config.get() is config, "it is back in its place"
    finally:
        var_child_runnable_config.reset(token)
    assert seen == [{"run": 1}]


def test_hints_that_cannot_be_resolved_are_left_to_langchain(call: NativeCall) -> None:
    def odd(number):  # type: ignore[no-untyped-def]
        return number + 1

    odd.__annotations__["number"] = "Missing"
    made = Tool(name="odd", description="Odd.", func=odd)
    wrapped = native_tool(made)
    assert isinstance(wrapped, Tool)
    assert wrapped.func is odd
    plain = native_tool(Tool(name="up", description="Up.", func=lambda text: text.upper()))
    assert plain.invoke(asked("up", text="a")).content == "A"


async def test_a_copy_without_the_blocking_form_runs_by_the_other(call: NativeCall) -> None:
    async def later(number: int) -> str:
        """Later."""
        return f"later {number}"

    def now(number: int) -> str:
        """Now."""
        return f"now {number}"

    wrapped = native_tool(StructuredTool.from_function(now, coroutine=later, name="both"))
    waits = without_blocking_form(wrapped)
    wrapped.invoke(asked("both", number=1))
    assert call.value == "now 1"
    waits.invoke(asked("both", number=2))
    assert call.value == "later 2"
    only = native_tool(StructuredTool.from_function(now))
    assert without_blocking_form(only) is only
    other = native_tool(Doubling())
    assert without_blocking_form(other) is other


def test_requests_whose_tool_middleware_replaced_get_a_copy(call: NativeCall) -> None:
    class Request:
        def __init__(self, tool: BaseTool | None) -> None:
            self.tool = tool

        def override(self, tool: BaseTool) -> Request:
            return Request(tool)

    unknown, given = Request(None), Request(native_tool(Doubling()))
    assert with_native_tool(unknown) is unknown  # type: ignore[arg-type, comparison-overlap]
    assert with_native_tool(given) is given  # type: ignore[arg-type, comparison-overlap]
    made: Any = with_native_tool(Request(Doubling()))  # type: ignore[arg-type]
    answer = made.tool.invoke(asked("double", number=3))
    assert isinstance(answer, ToolMessage)
    assert call.value == {"twice": 6}


def test_copies_know_the_injected_arguments_of_tools_with_a_schema_of_their_own() -> None:
    class Visible(BaseModel):
        key: str

    def look(runtime: ToolRuntime[Any, Any], key: str) -> str:
        return key

    tool = StructuredTool.from_function(
        look, description="Look.", args_schema=Visible, infer_schema=False
    )
    assert native_tool(tool)._injected_args_keys == tool._injected_args_keys == {"runtime"}
