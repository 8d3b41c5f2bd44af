"""The tools by which a model continues and ends cells in the background."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
from pydantic import BaseModel, ConfigDict, Field

from interpstack import run_sync
from interpstack_langchain.evals.eval_tool import EvalTool

__all__ = ["TerminateTool", "WaitTool"]

#: The longest wait for one call of the tool, in seconds.
_MAX_SECONDS: Final = 3600


class WaitSchema(BaseModel):
    """Input of the tool that waits."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(description="Id of the running code.")
    seconds: float = Field(
        default=10.0, ge=0, le=_MAX_SECONDS, description="Seconds to wait at most."
    )


class TerminateSchema(BaseModel):
    """Input of the tool that terminates."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(description="Id of the running code.")


class WaitTool(EvalTool):
    """Continues a cell in the background; made by `CodeInterpreterMiddleware`."""

    args_schema: type[BaseModel] = WaitSchema

    @classmethod
    def of(cls, name: str, evaluate: Callable[..., Coroutine[Any, Any, Any]]) -> WaitTool:
        """The tool with this name."""
        described = (
            "Continue code that is still running, and get its result or, if it needs longer, its "
            "new output."
        )
        return cls.running(evaluate, name=name, description=described)

    def _run(  # type: ignore[override]
        self,
        id: str,  # noqa: A002 - the model's word
        seconds: float = 10.0,
        run_manager: CallbackManagerForToolRun | None = None,
    ) -> Any:
        return run_sync(self.evaluate(self.begin(run_manager), id, seconds))

    async def _arun(  # type: ignore[override]
        self,
        id: str,  # noqa: A002
        seconds: float = 10.0,
        run_manager: AsyncCallbackManagerForToolRun | None = None,
    ) -> Any:
        return await self.evaluate(self.begin(run_manager), id, seconds)


class TerminateTool(EvalTool):
    """Ends a cell in the background; made by `CodeInterpreterMiddleware`."""

    args_schema: type[BaseModel] = TerminateSchema

    @classmethod
    def of(cls, name: str, evaluate: Callable[..., Coroutine[Any, Any, Any]]) -> TerminateTool:
        """The tool with this name."""
        described = "End code that is still running, and cancel its calls."
        return cls.running(evaluate, name=name, description=described)

    def _run(
        self,
        id: str,  # noqa: A002 - the model's word
        run_manager: CallbackManagerForToolRun | None = None,
    ) -> Any:
        return run_sync(self._evaluate(id, self._running()))

    async def _arun(
        self,
        id: str,  # noqa: A002
        run_manager: AsyncCallbackManagerForToolRun | None = None,
    ) -> Any:
        return await self._evaluate(id, self._running())
