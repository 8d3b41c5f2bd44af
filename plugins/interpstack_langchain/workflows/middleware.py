"""`WorkflowMiddleware`: an agent writes, checks, starts and follows workflows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Self, TypeVar, Unpack

import attrs
from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse

from interpstack import run_sync
from interpstack_langchain.prompt import with_section
from interpstack_langchain.workflows.by_models.handlers import WorkflowHandlers
from interpstack_langchain.workflows.by_models.options import Decider, WorkflowOptions
from interpstack_langchain.workflows.by_models.owning_loop import OwningLoop
from interpstack_langchain.workflows.by_models.prompt import section
from interpstack_langchain.workflows.runner_options import (
    RunnerOptions,
    check_ready,
    check_runner_options,
    runner_maker,
)
from interpstack_langchain.workflows.tools import workflow_tools
from interpstack_workflows.api import (
    BudgetLimits,
    WorkflowRunner,
    open_store,
)

__all__ = ["WorkflowMiddleware"]

_T = TypeVar("_T")
_PREFIX = "workflow_"


class WorkflowMiddleware(AgentMiddleware[Any, Any, Any]):
    """Middleware that gives an agent tools for workflows of other agents.

    ```python
    workflows = WorkflowMiddleware(agents={"reader": reader}, store="runs.db")
    agent = create_agent(model, middleware=[workflows])
    ```

    Args:
        runner: The runner of the workflows, which the middleware does not close. Without one, the
            middleware makes a runner from `runner_options`.
        tool_prefix: The beginning of the tools' names.
        budget: The most that one run may use: a number of tokens, a mapping by kind, or
            `BudgetLimits`. A run that the model starts with a larger budget is refused.
        wall_seconds: Seconds that one run may take, including its waits; `None` for no limit.
        max_running: Runs of one conversation that may be at work, or wait, at once.
        max_source_chars: Characters of a source, and of arguments.
        max_result_chars: Characters of a result that the model reads at once.
        max_prompt_chars: Characters of the text in the system prompt.
        max_wait_seconds: Seconds that one call of a tool may wait for a run.
        writes: Whether the model may write workflows, or only start known ones.
        questions: Who answers the questions of workflows: the `host`, by way of `use`; a person,
            by an `interrupt` of the agent; or the `model`.
        approvals: Who decides on the approvals that agents of workflows ask for; values as for
            `questions`.
        signals: Whether the model may send signals.
        runner_options: Arguments of the runner that the middleware makes, such as `agents`,
            `store`, `workflows` and `sandboxes`; see `WorkflowRunner`.

    Raises:
        ConfigurationError: An argument has a wrong value.
    """

    def __init__(
        self,
        runner: WorkflowRunner | None = None,
        *,
        tool_prefix: str = _PREFIX,
        budget: BudgetLimits | Mapping[str, Any] | int | None = None,
        wall_seconds: float | None = None,
        max_running: int = 4,
        max_source_chars: int = 65_536,
        max_result_chars: int = 4000,
        max_prompt_chars: int = 6000,
        max_wait_seconds: float = 60.0,
        writes: bool = True,
        questions: Decider = "host",
        approvals: Decider = "host",
        signals: bool = False,
        **runner_options: Unpack[RunnerOptions],
    ) -> None:
        super().__init__()
        self._options = WorkflowOptions(
            tool_prefix=tool_prefix,
            budget=budget,
            wall_seconds=wall_seconds,
            max_running=max_running,
            max_source_chars=max_source_chars,
            max_result_chars=max_result_chars,
            max_prompt_chars=max_prompt_chars,
            max_wait_seconds=max_wait_seconds,
            writes=writes,
            questions=questions,
            approvals=approvals,
            signals=signals,
        )
        own = dict(runner_options)
        check_runner_options(own, (field.name for field in attrs.fields(WorkflowOptions)))
        self._own_store = None
        if runner is None:
            store = own.get("store", "memory:")
            if isinstance(store, str):
                own["store"] = self._own_store = open_store(store)
            self._loop = OwningLoop(runner_maker(own))
        else:
            check_ready(runner, own)
            self._loop = OwningLoop(lambda: runner, owned=False)
        self.tools = workflow_tools(WorkflowHandlers(self._loop, self._options))

    @property
    def name(self) -> str:
        """The name of the middleware, unique among the middleware of an agent."""
        prefix = self._options.tool_prefix
        return type(self).__name__ + ("" if prefix == _PREFIX else f"[{prefix}]")

    async def use(self, work: Callable[[WorkflowRunner], Coroutine[Any, Any, _T]]) -> _T:
        """Use the runner, on the event loop on which its runs live.

        ```python
        await workflows.use(lambda runner: runner.answer(run_id, ask_id, "yes"))
        ```

        Args:
            work: Takes the runner; it runs without the context variables of the caller.

        Raises:
            ConfigurationError: That event loop does not answer.
        """
        return await self._loop.call(work)

    async def aclose(self) -> None:
        """Stop all runs where they are, so that they can be resumed; a ready runner stays open."""
        await self._loop.aclose()
        if self._own_store is not None:
            await self._own_store.aclose()

    def close(self) -> None:
        """`aclose` for synchronous callers."""
        run_sync(self.aclose())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Add agents and workflows to the model's prompt."""
        return handler(with_section(request, run_sync(self._section())))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Add agents and workflows to the model's prompt."""
        return await handler(with_section(request, await self._section()))

    async def _section(self) -> str:
        async def use(runner: WorkflowRunner) -> str:
            return section(
                self._options, runner.agents, await runner.workflows(), isolates=runner.isolates
            )

        return await self._loop.call(use)
