"""Evals that may be suspended, and the calls of the model that continue or end them."""

from __future__ import annotations

import asyncio
import html
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, Self

import attrs
from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from interpstack import ConfigurationError, Outcome, render, run_sync
from interpstack_agents import PersistenceScope
from interpstack_display.api import with_attachment_notices
from interpstack_durable.api import SeenOutput, StillRunning, TimeSlice, cut_off, free_kept_realm
from interpstack_langchain.background.background import Background
from interpstack_langchain.background.background_stores import BackgroundStore
from interpstack_langchain.background.cell_locks import CellLock
from interpstack_langchain.background.cell_records import (
    CELLS,
    CellRecord,
    ended_record,
    explain_expired,
    running_ids,
)
from interpstack_langchain.background.terminations import ENDED, TERMINATED, CellOver, Termination
from interpstack_langchain.evals.attachment_blocks import eval_content
from interpstack_langchain.evals.eval_call import EvalCall
from interpstack_langchain.evals.eval_runner import Evals
from interpstack_langchain.evals.eval_tool import InterpreterTool
from interpstack_langchain.evals.watched import Watched
from interpstack_langchain.state.graph_state import turn_of, with_writes
from interpstack_langchain.state.owners import owner_of, turn_key
from interpstack_langchain.state.state_updates import commit

__all__ = ["BackgroundEvals"]

