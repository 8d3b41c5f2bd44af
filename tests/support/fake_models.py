"""A model that says what it is told to, whatever tools it gets."""

from __future__ import annotations

from typing import Any, Self

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel

__all__ = ["FakeModel"]


class FakeModel(GenericFakeChatModel):
    """Says what it is told to."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Self:
        return self
