"""The tokens of one call of an agent, counted over all its models, and their limit."""

from __future__ import annotations

import threading
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from interpstack_workflows.api import AgentFailed, Usage

__all__ = ["Meter", "TokenLimitExceeded"]


class TokenLimitExceeded(Exception):
    """The tokens that a call of an agent may use are used up; no model was called."""


class Meter(BaseCallbackHandler):
    """Adds up what models report, those of nested agents included.

    Callbacks are passed on to nested runs, in threads too.

    Args:
        max_tokens: Tokens after which no model is called any more; `None` for no limit.
    """

    run_inline = True
    #: An error of `on_chat_model_start` keeps the model from being called.
    raise_error = True

    def __init__(self, max_tokens: int | None = None) -> None:
        self._max_tokens = max_tokens
        self._lock = threading.Lock()
        self._counted: set[UUID] = set()
        self._silent = False
        self._usage = Usage()

    @property
    def usage(self) -> Usage:
        """Everything that was reported so far."""
        return self._usage

    def check(self) -> None:
        """Make sure that a limit can be held.

        Raises:
            AgentFailed: There is a limit, and a model does not report what it uses.
        """
        if self._max_tokens is not None and self._silent:
            raise AgentFailed(
                "a model of the agent reports no usage_metadata, so that maxTokens cannot be held;"
                " leave maxTokens out, or use a model that reports it",
                self._usage,
                final=True,
            )

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        """Refuse a call of a model beyond the limit.

        Raises:
            TokenLimitExceeded: The limit is reached.
            AgentFailed: See `check`.
        """
        self.check()
        if self._max_tokens is not None and self._usage.tokens >= self._max_tokens:
            raise TokenLimitExceeded(
                f"the agent has used {self._usage.tokens} of {self._max_tokens} tokens"
            )

    def on_llm_start(self, *args: Any, **kwargs: Any) -> None:
        """Refuse a call of a text model; see `on_chat_model_start`."""
        self.on_chat_model_start()

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Count one call of a model, once."""
        used = _reported(response)
        with self._lock:
            if run_id in self._counted:
                return
            self._counted.add(run_id)
            if used is None:
                self._silent = True
            else:
                self._usage = self._usage + used


def _reported(response: LLMResult) -> Usage | None:
    first = next((one for batch in response.generations for one in batch), None)
    message = first.message if isinstance(first, ChatGeneration) else None
    told = message.usage_metadata if isinstance(message, AIMessage) else None
    if told is None:
        return None
    read, written = told.get("input_tokens") or 0, told.get("output_tokens") or 0
    return Usage(input_tokens=max(0, int(read)), output_tokens=max(0, int(written)))
