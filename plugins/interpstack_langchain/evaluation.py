"""The tool that takes the code, and the order in which evals of one model turn run."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field, PrivateAttr

from interpstack import run_sync
from interpstack_langchain.inner import EvalCall, running_eval

__all__ = ["CallOrder", "EvalSchema", "EvalTool"]


class EvalSchema(BaseModel):
    """Input of the eval tool."""

    code: str = Field(
        description="JavaScript to run. The value of the last expression is returned."
    )


class EvalTool(BaseTool):
    """Runs the model's code; made by `CodeInterpreterMiddleware`."""

    args_schema: type[BaseModel] = EvalSchema
    _evaluate: Callable[[str, EvalCall], Coroutine[Any, Any, Any]] = PrivateAttr()

    @classmethod
    def make(
        cls,
        name: str,
        description: str,
        evaluate: Callable[[str, EvalCall], Coroutine[Any, Any, Any]],
    ) -> EvalTool:
        tool = cls(name=name, description=description)
        tool._evaluate = evaluate
        return tool

    def _run(self, code: str, run_manager: CallbackManagerForToolRun | None = None) -> Any:
        running = self._running()
        running.callbacks = run_manager.get_child() if run_manager else None
        return run_sync(self._evaluate(code, running))

    async def _arun(
        self, code: str, run_manager: AsyncCallbackManagerForToolRun | None = None
    ) -> Any:
        running = self._running()
        running.callbacks = run_manager.get_child() if run_manager else None
        return await self._evaluate(code, running)

    def _running(self) -> EvalCall:
        running = running_eval.get(None)
        if running is None:
            raise RuntimeError(
                f"{self.name} runs inside an agent: pass its CodeInterpreterMiddleware to "
                "create_agent(middleware=[…]) instead of passing the tool alone"
            )
        return running


class CallOrder:
    """Lets evals of one model turn start in the order in which the model wrote them.

    They arrive in parallel. Each waits until the one before it has arrived, but not for ever: a
    call can have been rejected on its way here.
    """

    #: Seconds to wait for a call that does not come.
    GRACE_SECONDS = 0.25

    def __init__(self) -> None:
        self._arrived: OrderedDict[tuple[str, int], asyncio.Event] = OrderedDict()

    async def wait(self, call_id: str, messages: list[Any], tool_name: str) -> None:
        """Return once the evals before `call_id` in its message have arrived."""
        message = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
        calls = [c["id"] for c in message.tool_calls if c["name"] == tool_name] if message else []
        if message is None or call_id not in calls or len(calls) < 2:
            return
        index, turn = calls.index(call_id), f"{message.id}:{calls[0]}"
        answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
        if index and calls[index - 1] not in answered:
            try:
                await asyncio.wait_for(self._event(turn, index - 1).wait(), self.GRACE_SECONDS)
            except TimeoutError:
                self._event(turn, index - 1).set()
        self._event(turn, index).set()

    def _event(self, turn: str, index: int) -> asyncio.Event:
        event = self._arrived.setdefault((turn, index), asyncio.Event())
        while len(self._arrived) > 1024:
            self._arrived.popitem(last=False)
        return event
