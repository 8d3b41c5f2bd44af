"""The tokens and the cost of one call of an agent, over all its models, and their limits."""

from __future__ import annotations

import threading
from typing import Any
from uuid import UUID

import attrs
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from interpstack_langchain.langgraph_internals.refusals import refusal
from interpstack_langchain.model_reports import message_cost, message_tokens, model_name
from interpstack_workflows.api import AgentFailed, Prices, WorkflowUsage

__all__ = ["Meter", "TokenLimitExceeded"]


class TokenLimitExceeded(Exception):
    """The tokens that a call of an agent may use are used up; no model was called."""


class Meter(BaseCallbackHandler):
    """Adds up what models report, those of nested agents included.

    Callbacks are passed on to nested runs, in threads too.

    Args:
        max_tokens: Tokens after which no model is called any more; `None` for no limit.
        prices: Prices of models that do not report their cost.
        needs_cost: Whether the cost of each model has to be known.
    """

    run_inline = True
    #: An error of `on_chat_model_start` keeps the model from being called.
    raise_error = True

    def __init__(
        self,
        max_tokens: int | None = None,
        prices: Prices | None = None,
        *,
        needs_cost: bool = False,
    ) -> None:
        self._max_tokens = max_tokens
        self._prices = prices or Prices()
        self._needs_cost = needs_cost
        self._names: dict[UUID, str] = {}  # of models that have begun
        self._unpriced: str | None = None
        self._lock = threading.Lock()
        self._counted: set[UUID] = set()
        self._silent = False
        self._usage = WorkflowUsage()

    @property
    def usage(self) -> WorkflowUsage:
        """Everything that was reported so far."""
        return self._usage

    def check(self) -> None:
        """Check that limits can be enforced.

        Raises:
            AgentFailed: There is a limit of tokens or cost, and the use or the cost of a model is
                not known.
        """
        if self._max_tokens is not None and self._silent:
            raise AgentFailed(
                "a model of the agent reports no usage_metadata, so maxTokens cannot be enforced; "
                "leave maxTokens out, or use a model that reports it",
                self._usage,
                final=True,
            )

        if self._needs_cost and self._unpriced is not None:
            raise AgentFailed(
                f"the model {self._unpriced!r:.100} reports no cost and has no price, so the "
                "budget in cost cannot be enforced; name its price in prices, or give the budget "
                "in"
                " tokens",
                self._usage,
                final=True,
            )

    def on_chat_model_start(
        self,
        *args: Any,
        run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Refuse a call of a model beyond the limit.

        Raises:
            TokenLimitExceeded: The limit is reached.
            AgentFailed: See `check`.
        """
        try:
            self.check()
        except AgentFailed as error:
            raise refusal(error) from None
        if self._max_tokens is not None and self._usage.tokens >= self._max_tokens:
            raise refusal(
                TokenLimitExceeded(
                    f"the agent has used {self._usage.tokens} of {self._max_tokens} tokens"
                )
            )
        if run_id is not None and isinstance(name := (metadata or {}).get("ls_model_name"), str):
            self._names[run_id] = name

    def on_llm_start(self, *args: Any, **kwargs: Any) -> None:
        """Refuse a call of a text model; see `on_chat_model_start`."""
        self.on_chat_model_start(*args, **kwargs)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Count one call of a model, once."""
        message = _message(response)
        used = None if message is None else message_tokens(message)
        with self._lock:
            if run_id in self._counted:
                return
            self._counted.add(run_id)
            name = model_name(message) or self._names.pop(run_id, None)
            cost = None if message is None else message_cost(message, self._prices, name)
            self._silent = self._silent or used is None
            if cost is None:
                self._unpriced = name or "unknown"
            self._usage = self._usage + attrs.evolve(used or WorkflowUsage(), cost=cost or 0.0)


def _message(response: LLMResult) -> AIMessage | None:
    first = next((one for batch in response.generations for one in batch), None)
    message = first.message if isinstance(first, ChatGeneration) else None
    return message if isinstance(message, AIMessage) else None
