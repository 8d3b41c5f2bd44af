"""Records of the usage of models that code calls, before the call and after the answer."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler

from interpstack_accounts.api import record_drawn, record_drawn_soon

__all__ = ["SpendingRecorder"]


class SpendingRecorder(AsyncCallbackHandler):
    """A recorder that delays a model's call, and its answer, until the amounts so far are recorded.

    LangChain awaits this handler where a model is called with `ainvoke`; where one is called with
    `invoke`, it runs it when the other handlers were called, and an error is logged.

    Args:
        begin: Notes that a call begins, unless it was stopped.
        end: Draws the usage of a call, and notes its end.
    """

    run_inline = True  # the call waits for it
    raise_error = True
    ignore_chain = ignore_agent = ignore_retriever = True

    def __init__(self, begin: Callable[[UUID], None], end: Callable[..., None]) -> None:
        self._begin = begin
        self._end = end

    # Looked up in the thread that calls the model.

    @property
    def on_chat_model_start(self) -> Any:
        return functools.partial(self._started, threading.get_ident())

    @property
    def on_llm_start(self) -> Any:
        return functools.partial(self._started, threading.get_ident())

    @property
    def on_llm_end(self) -> Any:
        return functools.partial(self._ended, threading.get_ident())

    @property
    def on_llm_error(self) -> Any:
        return functools.partial(self._failed, threading.get_ident())

    async def _started(self, caller: int, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        self._begin(run_id)
        await _record(caller)

    async def _ended(self, caller: int, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._end(response, run_id=run_id)
        await _record(caller)

    async def _failed(self, caller: int, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        self._end(None, run_id=run_id)
        await _record(caller)


async def _record(caller: int) -> None:
    if caller == threading.get_ident():
        await record_drawn()
    else:  # `invoke` on an event loop, which stands still until this thread has ended
        record_drawn_soon()
