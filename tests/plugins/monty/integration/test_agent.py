"""An agent with `CodeInterpreterMiddleware(engine="monty")`: a Python tool, all else the same."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from interpstack import InterpreterStack
from interpstack_langchain import CodeInterpreterMiddleware


class Scripted(BaseChatModel):
    """Runs the code it is given, then says what it was given."""

    codes: list[str]
    seen: list[Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Scripted:
        self.seen.append([getattr(t, "description", "") for t in tools])
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.seen.append(messages)
        if self.codes:
            call = {"name": "eval", "args": {"code": self.codes.pop(0)}, "id": uuid.uuid4().hex}
            message = AIMessage(content="", tool_calls=[call])
        else:
            message = AIMessage("done")
        return ChatResult(generations=[ChatGeneration(message=message)])


@tool
def look_up(word: str, times: int = 1) -> str:
    """Look a word up."""
    if word == "nothing":
        raise ValueError("no such word")
    return word * times


@pytest.fixture
def agents() -> Iterator[Callable[..., Any]]:
    made: list[CodeInterpreterMiddleware] = []

    def make(**options: Any) -> Any:
        middleware = CodeInterpreterMiddleware(engine="monty", **options)
        made.append(middleware)
        model = Scripted(codes=[], seen=[])
        helper = Scripted(codes=[], seen=[])
        agent = create_deep_agent(
            model,
            tools=[look_up],
            subagents=[
                {
                    "name": "reader",
                    "description": "Reads.",
                    "system_prompt": "Read.",
                    "model": helper,
                }
            ],
            middleware=[middleware],
            checkpointer=InMemorySaver(),
        )
        return agent, model

    yield make
    for middleware in made:
        middleware.stack.close()


async def answers_to(agent: Any, model: Scripted, *codes: str) -> list[str]:
    model.codes[:] = codes
    config = {"configurable": {"thread_id": "t"}}
    result = await agent.ainvoke({"messages": [("user", "go")]}, config)
    messages = result["messages"]
    last = max(i for i, m in enumerate(messages) if m.type == "human")
    return [m.text for m in messages[last:] if isinstance(m, ToolMessage)]


async def test_tools_subagents_and_state(agents: Callable[..., Any]) -> None:
    agent, model = agents(ptc=["look_up"])
    answers = await answers_to(
        agent,
        model,
        "import asyncio\n"
        "words = await asyncio.gather(*[tools.look_up(word=w, times=2) for w in 'abc'])\n"
        "def joined(): return '-'.join(words)\n"
        "print('found', len(words))\njoined()",
        "await task(description='read', subagent_type='reader')",
        "try:\n    await tools.look_up(word='nothing')\n"
        "except RuntimeError as error:\n    said = str(error)\nsaid",
        "await tools.look_up(text='a')",
    )
    assert answers[0] == "<stdout>\nfound 3\n</stdout>\n<result>aa-bb-cc</result>"
    assert answers[1] == "<result>done</result>"
    assert answers[2].startswith("<result>ToolError: ")
    assert "no such word" in answers[2]
    assert "does not match any known parameter" in answers[3]
    assert await answers_to(agent, model, "joined() + '!'") == ["<result>aa-bb-cc!</result>"]


async def test_the_model_reads_of_python(agents: Callable[..., Any]) -> None:
    agent, model = agents(ptc=["look_up"])
    await answers_to(agent, model, "1")
    described = "\n".join(
        text for item in model.seen if item and isinstance(item[0], str) for text in item
    )
    prompt = next(item[0].text for item in model.seen if item and isinstance(item[0], BaseMessage))
    assert "Run Python in a sandbox" in described
    assert "The `eval` tool runs Python in a sandbox" in prompt
    assert "async def look_up(*, word: str, times: int = 1)" in prompt
    assert "`await task(*, description, subagent_type, label=…, response_schema=…)`" in prompt
    assert "`yield`" in prompt
    assert "JavaScript" not in prompt + described
    assert "Promise" not in prompt


async def test_what_the_prompt_says_of_the_language_is_true() -> None:
    missing = {
        "`yield`": "def f(): yield 1",
        "`del`": "x = 1\ndel x",
        "`async for`": "async def f():\n    async for x in y: pass",
        "`async with`": "async def f():\n    async with x: pass",
        "classes that inherit": "class A: pass\nclass B(A): pass",
        "decorators on methods": "class A:\n    @property\n    def x(self): return 1",
        "`return_exceptions`": "import asyncio\nawait asyncio.gather(return_exceptions=True)",
        "`create_task`": "import asyncio\nasyncio.create_task",
    }
    with InterpreterStack("monty") as stack:
        text = stack.prompt()
        modules = text.partition("imported: ")[2].rstrip(".").split(", ")
        assert len(modules) > 15
        async with stack.session() as session:
            assert (await session.eval(f"import {', '.join(modules)}")).error is None
            for name, source in missing.items():
                assert name in text
                error = (await session.eval(source)).error
                assert error.name in ("NotImplementedError", "AttributeError")


def test_the_argument_says_python() -> None:
    middleware = CodeInterpreterMiddleware(engine="monty")
    (made,) = middleware.tools
    assert made.args["code"]["description"].startswith("Python to run.")
    middleware.stack.close()
    other = CodeInterpreterMiddleware()
    assert other.tools[0].args["code"]["description"].startswith("JavaScript to run.")
    other.stack.close()
