"""An agent whose code dispatches subagents with code of their own, all on one budget."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from scripted import Script

from interpstack_accounts.api import Budget
from interpstack_langchain import CodeInterpreterMiddleware

__all__ = ["spending_agent"]

#: What each call of a model uses.
_TOKENS = 10
_KID = """
const got = []
for (const n of [%d, %d])
  try { await tools.act({n, salt: 0}); got.push(n) } catch (e) { got.push(e.name) }
got.join()
"""
#: Evals of each subagent.
_STEPS = 3


class _Reporting(Script):
    """Runs the steps that it is told, and reports tokens."""

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        result = super()._generate(*args, **kwargs)
        _report(result.generations[0].message)
        return result


class _Kid(BaseChatModel):
    """Runs some code, whatever it is told; notes each time that it is called."""

    moment: Any
    append: Any
    folder: Path

    @property
    def _llm_type(self) -> str:
        return "kid"

    def bind_tools(self, tools: Any, **kwargs: Any) -> _Kid:
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        self.moment("model")
        found = next(m.text for m in messages if m.type == "human")
        self.append(self.folder / "models", json.dumps(found))
        done = sum(isinstance(m, AIMessage) for m in messages)
        self.moment("modelled")
        message = AIMessage("done")
        if done < _STEPS:
            code = _KID % (10 * done + 1, 10 * done + 2)
            call = {"name": "eval", "args": {"code": code}, "id": uuid.uuid4().hex}
            message = AIMessage("", tool_calls=[call])
        _report(message)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
        return self._generate(*args, **kwargs)


def _report(message: Any) -> None:
    message.usage_metadata = {
        "input_tokens": _TOKENS - 1,
        "output_tokens": 1,
        "total_tokens": _TOKENS,
    }


def spending_agent(job: Any, moment: Any, append: Any, act: Any, saver: Any) -> tuple[Any, Any]:
    """The job's agent, and what is to be closed at the end.

    Args:
        job: `budget` and `inner` are the arguments of the budgets.
        moment: Passes a moment.
        append: Adds a line to a file.
        act: The subagents' tool.
        saver: The checkpointer.
    """
    inner = None if job["inner"] is None else Budget(**job["inner"])
    outer = CodeInterpreterMiddleware(budget=Budget(**job["budget"]))
    kids = CodeInterpreterMiddleware(ptc=[act], budget=inner)
    agent = create_deep_agent(
        _Reporting(),
        middleware=[outer],
        subagents=[
            {
                "name": "kid",
                "description": "helps",
                "system_prompt": "",
                "model": _Kid(moment=moment, append=append, folder=Path(job["folder"])),
                "tools": [act],
                "middleware": [kids],
            }
        ],
        checkpointer=saver,
    )
    return agent, [outer, kids]
