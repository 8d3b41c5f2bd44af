"""What models report with their messages: their names, tokens and cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage

from interpstack_langchain.durability.spending import reported_cost
from interpstack_workflows.api import Prices, WorkflowUsage

__all__ = ["cached_tokens", "message_cost", "message_tokens", "model_name"]


def message_tokens(message: AIMessage) -> WorkflowUsage | None:
    """The tokens that a model reports for a message; `None` if it reports none."""
    usage = message.usage_metadata
    if usage is None:
        return None
    read, written = usage.get("input_tokens") or 0, usage.get("output_tokens") or 0
    return WorkflowUsage(input_tokens=max(0, int(read)), output_tokens=max(0, int(written)))


def cached_tokens(message: AIMessage) -> int:
    """The part of the tokens read that came from a cache of the provider."""
    usage: Mapping[str, Any] = message.usage_metadata or {}
    details = usage.get("input_token_details") or {}
    return max(0, int(details.get("cache_read") or 0))


def model_name(message: AIMessage | None) -> str | None:
    """The name of a model, as it reports it; `None` if it does not."""
    metadata: dict[str, Any] = {} if message is None else message.response_metadata
    found = metadata.get("model_name") or metadata.get("model")
    return found if isinstance(found, str) else None


def message_cost(message: AIMessage, prices: Prices, name: str | None) -> float | None:
    """The cost of a message, as the model reports it, or by its price; `None` if unknown.

    Args:
        message: The message.
        prices: Prices of models that do not report their cost.
        name: The name of the model.
    """
    reported = reported_cost(message)
    used, price = message_tokens(message), prices.find(name)
    if reported is not None or used is None or price is None:
        return reported
    return price.cost(used.input_tokens, used.output_tokens, cached_tokens(message))
