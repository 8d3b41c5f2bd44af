"""interpstack for LangChain, LangGraph and deepagents agents."""

from __future__ import annotations

from interpstack_langchain.middleware import CodeInterpreterMiddleware, REPLMiddleware

__all__ = ["CodeInterpreterMiddleware", "REPLMiddleware"]
