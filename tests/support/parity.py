"""What the tests beside langchain-quickjs share: tools, a subagent, a model.

`docs/reference/compared.md` names these tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.types import interrupt
from pydantic import BaseModel

Talk = Callable[..., Any]


def result(text: str) -> str:
    return f"<result>{text}</result>"


async def system_prompt(agent: Any) -> str:
    await agent.run("1")
    return str(agent.model.seen[0][0].text)


@tool
async def echo(text: str, times: int = 1) -> str:
    """Return the text.

    Args:
        text: What to return.
        times: How often.
    """
    return text * times


@tool
async def fail() -> str:
    """Fail."""
    raise RuntimeError("it failed")


class Row(BaseModel):
    """A row."""

    id: int
    tags: list[str]


@tool
async def find_rows(limit: int) -> list[Row]:
    """Find rows."""
    return [Row(id=n, tags=["t"]) for n in range(limit)]


def scripted_once(code: str) -> Any:
    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    call = {"name": "eval", "args": {"code": code}, "id": "1", "type": "tool_call"}
    return Model(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))


async def respond(state: Any) -> Any:
    asked = state["messages"][-1].text
    if asked == "fail":
        raise RuntimeError("helper is out")
    return {"messages": [*state["messages"], AIMessage(f"did {asked}")]}


HELPER: dict[str, Any] = {
    "name": "helper",
    "description": "Helps.",
    "runnable": RunnableLambda(respond),
}


@tool
async def ask_first(what: str) -> str:
    """Ask before doing something."""
    return f"{interrupt({'may I': what})}: {what}"
