"""The trace of README.md: one question, answered by calls of tools and by one block of code.

The agents have the same tools and the same scripted model, which does what a careful model would.
The tokens are those of all that the model reads, as LangChain's `count_tokens_approximately` counts
them: messages, the system prompt, and the descriptions of the tools.
"""

from __future__ import annotations

import json
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from interpstack_langchain import CodeInterpreterMiddleware

__all__ = ["CODE", "run"]

QUESTION = "Which customers owe us money, and how much in all?"
CUSTOMERS = {"c1": 0, "c2": 120, "c3": 0, "c4": 75, "c5": 410}
ANSWER = "c2, c4 and c5 owe 605 in all."
CODE = """const found = await tools.customers();
const owed = await Promise.all(found.map(async (id) => [id, (await tools.account({id})).owes]));
owed.filter(([, owes]) => owes > 0)"""


@tool
def customers() -> list[str]:
    """List the ids of all customers."""
    return list(CUSTOMERS)


@tool
def account(id: str) -> dict[str, Any]:  # noqa: A002 - as code names it
    """Get the account of a customer: what they owe, and their last 20 orders."""
    orders = [{"order": f"{id}-{n}", "total": 10 * n, "status": "shipped"} for n in range(20)]
    return {"id": id, "owes": CUSTOMERS[id], "orders": orders}


class Scripted(BaseChatModel):
    """Plays messages, and counts what it reads."""

    script: list[AIMessage]
    turns: int = 0
    tokens: int = 0
    tools: list[Any] = Field(default_factory=list)

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        self.tools = [convert_to_openai_tool(one) for one in tools]
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        described = [SystemMessage(json.dumps(one)) for one in self.tools]
        self.tokens += count_tokens_approximately([*described, *messages])
        self.turns += 1
        return ChatResult(generations=[ChatGeneration(message=self.script[self.turns - 1])])

    @property
    def _llm_type(self) -> str:
        return "scripted"


def _calls(*calls: tuple[str, dict[str, Any]]) -> AIMessage:
    """A message with these calls."""
    made = [{"name": name, "args": args, "id": f"{name} {args}"} for name, args in calls]
    return AIMessage("", tool_calls=made)


_ACCOUNTS = [("account", {"id": one}) for one in CUSTOMERS]
#: What the model says before its answer, by the way in which it works.
_WAYS = {
    "calls": [_calls(("customers", {})), *map(_calls, _ACCOUNTS)],
    "parallel calls": [_calls(("customers", {})), _calls(*_ACCOUNTS)],
    "code": [_calls(("eval", {"code": CODE}))],
}


def run(way: str) -> tuple[int, int, str]:
    """Model turns, tokens read, and the answer.

    Args:
        way: `calls`, one after another; `parallel calls`; or `code`.
    """
    by_code = way == "code"
    model = Scripted(script=[*_WAYS[way], AIMessage(ANSWER)])
    middleware = [CodeInterpreterMiddleware(ptc=["customers", "account"])] if by_code else []
    agent = create_agent(model, tools=[customers, account], middleware=middleware)
    messages = agent.invoke({"messages": [("user", QUESTION)]})["messages"]
    if by_code:
        assert '[["c2", 120], ["c4", 75], ["c5", 410]]' in messages[-2].text, messages[-2].text
    return model.turns, model.tokens, messages[-1].text
