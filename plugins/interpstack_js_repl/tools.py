"""The tools `js_repl` and `js_repl_reset`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar

from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.tools import BaseTool, ToolException
from pydantic import BaseModel, ConfigDict, Field, create_model

from interpstack import EngineUnavailable, GuestLanguage, run_sync
from interpstack_js_repl.freeform import as_custom_tool, raw_text, with_custom_answers
from interpstack_js_repl.inputs import InputFault, check_fields, read_input
from interpstack_js_repl.prompt import DESCRIPTION, RESET_DESCRIPTION, JsReplShown
from interpstack_langchain.api import EvalCall, Evals, EvalTool, Options, Surface

__all__ = ["JsReplSurface", "JsReplTool", "ResetTool"]


class JsReplInput(BaseModel):
    """Input of the tool `js_repl`, where the model cannot send raw text."""

    model_config = ConfigDict(extra="forbid")

    code: str = Field(description="JavaScript source text, without JSON, quotes or code fences.")
    timeout_ms: int | None = Field(
        default=None, description="Milliseconds that the cell may take, waiting included."
    )


class ResetInput(BaseModel):
    """Input of the tool that starts the REPL anew: none."""

    model_config = ConfigDict(extra="forbid")


@cache
def _closed(schema: type[BaseModel], name: str, description: str) -> type[BaseModel]:
    """A tool's input that says that there are no other fields; LangChain's own copy drops that."""
    return create_model(name, __base__=schema, __doc__=description)


class JsReplTool(EvalTool):
    """Runs the model's source text; made by `JsReplMiddleware`."""

    args_schema: type[BaseModel] = JsReplInput
    handle_tool_error: bool = True
    #: Time of a cell whose input names none.
    cell_seconds: float = 30.0

    def _parse_input(self, tool_input: Any, tool_call_id: str | None) -> Any:
        raw = raw_text(tool_input)
        given = tool_input if raw is None else {"code": raw}
        try:
            check_fields(given, tool=self.name)
        except InputFault as fault:
            raise ToolException(str(fault)) from None
        return super()._parse_input(given, tool_call_id)

    @property
    def tool_call_schema(self) -> type[BaseModel]:
        """The input as models get it."""
        return _closed(self.args_schema, self.name, self.description)

    def _run(  # type: ignore[override]
        self,
        code: str,
        timeout_ms: int | None = None,
        run_manager: CallbackManagerForToolRun | None = None,
    ) -> Any:
        return run_sync(self._answer(code, timeout_ms, run_manager))

    async def _arun(  # type: ignore[override]
        self,
        code: str,
        timeout_ms: int | None = None,
        run_manager: AsyncCallbackManagerForToolRun | None = None,
    ) -> Any:
        return await self._answer(code, timeout_ms, run_manager)

    async def _answer(
        self,
        code: str,
        timeout_ms: int | None,
        manager: CallbackManagerForToolRun | AsyncCallbackManagerForToolRun | None,
    ) -> Any:
        running = self.begin(manager)
        try:
            given = read_input(code, timeout_ms, tool=self.name)
        except InputFault as fault:
            raise ToolException(str(fault)) from None
        seconds = self.cell_seconds if given.timeout_ms is None else given.timeout_ms / 1000
        running.limit_wall(seconds)
        return await _run(self.evals, given.source, running)


class ResetTool(EvalTool):
    """Starts the REPL anew; made by `JsReplMiddleware`."""

    args_schema: type[BaseModel] = ResetInput
    handle_tool_error: bool = True
    #: Answer to the model.
    answer: str

    @property
    def tool_call_schema(self) -> type[BaseModel]:
        """The input as models get it."""
        return _closed(self.args_schema, self.name, self.description)

    def _run(self, run_manager: CallbackManagerForToolRun | None = None) -> Any:  # type: ignore[override]
        return run_sync(self._reset(run_manager))

    async def _arun(self, run_manager: AsyncCallbackManagerForToolRun | None = None) -> Any:  # type: ignore[override]
        return await self._reset(run_manager)

    async def _reset(
        self, manager: CallbackManagerForToolRun | AsyncCallbackManagerForToolRun | None
    ) -> Any:
        running = self.begin(manager)
        given = running.request.tool_call["args"]
        if given:
            raise ToolException(f"{self.name} takes no arguments; got: {', '.join(given)[:100]}")
        message = await _run(self.evals, "", running, fresh=True)
        if message.status == "error":
            return message
        return message.model_copy(update={"content": self.answer})


async def _run(evals: Evals, code: str, running: EvalCall, *, fresh: bool = False) -> ToolMessage:
    """Run code; without an engine, the answer of each call says what was tried.

    Raises:
        ToolException: This machine lacks the engine's program.
    """
    try:
        return await evals.run(code, running, fresh=fresh)
    except EngineUnavailable as error:
        raise ToolException(str(error)) from error


class JsReplSurface(Surface):
    """The two tools, and their words.

    Args:
        tool_name: Name of the tool that takes source text.
        namespace: Name of the global that has the helpers.
        seconds: Time of a cell whose input names none.
        freeform: Says whether a model takes custom tools, whose input is raw text.
    """

    calls_every_tool: ClassVar[bool] = True

    def __init__(
        self,
        tool_name: str,
        namespace: str,
        seconds: float,
        freeform: Callable[[BaseChatModel], bool],
    ) -> None:
        super().__init__(tool_name)
        self._namespace, self._seconds, self._freeform = namespace, seconds, freeform

    @property
    def names(self) -> tuple[str, ...]:
        return (self.tool_name, f"{self.tool_name}_reset")

    def tools(self, evals: Evals, language: GuestLanguage) -> list[BaseTool]:
        name, reset = self.names
        return [
            JsReplTool.of(
                evals, language, name=name, description=DESCRIPTION, cell_seconds=self._seconds
            ),
            ResetTool.of(
                evals,
                language,
                name=reset,
                description=RESET_DESCRIPTION,
                answer=f"{name} kernel reset",
            ),
        ]

    def part(self, options: Options, lifetime: str) -> object:
        return JsReplShown(
            options=options,
            lifetime=lifetime,
            namespace=self._namespace,
            reset=self.names[1],
            seconds=self._seconds,
        )

    def for_model(self, tools: Sequence[Any], model: BaseChatModel) -> list[Any]:
        if not self._freeform(model):
            return list(tools)
        return [as_custom_tool(tool) if isinstance(tool, JsReplTool) else tool for tool in tools]

    def messages(
        self, messages: Sequence[AnyMessage], model: BaseChatModel
    ) -> Sequence[AnyMessage]:
        return with_custom_answers(messages) if self._freeform(model) else messages

    def refusal(self, language: GuestLanguage) -> str:
        return (
            f"direct tool calls are disabled; use {self.tool_name} and {self._namespace}.tool(...) "
            "instead"
        )
