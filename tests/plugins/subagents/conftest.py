"""Real deep agents: the model runs code, the code dispatches subagents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from deepagents import create_deep_agent
from engines import OnEngine
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from interpstack_langchain import CodeInterpreterMiddleware

EVAL = "eval-1"

Reply = Callable[[list[BaseMessage], list[str]], Any]


class ScriptedModel(BaseChatModel):
    """Answers with a function of the messages and of the names of its tools."""

    reply: Any
    names: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedModel:
        return ScriptedModel(reply=self.reply, names=[_name(tool) for tool in tools])

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        answer = self.reply(messages, self.names)
        if asyncio.iscoroutine(answer):
            answer = asyncio.run(answer)
        return _result(answer)

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        answer = self.reply(messages, self.names)
        return _result(await answer if asyncio.iscoroutine(answer) else answer)


def _result(answer: Any) -> ChatResult:
    message = AIMessage(content=answer) if isinstance(answer, str) else answer
    return ChatResult(generations=[ChatGeneration(message=message)])


def _name(tool: Any) -> str:
    if isinstance(tool, dict):
        return str(tool.get("name") or tool.get("title") or tool["function"]["name"])
    return str(getattr(tool, "name", None) or tool.__name__)


@attrs.define
class Crew:
    """A deep agent whose model runs one piece of code, then says that it is done."""

    agent: Any
    script: dict[str, str]
    events: list[dict[str, Any]] = attrs.field(factory=list)
    state: dict[str, Any] = attrs.field(factory=dict)
    prompts: list[str] = attrs.field(factory=list)

    async def run(self, code: str, use_async: bool = True, thread: str = "t", given: Any = None):
        """Run code in one turn; what the model reads of it. Notes events and the state."""
        self.script["code"] = code
        config = {"configurable": {"thread_id": thread}}
        given = given or {"messages": [HumanMessage("go")]}
        modes = ["custom", "values"]
        if use_async:
            stream = self.agent.astream(given, config, stream_mode=modes)
            parts = [part async for part in stream]
        else:
            parts = await asyncio.to_thread(
                lambda: list(self.agent.stream(given, config, stream_mode=modes))
            )
        self.events = [value for mode, value in parts if mode == "custom"]
        self.state = parts[-1][1]
        return self.answer()

    def answer(self) -> str:
        """What the last eval answered."""
        found = [m for m in self.state["messages"] if isinstance(m, ToolMessage)]
        return found[-1].text if found else ""


@attrs.define
class Crews:
    """Makes crews, and what they are made of."""

    engine: str = "quickjs"
    made: list[CodeInterpreterMiddleware] = attrs.field(factory=list)

    def __call__(self, *subagents: Any, agent_options: Any = None, **options: Any) -> Crew:
        middleware = CodeInterpreterMiddleware(**{"engine": self.engine, **options})
        self.made.append(middleware)
        script = {"code": ""}
        prompts: list[str] = []

        def reply(messages: list[BaseMessage], names: list[str]) -> Any:
            prompts.append(messages[0].text)
            if isinstance(messages[-1], HumanMessage):
                return self.calls("eval", {"code": script["code"]}, EVAL)
            return "done"

        agent = create_deep_agent(
            ScriptedModel(reply=reply),
            subagents=list(subagents) or [self.kid()],
            middleware=[middleware],
            **{"checkpointer": InMemorySaver(), **(agent_options or {})},
        )
        return Crew(agent, script, prompts=prompts)

    def kid(self, reply: Reply | None = None, name: str = "kid", **spec: Any) -> dict[str, Any]:
        """A declarative subagent that answers with `reply`, or repeats what it was asked."""
        model = ScriptedModel(reply=reply or (lambda messages, names: f"re: {messages[-1].text}"))
        return {"name": name, "description": "helps", "model": model, "tools": [], **spec}

    def calls(self, name: str, args: dict[str, Any], call_id: str = "call-1") -> AIMessage:
        """A model's message that calls one tool."""
        call = {"name": name, "args": args, "id": call_id, "type": "tool_call"}
        return AIMessage(content="", tool_calls=[call])


@pytest.fixture
def crews(on_engine: OnEngine) -> Iterator[Crews]:
    """Makes crews; closes what they opened."""
    found = Crews(on_engine.name)
    yield found
    for middleware in found.made:
        middleware.stack.close()
