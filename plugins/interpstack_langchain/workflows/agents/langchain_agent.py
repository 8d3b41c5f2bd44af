"""Agents of workflows that are made with LangChain, LangGraph and deepagents."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.pregel import Pregel
from langgraph.pregel.protocol import PregelProtocol

from interpstack import ConfigurationError
from interpstack.checks import shown
from interpstack_langchain.workflows.agents.answers import prompt_of, value_of
from interpstack_langchain.workflows.agents.graph_calls import GraphCall, takes_messages
from interpstack_langchain.workflows.agents.metering import Meter
from interpstack_langchain.workflows.agents.progress import AgentProgress
from interpstack_langchain.workflows.agents.savers import RUN, saver_for
from interpstack_langchain.workflows.agents.threads import thread_of
from interpstack_workflows.api import Agent, AgentAnswer, AgentCall, AgentFailed, AgentPaused

__all__ = ["LangChainAgent", "agent_of"]

#: Wishes of a call that a target has to be made for, by the names that scripts use.
_WISHES: Final = ("model", "provider", "thinking", "cwd")
_INTERRUPT: Final = "__interrupt__"


class LangChainAgent(Agent):
    """An agent made from a graph, a chat model or another runnable.

    `WorkflowRunner(agents=…)` takes such objects as they are; this class says more about them.

    ```python
    configurable = {"model": "model", "provider": "model_provider"}
    reader = LangChainAgent(graph, configurable=configurable, max_tokens=20_000)
    ```

    Args:
        target: A compiled graph whose state has messages, or one of the functional API; a chat
            model; another runnable, which gets the prompt as text; or a function of the
            `AgentCall` that returns one of these, made for the call.
        configurable: For `model`, `provider`, `thinking` and `cwd`, the key of the configuration's
            `configurable` under which the target finds the value. A call that asks for one without
            a key fails, unless a function makes the target.
        description: What the agent does, for models that write workflows.
        max_tokens: Largest number of tokens that one call may use; `None` if that is not known.
            Budgets reserve this amount.
        max_cost: Largest amount of money that one call may cost; `None` if that is not known.

    Raises:
        ConfigurationError: The target is of another kind.
    """

    def __init__(
        self,
        target: Any,
        *,
        configurable: Mapping[str, str] | None = None,
        description: str = "",
        max_tokens: int | None = None,
        max_cost: float | None = None,
    ) -> None:
        self._is_made = callable(target) and not isinstance(target, (Runnable, type))
        self._target: Any = target if self._is_made else _checked(target)
        self._configurable = dict(configurable or {})
        if unknown := sorted(set(self._configurable) - set(_WISHES)):
            known = ", ".join(_WISHES)
            raise ConfigurationError(f"configurable takes {known}; got {', '.join(unknown)}")
        self.takes_cwd = self._is_made or "cwd" in self._configurable
        self.description = description
        self.max_tokens = max_tokens
        self.max_cost = max_cost

    async def run(self, call: AgentCall) -> AgentAnswer:
        meter = Meter(call.max_tokens, call.prices, needs_cost=call.needs_cost)
        # A run of its own, even where a node of another graph has started the workflow.
        outside = var_child_runnable_config.set(None)
        try:
            output, thread = await self._output(call, meter)
            meter.check()
            return AgentAnswer(value_of(output, call), meter.usage, thread)
        except asyncio.CancelledError:
            call.report(meter.usage)
            raise
        except AgentPaused as paused:
            raise AgentPaused(paused.approvals, meter.usage) from paused
        except AgentFailed as failed:
            raise AgentFailed(str(failed), meter.usage, final=failed.final) from failed.__cause__
        except Exception as error:
            message = str(error) or type(error).__name__
            raise AgentFailed(message, meter.usage) from error
        finally:
            var_child_runnable_config.reset(outside)

    async def _output(self, call: AgentCall, meter: Meter) -> tuple[Any, str | None]:
        """Return the output of the target, and the thread of a graph."""
        wishes = self._wishes(call)
        target = _checked(self._target(call)) if self._is_made else self._target
        progress = AgentProgress(call.emit)
        config = _config(call, wishes, meter)
        if isinstance(target, Pregel):
            thread = thread_of(call)
            config["configurable"]["thread_id"] = thread
            saver = await saver_for(target.checkpointer, call)
            graph = target.copy({"checkpointer": saver})
            try:
                output = await GraphCall(graph, call, config, progress).run()
            finally:
                if saver is not None:
                    await saver.end()
            if saver is not None and call.schema is None:  # no correction can follow
                saver.forget(thread)
            return output, thread
        output = await _asked(target, call, config)
        if isinstance(output, BaseMessage):
            progress.message(output)
        if isinstance(output, Mapping) and _INTERRUPT in output:
            raise AgentFailed(
                "a graph inside the runnable asks for a decision; name the graph itself as agent",
                final=True,
            )
        return output, None

    def _wishes(self, call: AgentCall) -> dict[str, Any]:
        """Return the wishes of a call, by the keys in which the target finds them.

        Raises:
            AgentFailed: The target is not made for one of them.
        """
        if self._is_made:
            return {}
        cwd = None if call.cwd is None else str(call.cwd)
        asked = {"model": call.model, "provider": call.provider, "cwd": cwd, **call.model_options}
        found = {}
        for name, value in asked.items():
            if value is None:
                continue
            if name not in self._configurable:
                raise AgentFailed(
                    f"agent {call.agent!r} takes no {name}, and the call asks for {value!r:.100};"
                    " leave it out, or have the host name its key:"
                    f" LangChainAgent(…, configurable={{{name!r}: key}})",
                    final=True,
                )
            found[self._configurable[name]] = value
        return found


def agent_of(target: Any, name: str) -> Agent | None:
    """Return the agent that an object of LangChain makes; `None` for another object.

    Raises:
        ConfigurationError: It is such an object, and makes no agent; the message says why.
    """
    if not isinstance(target, Runnable):
        return None
    try:
        return LangChainAgent(target, description=_description(target))
    except ConfigurationError as error:
        raise ConfigurationError(f"agent {name!r}: {error}") from error


def _description(target: Any) -> str:
    name = getattr(target, "name", None) if isinstance(target, Pregel) else None
    return name if isinstance(name, str) and name != "LangGraph" else ""


def _checked(target: Any) -> Runnable[Any, Any]:
    """Return an object that can be run as an agent.

    Raises:
        ConfigurationError: It cannot.
    """
    if isinstance(target, PregelProtocol) and not isinstance(target, Pregel):
        raise ConfigurationError(
            f"{shown(target)} runs elsewhere; call it in an async function of the prompt"
        )
    if not isinstance(target, Runnable):
        raise ConfigurationError(
            "LangChainAgent takes a compiled graph, a chat model, another runnable, or a function"
            f" of the call that returns one; got {shown(target)}"
        )
    if not isinstance(target, Pregel):
        return target
    if getattr(target, "builder", None) is not None and not takes_messages(target):
        known = sorted(name for name in target.channels if "__" not in name and ":" not in name)
        raise ConfigurationError(
            f"the state of a graph needs messages; this one has: {', '.join(known) or 'nothing'}."
            " Wrap the graph in an async function of the prompt"
        )
    if target.interrupt_before_nodes or target.interrupt_after_nodes:
        raise ConfigurationError(
            "a graph with interrupt_before or interrupt_after asks no question; use interrupt() "
            "in a"
            " node, or HumanInTheLoopMiddleware"
        )
    return target


def _config(call: AgentCall, wishes: Mapping[str, Any], meter: Meter) -> RunnableConfig:
    about = {
        RUN: call.run_id,
        "workflow_step": call.key,
        "workflow_phase": call.phase,
        "workflow_label": call.label,
    }
    return {
        "configurable": dict(wishes),
        "callbacks": [meter],
        "metadata": {name: value for name, value in about.items() if value},
        "run_name": call.agent,
    }


async def _asked(target: Runnable[Any, Any], call: AgentCall, config: RunnableConfig) -> Any:
    """Return the output of a runnable without a state."""
    if not isinstance(target, BaseChatModel):
        return await target.ainvoke(prompt_of(call), config)
    limits: dict[str, Any] = {}
    if call.max_tokens is not None and "max_tokens" in type(target).model_fields:
        limits["max_tokens"] = call.max_tokens
    if not _structures(target, call):
        return await target.ainvoke([HumanMessage(prompt_of(call))], config, **limits)
    schema = {"title": "answer", **(call.schema or {})}
    structured = target.with_structured_output(schema, include_raw=True)
    found: Any = await structured.ainvoke([HumanMessage(call.prompt)], config)
    return found["raw"] if found.get("parsed") is None else found["parsed"]


def _structures(model: BaseChatModel, call: AgentCall) -> bool:
    """Return whether a model says of itself that it answers by schemas, and takes one like this."""
    profile = getattr(model, "profile", None) or {}
    wanted = call.schema is not None and call.schema.get("type") == "object"
    return wanted and bool(profile.get("structured_output"))
