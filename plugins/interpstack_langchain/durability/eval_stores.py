"""The stores for the journals of one middleware's evals."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import attrs
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest

from interpstack_langchain.durability.checkpoint_stores import CheckpointStore, Shared
from interpstack_langchain.durability.checkpoint_writes import CheckpointWrites, eval_key
from interpstack_langchain.durability.databases import open_database
from interpstack_langchain.langgraph_internals.call_scopes import Checkpoint
from interpstack_langchain.rules.decisions import Editable

__all__ = ["EvalStores"]


@attrs.frozen(eq=False, repr=False)
class EvalStores:
    """Opens the store for the journal of each eval of one middleware.

    Attributes:
        shared: Settings and memory of all its stores.
        own_tools: Tools that only code has.
        lock_timeout: Seconds that a run waits for another process that runs the same eval.
    """

    shared: Shared = attrs.field(factory=Shared)
    own_tools: Sequence[BaseTool] = ()
    lock_timeout: float | None = None

    def open(
        self,
        request: ToolCallRequest,
        name: str,
        is_async: bool,
        make: Callable[..., CheckpointStore] | None = None,
    ) -> CheckpointStore | None:
        """The store for the journal of an eval; `None` without a checkpointer.

        Args:
            request: The model's call of it.
            name: The name of the call, unique in its message.
            is_async: Whether the graph runs on the event loop of the caller.
            make: Makes the store; by default, a `CheckpointStore`.
        """
        checkpoint = Checkpoint.of(request.runtime.config)
        if checkpoint is None:
            return None
        return (make or CheckpointStore)(
            key=eval_key(checkpoint.config, name),
            writes=CheckpointWrites(checkpoint, is_async),
            config=request.runtime.config,
            store=request.runtime.store,
            shared=self.shared,
            editable=Editable(self.own_tools, request.runtime.tools, request.tool_call["name"]),
        )

    @asynccontextmanager
    async def alone(self, store: CheckpointStore | None) -> AsyncIterator[None]:
        """Run an eval while no other run of it does, in any agent on the same database."""
        if store is None:
            yield
            return
        async with (
            open_database(store.writes.checkpoint.saver) as database,
            database.alone(store.key, self.lock_timeout, store.left_running) as waited,
        ):
            store.run_in(database, after_another=waited)
            yield

    @asynccontextmanager
    async def across(self, store: CheckpointStore) -> AsyncIterator[None]:
        """Keep other processes from an eval while a run hands the lock on to the next one here."""
        async with (
            open_database(store.writes.checkpoint.saver) as database,
            database.across(store.key),
        ):
            yield
