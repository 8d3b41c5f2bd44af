"""`JsReplMiddleware` with cells in the background, on Node."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command

from interpstack_langchain import BackgroundOptions

GIF = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
THREAD: Any = {"configurable": {"thread_id": "t"}}


@attrs.define(eq=False)
class Office:
    """Tools that count what they do."""

    begun: list[int] = attrs.field(factory=list)
    cancelled: list[int] = attrs.field(factory=list)
    paid: int = 0
    go: asyncio.Event = attrs.field(factory=asyncio.Event)

    @property
    def tools(self) -> list[Any]:
        @tool
        async def slow(n: int) -> int:
            """Take long."""
            self.begun.append(n)
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                self.cancelled.append(n)
                raise
            return n

        @tool
        async def pay() -> str:
            """Pay."""
            self.paid += 1
            return "paid"

        return [slow, pay]


@pytest.fixture
def office() -> Office:
    return Office()


@pytest.fixture
def chat(repl: Callable[..., Any], office: Office) -> Callable[..., Any]:
    def make(seconds: float = 0.2, **options: Any) -> Any:
        return repl(tools=office.tools, background=BackgroundOptions(seconds), **options)

    return make


def tool_call(name: str, text: str, **args: Any) -> dict[str, Any]:
    """A call that names the cell of an answer."""
    found = re.search(r'<running id="(\w+)">', text)
    assert found, text
    args["id"] = found[1]
    return {"name": name, "args": args, "id": f"{name}-{len(text)}", "type": "tool_call"}


async def ended(agent: Any, code: str) -> str:
    """The answer of a cell that no tool keeps; on a busy machine it, too, is put aside."""
    (text,) = await agent.run(code)
    while text.startswith("<running"):
        (text,) = await agent.run(tool_call("wait", text, seconds=60))
    return str(text)


async def test_a_cell_is_suspended_and_continued(chat: Any, office: Office) -> None:
    agent = chat()
    await ended(agent, "const one = 1; const double = n => 2 * n")
    (first,) = await agent.run(
        "console.log('begun'); const n = await codex.tool('slow', {n: 1}); double(n) + one"
    )
    assert first.startswith("<stdout>\nbegun\n</stdout>\n<running id=")
    assert "Call wait(" in first
    office.go.set()
    (said,) = await agent.run(tool_call("wait", first, seconds=60))
    assert said == "<result>3</result>"
    assert office.begun == [1]
    assert await ended(agent, "double(n) + one") == "<result>3</result>"


async def test_functions_stay_while_no_cell_is_suspended(chat: Any, office: Office) -> None:
    agent = chat(seconds=60)
    office.go.set()
    assert (await agent.run("const double = n => 2 * n", "await codex.tool('slow', {n: 1})"))[
        1
    ] == "<result>1</result>"
    assert await agent.run("double(2)") == ["<result>4</result>"]


async def test_a_cell_is_terminated(chat: Any, office: Office) -> None:
    agent = chat()
    await ended(agent, "let total = 40")
    (first,) = await agent.run("total += await codex.tool('slow', {n: 1})")
    (said,) = await agent.run(tool_call("terminate", first))
    assert "it was terminated; its changes to variables are undone" in said
    assert (office.begun, office.cancelled) == ([1], [1])
    assert (await ended(agent, "total")).endswith("<result>40</result>")


async def test_an_approval_inside_is_asked_by_the_wait_that_reaches_it(
    chat: Any, office: Office
) -> None:
    agent = chat(interrupt_on={"pay": True})
    (first,) = await agent.run(
        "const n = await codex.tool('slow', {n: 1}); n + (await codex.tool('pay', {}))"
    )
    office.go.set()
    result = await agent.turn(tool_call("wait", first, seconds=60))
    (question,) = result["__interrupt__"]
    assert question.value["action_requests"][0]["name"] == "pay"
    assert office.paid == 0
    resume: Any = Command(resume={"decisions": [{"type": "approve"}]})
    messages = (await agent.agent.ainvoke(resume, THREAD))["messages"]
    last = [message for message in messages if isinstance(message, ToolMessage)][-1]
    assert last.text == "<result>1paid</result>"
    assert (office.begun, office.paid) == ([1], 1)


async def test_an_image_comes_once_with_the_time_slice_that_emits_it(
    chat: Any, office: Office
) -> None:
    agent = chat()
    code = f"await codex.emitImage('{GIF}'); await codex.tool('slow', {{n: 1}})"
    answers = await agent.messages(code)
    text = answers[0].text
    while not office.begun:  # a busy machine needs several looks
        answers += await agent.messages(tool_call("wait", text, seconds=0.5))
    blocks = [block for one in answers if isinstance(one.content, list) for block in one.content]
    assert [block["type"] for block in blocks] == ["text", "image"]
    office.go.set()
    (last,) = await agent.messages(tool_call("wait", text, seconds=60))
    assert last.content == "<result>1</result>"