#: Seconds that `terminate` waits for another run of a cell to end.
_LOCK_SECONDS = 30.0
#: The longest wait for one call of the tool, in seconds.
_MAX_SECONDS: Final = 3600
_LOST = "its records are no longer stored"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class BackgroundEvals(Evals):
    """The evals of a middleware whose cells may run in the background.

    Attributes:
        background: Their settings and locks.
    """

    background: Background

    def tools(self) -> list[BaseTool]:
        """The tools that continue and end suspended code."""
        wait, terminate = self.background.tools
        return [WaitTool.of(wait, self), TerminateTool.of(terminate, self)]

    async def run(self, code: str, running: EvalCall, *, fresh: bool = False) -> ToolMessage:
        """Run an eval until it ends, or has waited too long.

        Args:
            code: Source text.
            running: The eval.
            fresh: Forget the variables of the conversation first; such an eval is not suspended.

        Raises:
            ConfigurationError: There is no checkpointer.
        """
        if running.outer is not None or running.inside is not None:  # other code waits for it
            return await Evals.run(self, code, running, fresh=fresh)
        store = _store(running)
        state = await self._in_order(running)  # earlier evals of the message may be suspended
        checkpoint = store.writes.checkpoint.config["configurable"]
        cell = CellRecord(
            id=self.background.new_id(store),
            code=code,
            graph=checkpoint["checkpoint_ns"],
            checkpoint=checkpoint["checkpoint_id"],
            name=running.name,
            place=running.place,
            turn=turn_of(state),
        )
        busy = [one for one in self.at_work(state, running) if one != cell.id]
        if busy and self.mode.scope != PersistenceScope.CALL:
            return self._refused(busy[0], running)
        if fresh:
            return await Evals.run(self, code, running, fresh=True)
        return await self._run_slice(cell, self.background.yield_after, running)

    async def wait(self, cell: str, seconds: float, running: EvalCall) -> ToolMessage:
        """Continue a cell, for at most some seconds."""
        state = await self._in_order(running)
        record = running.cell
        if record is None or not self._lives(record, state):
            return self._expired(cell, state, running)
        if not await _store(running).exists():
            return self._lost(record, running)
        return await self._run_slice(record, seconds, running)

    async def terminate(self, cell: str, running: EvalCall) -> ToolMessage:
        """End a cell and its calls in flight; a cell that ended by itself first counts as ended."""
        state = await self._in_order(running)
        record = running.cell
        if record is None or not self._lives(record, state):
            return self._expired(cell, state, running)
        store = _store(running)
        await store.ask_to_end(TERMINATED)
        cut = await self.background.cell_locks.stop(store.key)
        decided = await self._decide_to_end(store)
        if decided is None:
            return self._ends_elsewhere(cell, running)
        if decided != store.termination(TERMINATED):
            return self._over(record, decided.why, state, running)
        self._forget(record, state, running)
        what = f"{TERMINATED}; its changes to variables are undone{cut_off(cut)}"
        text = f"<terminated>cell {cell}: {_escaped(what)}</terminated>"
        return self._reply(text, {CELLS: {cell: ended_record(TERMINATED)}}, running)

    async def _decide_to_end(self, store: BackgroundStore) -> Termination | None:
        """Decide, under its lock, to end a cell; `None` if another run holds the lock."""
        async with AsyncExitStack() as lock:
            try:
                async with asyncio.timeout(_LOCK_SECONDS):
                    await lock.enter_async_context(self.stores.alone(store))
            except TimeoutError:
                return None
            await store.decide(TERMINATED)
            decided = await store.decided()
            if decided is not None and decided.why == TERMINATED:
                # A kept realm can be dropped only once it is found.
                await free_kept_realm(self.stack, await store.suspended())
                await store.ended()
            return decided

    async def _in_order(self, running: EvalCall) -> Mapping[str, Any]:
        """Return the state, once the evals before this one in its message have ended."""
        state, done = await self._state(running)
        if self.mode.scope != PersistenceScope.CALL:
            await self.queue.wait(running.calls, running.request.runtime.config, done)
        return state

    async def _settle(self, outcome: Outcome, running: EvalCall) -> None:
        """Store, under the lock of a cell that other calls may know, that it has ended."""
        store = running.store
        resumable = running.failure(outcome) is not None and outcome.error is not None
        if isinstance(store, BackgroundStore) and store.continued and not resumable:
            await store.decide(ENDED)

    async def _run_slice(self, cell: CellRecord, seconds: float, running: EvalCall) -> ToolMessage:
        store, time_slice = _store(running), TimeSlice(seconds)
        state, _ = await self._state(running)
        owner = owner_of(state, running.graph)
        lock = CellLock(
            self.background.cell_locks,
            store.key,
            owner,
            lambda: self.stores.alone(store),
            store.exists,
            time_slice,
            store.admit,
            lambda: self.stores.across(store),
        )
        seen = SeenOutput(cell.chars, cell.digest, cell.attached)
        running.watch(Watched(time_slice, lock, seen))
        if store.continued:
            running.add({CELLS: {cell.id: ended_record(ENDED)}})
        try:
            message = await Evals.run(self, cell.code, running)
        except CellOver as over:
            return self._over(cell, over.why, state, running)
        except StillRunning as still:
            decided = await store.decided()
            if decided is not None and decided.why == TERMINATED:
                return self._over(cell, TERMINATED, state, running)
            self.background.began(owner, cell.place, cell.id)
            return self._suspended(cell, still, state, running)
        self._forget(cell, state, running)
        return message

    def _suspended(
        self, cell: CellRecord, still: StillRunning, state: Mapping[str, Any], running: EvalCall
    ) -> ToolMessage:
        _store(running).mark_suspended()
        watched = running.watched
        new = running.with_notices(Outcome() if watched is None else watched.suspended(still))
        shown = SeenOutput() if watched is None else watched.shown
        record = attrs.evolve(cell, **attrs.asdict(shown))
        update: dict[str, Any] = {CELLS: {cell.id: record.as_data()}}
        if self.spending is not None:
            update |= self.spending.update(turn_key(state, running.graph), state)
        text = self._text(cell.id, new, still.waits_for)
        content = eval_content(text, new, self.stack.limits.result_chars)
        return self._reply(content, update, running)

    def _text(self, cell: str, new: Outcome, waits_for: Sequence[str]) -> str:
        names = self.background
        listed = ", ".join(waits_for[:10]) + (", …" if len(waits_for) > 10 else "")
        advice = _escaped(
            f"the code waits for {listed}. Calls in flight continue. Call "
            f'{names.wait_name}(id="{cell}", seconds=…) to continue the code, or '
            f'{names.terminate_name}(id="{cell}") to end it.'
        )
        output = render(with_attachment_notices(new)).removesuffix("<result></result>")
        return f'{output}<running id="{cell}">{advice}</running>'

    def _forget(self, cell: CellRecord, state: Mapping[str, Any], running: EvalCall) -> None:
        """Let later evals of the message know that a cell no longer uses the variables."""
        owner = owner_of(state, running.graph)
        self.background.ended(owner, cell.place)
        self.background.over(owner, running.calls.message, cell.id)

    def at_work(self, state: Mapping[str, Any], running: EvalCall) -> list[str]:
        """Return the ids of the cells that use the variables of a conversation."""
        owner = owner_of(state, running.graph)
        recent = self.background.recent(owner, running.place)
        cells = [*Evals.at_work(self, state, running), *([recent] if recent else [])]
        return self.background.still(owner, running.calls.message, cells)

    def _lives(self, cell: CellRecord, state: Mapping[str, Any]) -> bool:
        return self.mode.scope != PersistenceScope.TURN or cell.turn == turn_of(state)

    def _way_on(self, cell: str) -> str:
        names = self.background
        return f'Call {names.wait_name}(id="{cell}") or {names.terminate_name}(id="{cell}") first'

    def _expired(self, cell: str, state: Mapping[str, Any], running: EvalCall) -> ToolMessage:
        return self._expired_answer(cell, {}, state, running)

    def _over(
        self, cell: CellRecord, why: str, state: Mapping[str, Any], running: EvalCall
    ) -> ToolMessage:
        """Return the answer for a cell that another call has ended."""
        self._forget(cell, state, running)
        update = {CELLS: {cell.id: ended_record(why)}}
        after, _ = with_writes(state, [*update.items()])
        return self._expired_answer(cell.id, update, after, running)

    def _expired_answer(
        self, cell: str, update: Mapping[str, Any], state: Mapping[str, Any], running: EvalCall
    ) -> ToolMessage:
        """Return the answer for a cell that, according to a state, cannot be continued."""
        turn = turn_of(state) if self.mode.scope == PersistenceScope.TURN else None
        owner = owner_of(state, running.graph)
        # The state does not have the cell of this message yet; of a known cell, `place` is its own.
        recent = self.background.recent(owner, running.place) if running.cell is None else None
        cells = dict.fromkeys([*running_ids(state, turn), *([recent] if recent else [])])
        still = self.background.still(owner, running.calls.message, cells)
        text = _escaped(f"cell {cell:.60}: {explain_expired(state, cell, still)}")
        return self._reply(f'<error type="CellGone">{text}</error>', update, running, "error")

    def _ends_elsewhere(self, cell: str, running: EvalCall) -> ToolMessage:
        text = (
            f"cell {cell} is running in another process, which was asked to end it and has not yet "
            "done so. No other call continues the cell. Call "
            f'{self.background.terminate_name}(id="{cell}") again to check'
            " that it has ended"
        )
        return self._reply(f'<error type="CellAtWork">{text}</error>', {}, running, "error")

    def _lost(self, cell: CellRecord, running: EvalCall) -> ToolMessage:
        text = f'<error type="CellGone">cell {cell.id}: {_LOST}</error>'
        return self._reply(text, {CELLS: {cell.id: ended_record(_LOST)}}, running, "error")

    def _reply(
        self,
        content: str | list[str | dict[Any, Any]],
        update: Mapping[str, Any],
        running: EvalCall,
        status: str = "success",
    ) -> ToolMessage:
        message = ToolMessage(
            content=content,
            tool_call_id=running.id,
            name=running.request.tool_call["name"],
            status=status,
        )
        return commit(message, self.channels.named(update), running, commands=())


