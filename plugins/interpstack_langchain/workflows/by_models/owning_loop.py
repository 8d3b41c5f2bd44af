"""Call a runner on its owning loop: the event loop on which its runs live.

Runs outlive the call that starts them, so one loop owns them: the loop of the first call. Agents
that are run with `invoke` share a loop in a thread, which lasts as long as the process.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from interpstack import ConfigurationError
from interpstack_workflows.api import WorkflowRunner

__all__ = ["OwningLoop"]

_T = TypeVar("_T")
#: Seconds in which a loop answers, unless something blocks it.
_ANSWER_SECONDS: Final = 10.0
_BLOCKED: Final = (
    "the event loop on which the workflows of this middleware run does not answer: it has stopped,"
    " or a synchronous call blocks it; use either ainvoke on that loop or invoke, not both, or give"
    " each its own middleware"
)


class OwningLoop:
    """Call a runner on its owning loop, from any loop.

    Args:
        make: Makes the runner, again when its loop is closed: its runs are in the store.
        owned: Whether `aclose` closes the runner.
    """

    def __init__(self, make: Callable[[], WorkflowRunner], *, owned: bool = True) -> None:
        self._make = make
        self._owned = owned
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._runner = make()
        self._turns = asyncio.Lock()

    async def call(self, use: Callable[[WorkflowRunner], Coroutine[Any, Any, _T]]) -> _T:
        """Call a function with the runner, without the context variables of the caller.

        Runs outlive the agent's turn, so they must not use its callbacks, checkpointer and thread.

        Raises:
            ConfigurationError: The runner's loop does not answer.
        """
        here = asyncio.get_running_loop()
        with self._lock:
            if self._loop is not None and self._loop.is_closed():
                self._loop, self._runner = None, self._make()
            if self._loop is None:
                self._loop, self._turns = here, asyncio.Lock()
            loop, runner = self._loop, self._runner
        if loop is here:
            return await _apart(use(runner))
        await _answers(loop)
        there = asyncio.run_coroutine_threadsafe(_later(lambda: use(runner)), loop)
        return await asyncio.wrap_future(there)

    @property
    def turns(self) -> asyncio.Lock:
        """The lock of callers that must not start runs at the same time; on the owning loop."""
        return self._turns

    async def aclose(self) -> None:
        """Close the runner, unless it is the host's."""
        with self._lock:
            loop, runner = self._loop, self._runner
        if not self._owned:
            return
        if loop is None or loop is asyncio.get_running_loop() or loop.is_closed():
            await runner.aclose()
        else:
            await _answers(loop)
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(runner.aclose(), loop))


async def _apart(work: Coroutine[Any, Any, _T]) -> _T:
    """Await something in a task with an empty context."""
    return await asyncio.create_task(work, context=contextvars.Context())


async def _later(work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    return await _apart(work())


async def _answers(loop: asyncio.AbstractEventLoop) -> None:
    """Make sure that a loop runs.

    Raises:
        ConfigurationError: It does not.
    """
    here, answered = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.call_soon_threadsafe(lambda: here.call_soon_threadsafe(answered.set))
        await asyncio.wait_for(answered.wait(), _ANSWER_SECONDS if loop.is_running() else 0)
    except (RuntimeError, TimeoutError) as error:
        raise ConfigurationError(_BLOCKED) from error
