"""The home of a runner: the event loop on which its runs live.

Runs outlive the call that starts them, so they stay on one loop: that of the first call. Agents
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

__all__ = ["RunnerHome"]

_T = TypeVar("_T")
#: Seconds in which a loop answers, unless something blocks it.
_ANSWER_SECONDS: Final = 10.0
_BLOCKED: Final = (
    "the event loop on which the workflows of this middleware run does not answer: it has stopped,"
    " or a synchronous call blocks it; use either ainvoke on that loop or invoke, not both, or give"
    " each its own middleware"
)


class RunnerHome:
    """Calls a runner on its loop, from any loop.

    Args:
        make: Makes the runner, again when its loop is closed: its runs are in the store.
        owned: Whether the runner is closed with its home.
    """

    def __init__(self, make: Callable[[], WorkflowRunner], *, owned: bool = True) -> None:
        self._make = make
        self._owned = owned
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._runner = make()
        self._turns = asyncio.Lock()

    async def call(self, use: Callable[[WorkflowRunner], Coroutine[Any, Any, _T]]) -> _T:
        """Use the runner, without anything of the context of the caller.

        Runs outlive the agent's turn: its callbacks, checkpointer and thread are not theirs.

        Raises:
            ConfigurationError: The runner's loop does not answer.
        """
        here = asyncio.get_running_loop()
        with self._lock:
            if self._loop is not None and self._loop.is_closed():
                self._loop, self._runner = None, self._make()
            if self._loop is None:
                self._loop, self._turns = here, asyncio.Lock()
            home, runner = self._loop, self._runner
        if home is here:
            return await _apart(use(runner))
        await _answers(home)
        there = asyncio.run_coroutine_threadsafe(_later(lambda: use(runner)), home)
        return await asyncio.wrap_future(there)

    @property
    def turns(self) -> asyncio.Lock:
        """For those that must not start runs at the same time; used on the runner's loop."""
        return self._turns

    async def aclose(self) -> None:
        """Close the runner, unless it is the host's."""
        with self._lock:
            home, runner = self._loop, self._runner
        if not self._owned:
            return
        if home is None or home is asyncio.get_running_loop() or home.is_closed():
            await runner.aclose()
        else:
            await _answers(home)
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(runner.aclose(), home))


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