class WaitSchema(BaseModel):
    """Input of the tool that waits."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(description="Id of the running code.")
    seconds: float = Field(
        default=10.0, ge=0, le=_MAX_SECONDS, description="Seconds to wait at most."
    )


class TerminateSchema(BaseModel):
    """Input of the tool that terminates."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(description="Id of the running code.")


class CellTool(InterpreterTool):
    """A tool for cells in the background."""

    description: str = ""
    _evals: BackgroundEvals = PrivateAttr()

    @classmethod
    def of(cls, name: str, evals: BackgroundEvals) -> Self:
        """The tool of an interpreter, with this name."""
        tool = cls(name=name)
        tool._evals = evals
        return tool


class WaitTool(CellTool):
    """Continues a cell in the background; made by `CodeInterpreterMiddleware`."""

    description: str = (
        "Continue code that is still running, and get its result or, if it needs longer, its new "
        "output."
    )
    args_schema: type[BaseModel] = WaitSchema

    def _run(
        self,
        id: str,  # noqa: A002 - the model's word
        seconds: float = 10.0,
        run_manager: CallbackManagerForToolRun | None = None,
    ) -> Any:
        return run_sync(self._evals.wait(id, seconds, self.begin(run_manager)))

    async def _arun(
        self,
        id: str,  # noqa: A002
        seconds: float = 10.0,
        run_manager: AsyncCallbackManagerForToolRun | None = None,
    ) -> Any:
        return await self._evals.wait(id, seconds, self.begin(run_manager))


class TerminateTool(CellTool):
    """Ends a cell in the background; made by `CodeInterpreterMiddleware`."""

    description: str = "End code that is still running, and cancel its calls."
    args_schema: type[BaseModel] = TerminateSchema

    def _run(self, id: str) -> Any:  # noqa: A002 - the model's word
        return run_sync(self._evals.terminate(id, self.running()))

    async def _arun(self, id: str) -> Any:  # noqa: A002
        return await self._evals.terminate(id, self.running())


def _store(running: EvalCall) -> BackgroundStore:
    if not isinstance(running.store, BackgroundStore):
        raise ConfigurationError(
            "background=True needs a checkpointer: pass one to the agent, and a thread_id with "
            "each run"
        )
    return running.store


def _escaped(text: str) -> str:
    return html.escape(text, quote=False).encode("utf-8", "backslashreplace").decode()
