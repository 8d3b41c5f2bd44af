"""One call of a tool from code, and the value that the tool returned before it became a message."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Final

import attrs
from langchain_core.callbacks import Callbacks
from langchain_core.messages import ToolMessage
from langgraph.types import Command

__all__ = ["NativeCall", "running_native_call"]

#: Seconds that the thread of a cancelled call gets to end, if the tool awaits something.
_STOP_SECONDS: Final = 1.0


@attrs.define(eq=False, repr=False)
class NativeCall:
    """One inner call: the parent of its callbacks, and the result of the tool.

    Attributes:
        id: The call's tool-call id.
        callbacks: Callbacks of the eval under which the call is traced.
        configurable: Added to the configuration in which the tool runs.
        in_thread: Notes a thread that runs the tool, see `CellContext.threads`.
        grace: Returns the seconds that the call, once made, gets to end when it is cancelled.
        returned: Whether the tool came to its end.
        value: The tool's return value.
        message_text: The content of the message that LangChain made of the value, as text.
        at_work: How many threads run the tool.
        left: Whether the call is abandoned; it must not begin then.
        refused: Whether it did not begin for that reason, or was cancelled in the middle.
        commands: State updates of an eval of another interpreter, if the call is one.
    """

    id: str = ""
    callbacks: Callbacks = None
    configurable: Mapping[str, Any] = attrs.field(factory=dict)
    in_thread: Callable[[], AbstractContextManager[None]] = nullcontext
    grace: Callable[[], float] = lambda: 0.0
    returned: bool = False
    value: Any = None
    message_text: str | None = None
    at_work: int = 0
    left: bool = False
    refused: bool = False
    commands: list[Command[Any]] = attrs.field(factory=list)
    #: Cancels the tool, which awaits something while a thread waits for it.
    _stop: Callable[[], object] | None = attrs.field(default=None, init=False)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Run the tool in this thread.

        Raises:
            RuntimeError: The call was abandoned before it began.
        """
        self.at_work += 1  # before `left` is read: `leave` does it the other way round
        try:
            if self.left:
                self.refused = True
                raise RuntimeError("the eval was cancelled before this call began")
            with self.in_thread():
                yield
        finally:
            self.at_work -= 1

    async def stoppable(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Await a tool for which a thread waits; `leave` cancels it, as in an async graph."""
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        if task is None:
            raise RuntimeError("a coroutine runs in a task")
        self._stop = lambda: loop.call_soon_threadsafe(task.cancel)  # before `left` is read
        if self.left:
            task.cancel()
        try:
            return await coroutine
        except asyncio.CancelledError:
            self.refused = self.refused or self.left
            raise
        finally:
            self._stop = None

    def leave(self) -> bool:
        """Leave the call alone; True if it was made, since it has returned or runs in a thread.

        A tool that awaits something is cancelled instead.
        """
        self.left = True
        if (stop := self._stop) is not None:
            stop()
            return self.returned
        return self.returned or self.at_work > 0

    def outlasts(self) -> float:
        """Leave the call, and return the seconds to wait for the end of its thread."""
        stops = self._stop is not None
        self.leave()
        return _STOP_SECONDS if stops else self.grace()

    def pass_on(self, commands: Iterable[Command[Any]]) -> None:
        """Note state updates of the eval that this call is."""
        self.commands += commands

    def note(self, value: Any) -> Any:
        self.returned, self.value = True, value
        return value

    def note_answer(self, answer: Any) -> Any:
        self.message_text = as_text(answer.content) if isinstance(answer, ToolMessage) else None
        return answer

    def unchanged(self, message: ToolMessage) -> bool:
        """Whether a message still has the tool's content; middleware may have changed it."""
        return self.returned and self.message_text == as_text(message.content)


def as_text(content: Any) -> str:
    """The content of a message, with values that are not text as the tool node writes them."""
    return (
        content
        if isinstance(content, str)
        else json.dumps(content, ensure_ascii=False, default=repr)
    )


#: The call of which copies of tools note the value.
running_native_call: ContextVar[NativeCall] = ContextVar("interpstack_native_call")
