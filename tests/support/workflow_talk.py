"""Agents with `WorkflowMiddleware`, whose models say what a test tells them to."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterator
from typing import Any

import attrs
from fake_models import FakeModel
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from interpstack_langchain.workflows import WorkflowMiddleware

__all__ = ["ASKS", "Readers", "Talk", "call", "run_of", "workflow"]


def workflow(body: str, name: str = "written", **meta: Any) -> str:
    """A workflow whose default export is an async function with this body."""

    text = json.dumps({"name": name, "description": f"does {name}", **meta})
    return (
        'import { sleep, ask, wait } from "workflow:extra";\n'
        f"export const meta = {text};\nexport default async (args) => {{ {body} }};\n"
    )


ASKS = workflow(
    "const notes = await agent('notes'); const ship = await ask('Ship?', {choices: ['yes', 'no']});"
    "return {notes, ship};"
)


def call(name: str, /, **args: Any) -> AIMessage:
    """A message of a model with one call."""
    made = {"name": name, "args": args, "id": uuid.uuid4().hex, "type": "tool_call"}
    return AIMessage("", tool_calls=[made])


def run_of(text: str) -> str:
    """The id of the run that an answer tells of."""
    return text.split()[1].rstrip(":")


class Readers:
    """An agent that echoes, fails or waits, as prompts say, and notes its calls."""

    def __init__(self) -> None:
        self.called: list[str] = []
        self.go = asyncio.Event()

    async def __call__(self, prompt: str) -> str:
        """Reads."""
        self.called.append(prompt)
        if prompt.startswith("fail"):
            raise ValueError(f"cannot {prompt}")
        while prompt.startswith("slow") and not self.go.is_set():  # noqa: ASYNC110 - any loop
            await asyncio.sleep(0.01)
        return f"echo: {prompt}"


@attrs.define
class Talk:
    """A conversation with an agent.

    Attributes:
        middleware: The middleware that is tested.
        use_async: Whether the graph is run with `ainvoke`.
        checkpointer: The checkpointer of the agent.
        others: Other middleware of the agent.
    """

    middleware: WorkflowMiddleware
    use_async: bool = True
    checkpointer: Any = attrs.field(factory=InMemorySaver)
    others: tuple[Any, ...] = ()
    seen: list[list[BaseMessage]] = attrs.field(factory=list)
    _said: list[AIMessage] = attrs.field(factory=list)
    agent: Any = None

    def __attrs_post_init__(self) -> None:
        said, seen = self._said, self.seen

        class Model(FakeModel):
            def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
                seen.append(messages)
                return super()._generate(messages, *args, **kwargs)

        def script() -> Iterator[AIMessage]:
            while True:
                yield said.pop(0)

        self.agent = create_agent(
            Model(messages=script(), disable_streaming=True),
            middleware=[self.middleware, *self.others],
            checkpointer=self.checkpointer,
        )

    async def send(self, given: Any, thread: str | None = "t") -> dict[str, Any]:
        """Run the graph; its state, with what it is interrupted by."""
        config: Any = {"configurable": {"thread_id": thread}} if thread is not None else {}
        if self.use_async:
            state: dict[str, Any] = await self.agent.ainvoke(given, config)
        else:
            state = await asyncio.to_thread(self.agent.invoke, given, config)
        return state

    async def turn(self, *said: AIMessage, thread: str | None = "t") -> dict[str, Any]:
        """One turn, in which the model says these messages, then ends."""
        self._said[:] = [*said, AIMessage("done")]
        return await self.send({"messages": [("user", "go")]}, thread)

    async def answers(self, *said: AIMessage, thread: str | None = "t") -> list[str]:
        """One turn; what the tools answered."""
        return _answers(await self.turn(*said, thread=thread))

    async def do(self, verb: str, /, thread: str | None = "t", **args: Any) -> str:
        """One turn with one call; what the tool answered."""
        return (await self.answers(call(f"workflow_{verb}", **args), thread=thread))[-1]

    async def resume(self, **answers: Any) -> dict[str, Any]:
        """Answer the questions of an interrupt, by their ids."""
        return await self.send(Command(resume={"answers": answers}))


def _answers(state: dict[str, Any]) -> list[str]:
    messages = state["messages"]
    last = max(at for at, one in enumerate(messages) if one.type == "human")
    return [one.text for one in messages[last:] if isinstance(one, ToolMessage)]
