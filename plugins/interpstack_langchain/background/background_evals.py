"""Evals that may be put aside, and the calls of the model that continue or end them."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from langchain_core.messages import ToolMessage

from interpstack import ConfigurationError, Outcome, render
from interpstack_durable.api import Look, Shown, StillRunning
from interpstack_langchain.background.background import Background
from interpstack_langchain.background.background_stores import BackgroundStore
from interpstack_langchain.background.cell_records import (
    CELLS,
    CellRecord,
    ended_record,
    gone,
    running_ids,
)
from interpstack_langchain.background.holds import Hold
from interpstack_langchain.evals.eval_call import EvalCall
from interpstack_langchain.evals.eval_runner import Evals
from interpstack_langchain.evals.watched import Watched
from interpstack_langchain.state.graph_state import turn_of
from interpstack_langchain.state.owners import owner_of, turn_key
from interpstack_langchain.state.state_updates import commit

__all__ = ["BackgroundEvals"]

_ENDED = "it has ended, and its result was returned"
_TERMINATED = "it was terminated"
_LOST = "it is gone: its records are no longer stored"


@attrs.frozen(kw_only=True, eq=False)
class BackgroundEvals(Evals):
    """The evals of a middleware whose cells may run in the background.

    Attributes:
        background: Their settings and locks.
    """

    background: Background

    async def run(self, code: str, running: EvalCall, *, fresh: bool = False) -> ToolMessage:
        """Run an eval until it ends, or has waited too long.

        Args:
            code: Source text.
            running: The eval.
            fresh: Forget the variables of the conversation first; such an eval is not put aside.

        Raises:
            ConfigurationError: There is no checkpointer.
        """
        if running.outer is not None or running.inside is not None:  # other code waits for it
            return await Evals.run(self, code, running, fresh=fresh)
        store = _store(running)
        state, done = await self._state(running)
        if self.mode.scope != "call":  # earlier evals of the message may be put aside
            await self.queue.wait(running.calls, done)
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
        busy = [one for one in self._running(state, running) if one != cell.id]
        if busy and self.mode.scope != "call":
            return self._refused(busy[0], running)
        if fresh:
            return await Evals.run(self, code, running, fresh=True)
        return await self._look(cell, self.background.yield_after, running)

    async def wait(self, cell: str, seconds: float, running: EvalCall) -> ToolMessage:
        """Continue a cell, for at most some seconds."""
        state, _ = await self._state(running)
        record = running.cell
        if record is None or not self._lives(record, state):
            return self._gone(cell, state, running)
        if not await _store(running).exists():
            return self._lost(record, running)
        return await self._look(record, seconds, running)

    async def terminate(self, cell: str, running: EvalCall) -> ToolMessage:
        """End a cell, and its calls in flight."""
        state, _ = await self._state(running)
        record = running.cell
        if record is None or not self._lives(record, state):
            return self._gone(cell, state, running)
        store = _store(running)
        await self.background.holds.stop(store.key)
        await store.suspended()  # so that it is found, and dropped
        await store.ended()
        self.background.ended(owner_of(state, running.graph), record.place)
        text = f"<terminated>cell {cell}: {_TERMINATED}; its changes are undone</terminated>"
        return self._told(text, {CELLS: {cell: ended_record(_TERMINATED)}}, running)

    async def _look(self, cell: CellRecord, seconds: float, running: EvalCall) -> ToolMessage:
        store, look = _store(running), Look(seconds)
        state, _ = await self._state(running)
        owner = owner_of(state, running.graph)
        hold = Hold(
            self.background.holds,
            store.key,
            owner,
            lambda: self.stores.alone(store),
            store.exists,
            look,
        )
        running.watch(Watched(look, hold, Shown(cell.chars, cell.digest)))
        if store.continued:
            running.add({CELLS: {cell.id: ended_record(_ENDED)}})
        try:
            message = await Evals.run(self, cell.code, running)
        except StillRunning as still:
            self.background.began(owner, cell.place, cell.id)
            return self._aside(cell, still, state, running)
        self.background.ended(owner, cell.place)
        return message

    def _aside(
        self, cell: CellRecord, still: StillRunning, state: Mapping[str, Any], running: EvalCall
    ) -> ToolMessage:
        _store(running).put_aside()
        watched = running.watched
        console = "" if watched is None else watched.new_console()
        shown = Shown() if watched is None else watched.shown
        record = attrs.evolve(cell, chars=shown.chars, digest=shown.digest)
        update: dict[str, Any] = {CELLS: {cell.id: record.told()}}
        if self.spending is not None:
            update |= self.spending.told(turn_key(state, running.graph), state)
        return self._told(self._text(cell.id, console, still.waits_for), update, running)

    def _text(self, cell: str, console: str, waits_for: Sequence[str]) -> str:
        names = self.background
        listed = ", ".join(waits_for[:10]) + (", …" if len(waits_for) > 10 else "")
        told = _escaped(
            f"the code waits for {listed}. Calls in flight continue. Call "
            f'{names.wait_name}(id="{cell}", seconds=…) to continue the code, or '
            f'{names.terminate_name}(id="{cell}") to end it.'
        )
        output = render(Outcome(console=console)).removesuffix("<result></result>")
        return f'{output}<running id="{cell}">{told}</running>'

    def _running(self, state: Mapping[str, Any], running: EvalCall) -> list[str]:
        """The ids of the cells that hold the variables of a conversation."""
        turn = turn_of(state) if self.mode.scope == "turn" else None
        recent = self.background.recent(owner_of(state, running.graph), running.place)
        return [*running_ids(state, turn), *([recent] if recent else [])]

    def _lives(self, cell: CellRecord, state: Mapping[str, Any]) -> bool:
        return self.mode.scope != "turn" or cell.turn == turn_of(state)

    def _refused(self, cell: str, running: EvalCall) -> ToolMessage:
        names = self.background
        text = (
            f"cell {cell} is still at work and holds the variables; nothing was run. Call "
            f'{names.wait_name}(id="{cell}") or {names.terminate_name}(id="{cell}") first'
        )
        return self._told(f'<error type="CellAtWork">{text}</error>', {}, running, "error")

    def _gone(self, cell: str, state: Mapping[str, Any], running: EvalCall) -> ToolMessage:
        turn = turn_of(state) if self.mode.scope == "turn" else None
        text = _escaped(f"cell {cell:.60}: {gone(state, cell, turn)}")
        return self._told(f'<error type="CellGone">{text}</error>', {}, running, "error")

    def _lost(self, cell: CellRecord, running: EvalCall) -> ToolMessage:
        text = f'<error type="CellGone">cell {cell.id}: {_LOST}</error>'
        return self._told(text, {CELLS: {cell.id: ended_record(_LOST)}}, running, "error")

    def _told(
        self, text: str, update: Mapping[str, Any], running: EvalCall, status: str = "success"
    ) -> ToolMessage:
        message = ToolMessage(
            content=text,
            tool_call_id=running.id,
            name=running.request.tool_call["name"],
            status=status,
        )
        return commit(message, self.channels.named(update), running, commands=())


def _store(running: EvalCall) -> BackgroundStore:
    if not isinstance(running.store, BackgroundStore):
        raise ConfigurationError(
            "background=True needs a checkpointer: pass one to the agent, and a thread_id with "
            "each run"
        )
    return running.store


def _escaped(text: str) -> str:
    return html.escape(text, quote=False).encode("utf-8", "backslashreplace").decode()
