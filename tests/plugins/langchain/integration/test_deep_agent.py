"""Calls from code of a deep agent, whose own middleware stands in front of the interpreter."""

from __future__ import annotations

from typing import Any

from deepagents import create_deep_agent
from deepagents.middleware.filesystem import FilesystemMiddleware
from fake_models import FakeModel
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from interpstack_langchain import CodeInterpreterMiddleware


@tool
def search() -> str:
    """Find far more than a model could read."""
    return "x" * 200_000


def _run(name: str, args: dict[str, Any], **options: Any) -> str:
    call = AIMessage("", tool_calls=[{"name": name, "args": args, "id": "1"}])
    model = FakeModel(messages=iter([call, AIMessage("done")]))
    agent = create_deep_agent(model=model, tools=[search], **options)
    messages = agent.invoke({"messages": [("user", "go")]})["messages"]
    return str(next(m.text for m in messages if m.type == "tool"))


def test_code_gets_a_long_answer_whole_and_the_model_does_not() -> None:
    with CodeInterpreterMiddleware(ptc=["search"]) as interpreter:
        found = _run("eval", {"code": "(await tools.search()).length"}, middleware=[interpreter])
    assert "200000" in found
    assert len(_run("search", {})) < 20_000


def test_a_subclass_that_guards_calls_is_not_left_out() -> None:
    seen: list[str] = []

    class Guard(FilesystemMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            seen.append(request.tool_call["name"])
            return super().wrap_tool_call(request, handler)

    guard = Guard()
    with CodeInterpreterMiddleware(ptc=["search"]) as interpreter:
        _run("eval", {"code": "await tools.search()"}, middleware=[guard, interpreter])
    assert seen == ["eval", "search"]


def test_other_middleware_in_front_sees_the_long_answer() -> None:
    lengths = []

    @wrap_tool_call
    def watch(request: Any, handler: Any) -> Any:
        answer = handler(request)
        lengths.append((request.tool_call["name"], len(answer.text)))
        return answer

    with CodeInterpreterMiddleware(ptc=["search"]) as interpreter:
        _run("eval", {"code": "await tools.search(); 1"}, middleware=[watch, interpreter])
    assert lengths[0] == ("search", 200_000)
