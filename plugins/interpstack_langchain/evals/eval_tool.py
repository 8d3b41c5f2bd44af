"""The tool that takes the code, and what it shares with the interpreter's other tools."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from copy import deepcopy
from functools import cache, cached_property
from typing import Any, Final, Self

from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field, PrivateAttr, create_model

from interpstack import ConfigurationError, GuestLanguage, run_sync
from interpstack.checks import listed, shown
from interpstack_langchain.evals.eval_call import EvalCall, running_eval
from interpstack_langchain.evals.eval_runner import Evals
from interpstack_langchain.prompt import code_description

__all__ = ["EvalSchema", "EvalTool", "InterpreterTool", "check_own", "eval_schema"]


#: Where traces look for the language of a tool's code.
_LANGUAGE_KEY: Final = "ls_code_input_language"
#: Ignored arguments that a notice names.
_NAMES: Final = 5


class EvalSchema(BaseModel):
    """Input of the eval tool; other fields are ignored, as by its peer, and the answer says so."""

    code: str = Field(description=code_description("Code"))


class InterpreterTool(BaseTool):
    """One of the interpreter's own tools; made by `CodeInterpreterMiddleware`."""

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """A copy that uses the same interpreter, because agents copy their tools."""
        copied = self.model_copy()
        copied.metadata, copied.tags = deepcopy(self.metadata), deepcopy(self.tags)
        return copied

    @cached_property
    def _injected_args_keys(self) -> frozenset[str]:
        # LangChain would resolve the annotations of every new tool, and find none.
        return frozenset()

    def begin(
        self, manager: CallbackManagerForToolRun | AsyncCallbackManagerForToolRun | None
    ) -> EvalCall:
        """The eval that this call of the tool runs; its calls are traced below the tool's run.

        Args:
            manager: The callbacks of the tool's run.

        Raises:
            RuntimeError: The tool is not called as one of an agent's own.
        """
        running = self.running()
        running.trace_with(manager.get_child() if manager else None)
        return running

    def running(self) -> EvalCall:
        """The eval that this call of the tool runs.

        Raises:
            RuntimeError: The tool is not called as one of an agent's own.
        """
        running = running_eval.get(None)
        if running is None:
            raise RuntimeError(
                f"{self.name} runs inside an agent: pass its CodeInterpreterMiddleware to "
                "create_agent(middleware=[…]) instead of passing the tool alone"
            )
        if running.request.tool_call["name"] != self.name:
            raise RuntimeError(
                f"{self.name} cannot be called from code of {running.request.tool_call['name']}: "
                "its middleware is not among the agent's"
            )
        if self.name in running.around:
            raise RuntimeError(
                f"{self.name} cannot be called from its own code, not even through another "
                "interpreter: it would wait for itself"
            )
        return running


class EvalTool(InterpreterTool):
    """Runs the model's code; made by `CodeInterpreterMiddleware`."""

    args_schema: type[BaseModel] = EvalSchema
    _evals: Evals = PrivateAttr()

    @classmethod
    def of(cls, evals: Evals, language: GuestLanguage, **fields: Any) -> Self:
        """A tool that runs code of an interpreter.

        Args:
            evals: Runs the code.
            language: The guest language.
            fields: Fields of the tool, such as `name` and `description`.
        """
        tool = cls(metadata={_LANGUAGE_KEY: language.name}, **fields)
        tool._evals = evals
        return tool

    @property
    def evals(self) -> Evals:
        """The evals of the interpreter."""
        return self._evals

    def _run(self, code: str, run_manager: CallbackManagerForToolRun | None = None) -> Any:
        return run_sync(self.evals.run(code, self._begin_code(run_manager)))

    async def _arun(
        self, code: str, run_manager: AsyncCallbackManagerForToolRun | None = None
    ) -> Any:
        return await self.evals.run(code, self._begin_code(run_manager))

    def _begin_code(
        self, manager: CallbackManagerForToolRun | AsyncCallbackManagerForToolRun | None
    ) -> EvalCall:
        """Begin an eval whose input may have more fields, which its answer names as ignored."""
        running = self.begin(manager)
        takes = self.args_schema.model_fields
        ignored = [name for name in running.request.tool_call["args"] if name not in takes]
        if ignored:
            running.give_notice(
                f"Ignored arguments: {listed(ignored, _NAMES, shown)}. {self.name} takes: "
                f"{', '.join(takes)}."
            )
        return running


def check_own(tools: Iterable[BaseTool], names: Collection[str]) -> None:
    """Refuse a tool of the agent that takes the place of one of the interpreter's own.

    Args:
        tools: The tools of a model's call.
        names: Names of the interpreter's own tools.

    Raises:
        ConfigurationError: Another tool has one of the names, so the agent would run that one.
    """
    for tool in tools:
        if tool.name in names and not isinstance(tool, InterpreterTool):
            raise ConfigurationError(
                f"the agent has another tool named {tool.name!r}, which takes the place of the "
                "interpreter's; give one of the two another name, as with tool_name='run_code'"
            )


@cache
def eval_schema(language: str) -> type[BaseModel]:
    """The tool's input, with the title of the engine's language in its description."""
    code: Any = (str, Field(description=code_description(language)))
    return create_model("EvalSchema", __base__=EvalSchema, code=code)
