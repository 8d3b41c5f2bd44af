"""Runs evals: from the model's code to the message that answers it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import attrs
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from interpstack import (
    BridgeError,
    Cell,
    ConfigurationError,
    GuestError,
    HostOffer,
    InterpreterStack,
    InterpstackError,
    Outcome,
    Session,
    SessionClosed,
    SourceTooLarge,
    render,
)
from interpstack_agents import LiveSessions, Persistence, PersistenceScope, QueuePosition
from interpstack_display.api import with_attachment_notices
from interpstack_durable.api import StillRunning, UnreadableJournal
from interpstack_langchain.background.cell_records import running_ids
from interpstack_langchain.durability.checkpoint_stores import offer_record
from interpstack_langchain.durability.eval_stores import EvalStores
from interpstack_langchain.durability.spending import Spending
from interpstack_langchain.evals.answer_marks import REFUSED
from interpstack_langchain.evals.attachment_blocks import eval_content
from interpstack_langchain.evals.call_names import unique_names
from interpstack_langchain.evals.eval_call import EvalCall, UnboundQuestion, running_eval
from interpstack_langchain.evals.eval_queue import CallQueue
from interpstack_langchain.langgraph_internals.siblings import step_writes
from interpstack_langchain.langgraph_internals.task_writes import pairs
from interpstack_langchain.options import Options
from interpstack_langchain.state.channels import Channels
from interpstack_langchain.state.graph_state import HANDLES, mark_of, saved_in, turn_of, with_writes
from interpstack_langchain.state.not_restored import StateNotRestored
from interpstack_langchain.state.owners import as_mapping, owner_of, turn_key
from interpstack_langchain.state.state_updates import commit
from interpstack_langchain.state.variables import Variables
from interpstack_langchain.tools.offer_builder import AgentOffers, OfferedTools

__all__ = ["Evals"]

_log = logging.getLogger(__name__)


@attrs.frozen
class _Ended:
    """An eval that has ended.

    Attributes:
        outcome: How the cell ended.
        session: The session that ran the cell, which renders the outcome; `None` if none could.
        update: Channels of the interpreter to write.
    """

    outcome: Outcome
    session: Session | None = None
    update: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Evals:
    """The evals of one middleware.

    Attributes:
        options: The options of the middleware.
        stack: The stack that makes the sessions.
        mode: How long variables live.
        sessions: Sessions of the conversations.
        offered: Tools that the model of each conversation was offered last.
        stores: Stores for the journals of evals.
        queue: Queue of the evals of one message.
        offers: Offers to code.
        channels: Names of the interpreter's channels.
        variables: Whose variables each eval uses.
        spending: The budgets of turns, if there are any.
    """

    options: Options
    stack: InterpreterStack
    mode: Persistence
    sessions: LiveSessions
    offered: OfferedTools
    stores: EvalStores
    queue: CallQueue
    offers: AgentOffers
    channels: Channels
    variables: Variables
    spending: Spending | None

    def tools(self) -> list[BaseTool]:
        """The model's tools beside the one that takes code; here, there are none."""
        return []

    async def run(self, code: str, running: EvalCall, *, fresh: bool = False) -> ToolMessage:
        """Run an eval to its end.

        Args:
            code: The model's code.
            running: The eval.
            fresh: Forget the variables of the conversation first.

        Raises:
            BridgeError: Code cannot be offered the agent's tools.
            ConfigurationError: The interpreter was closed, or a fault of its set-up was found.
            Exception: The exception of a tool, if exceptions of tools leave the eval.
            GraphBubbleUp: The eval waits for a decision or an answer.
        """
        running_eval.set(running)
        if running.store is not None:  # another run reads the code from the checkpoint: see there
            code = code.encode("utf-8", "replace").decode()
        state, done = await self._state(running)
        if self.channels.handles:
            running.begin_with(state.get(HANDLES) or {})
        if running.limits is not None:
            running.limits.see(state)
        if running.watched is None and (busy := self.at_work(state, running)):
            return self._refused(busy[0], running)
        if self.spending is None:
            ended = await self._run(code, running, state, done, fresh)
            return self._answer(ended, {}, running)
        turn = turn_key(state, running.graph)
        with self.spending.eval(turn, state) as reports:
            running.trace_with(reports.among(running.callbacks))
            ended = await self._run(code, running, state, done, fresh)
        return self._answer(ended, self.spending.update(turn, state), running)

    async def _state(self, running: EvalCall) -> tuple[Mapping[str, Any], list[str]]:
        """The state that an eval starts from, and the names of evals before it that ended."""
        state, done = self.channels.view(as_mapping(running.request.state)), list[str]()
        if running.store is not None:
            await running.store.read_earlier_runs()
        if running.store is not None and running.store.resuming:
            written = step_writes(running.request.runtime.config)
            state, ended = with_writes(state, self.channels.known(written))
            done = unique_names(ended)  # of two calls with one id, the first runs first
        if running.outer is not None:  # updates of its earlier calls are not in the graph yet
            commands = [command for _, command in running.outer.commands]
            writes = [pair for command in commands for pair in pairs(command.update)]
            state, _ = with_writes(state, self.channels.known(writes))
        return state, done

    async def _run(
        self,
        code: str,
        running: EvalCall,
        state: Mapping[str, Any],
        done: Collection[str],
        fresh: bool,
    ) -> _Ended:
        request = running.request
        offered = self.offered.of(owner_of(state, running.graph))
        offer = self.offers.offer(request.runtime.tools if offered is None else offered)
        if self.spending is not None:
            self.spending.check_names(self.stack.bridge_set(offer))
        if running.store is not None:
            bridges = self.stack.bridge_set(offer)
            seen = [bridge for bridge in bridges if bridge.awaited and not bridge.hidden]
            running.store.describe(offer_record(seen, self.stack.engine.language))
        try:
            if self.mode.scope == PersistenceScope.CALL:
                async with self._alone(running), self.stack.session() as session:
                    session.bind(offer)
                    cell, heard = Cell(source=code), _heard(running)
                    outcome = await session.eval(cell, host=running, on_console=heard)
                    await self._settle(outcome, running)
                    ended = _Ended(outcome, session)
            else:
                outer = running.outer
                position = await self.queue.wait(running.calls, request.runtime.config, done)
                if outer is not None:
                    position = QueuePosition(f"inside:{outer.run_id}", index=None)
                ended = await self._in_turn(code, offer, state, position, running, fresh)
        except (StillRunning, UnreadableJournal, StateNotRestored, UnboundQuestion):
            raise  # a waiting call must not be answered
        except SessionClosed as error:
            raise ConfigurationError(
                f"the interpreter of the tool {self.options.tool_name!r} was closed, by close() or "
                "aclose() of its CodeInterpreterMiddleware or of its stack; close it after the "
                "agent's last run, or make a new middleware and agent"
            ) from error
        except SourceTooLarge as error:  # of the model, and no fault of the host
            ended = _Ended(Outcome(error=GuestError(type(error).__name__, str(error))))
        except (BridgeError, ConfigurationError):
            raise  # for the developer: the model can do nothing about it
        except InterpstackError as error:
            ended = _Ended(Outcome(error=GuestError(type(error).__name__, str(error))))
        await running.leave(ended.outcome)
        return ended

    async def _in_turn(
        self,
        code: str,
        offer: HostOffer,
        state: Mapping[str, Any],
        position: QueuePosition | None,
        running: EvalCall,
        fresh: bool,
    ) -> _Ended:
        store = running.store
        # With durable evals, the evals of a turn may run in several processes.
        keeps = self.mode.outlives_turn or store is not None
        tools = {tool.name for tool in running.request.runtime.tools}
        saved = saved_in(state, foreign=self.channels.foreign(state, tools))
        # An eval that began with the stored variables in an earlier run cannot go on without them.
        refuse = StateNotRestored if store is not None and store.needs_state else None
        context = getattr(running.request.runtime, "context", None)
        entering = self.sessions.enter(
            self.variables.owner(state, context, running.graph),
            saved,
            offer,
            keeps=keeps,
            position=position,
            refuse=refuse,
        )
        async with self._alone(running), entering as live:
            if fresh:
                await live.reset()
            if store is not None and live.detached:
                store.begin_without_state()
            outcome, record = await live.eval(
                Cell(source=code),
                host=running,
                on_console=_heard(running),
                undoes=lambda outcome: running.failure(outcome) is not None,
                again=store is not None and store.resuming,
            )
            await self._settle(outcome, running)
        if record is None:
            return _Ended(outcome, live.session)
        mark = mark_of(saved.turn, record)
        update = {"interpreter_record": [record], "interpreter_turn": mark}
        return _Ended(outcome, live.session, update)

    async def _settle(self, outcome: Outcome, running: EvalCall) -> None:
        """Note an outcome, under the lock on the eval; here, nothing is noted."""

    def at_work(self, state: Mapping[str, Any], running: EvalCall) -> list[str]:
        """Return the ids of the suspended cells that use the variables of a conversation."""
        if self.mode.scope == PersistenceScope.CALL:
            return []
        return running_ids(
            state, turn_of(state) if self.mode.scope == PersistenceScope.TURN else None
        )

    def _refused(self, cell: str, running: EvalCall) -> ToolMessage:
        """Return the answer to an eval while a cell still uses the variables."""
        text = f"cell {cell} is still running and holds the variables; nothing was run. "
        message = ToolMessage(
            content=f'<error type="CellAtWork">{text}{self._way_on(cell)}</error>',
            tool_call_id=running.id,
            name=running.request.tool_call["name"],
            status="error",
        )
        return commit(message, {}, running, commands=())

    def _way_on(self, cell: str) -> str:
        """Return what the model can do about a suspended cell."""
        return "It was suspended by an agent with background=True, which can wait for it or end it"

    def _alone(self, running: EvalCall) -> AbstractAsyncContextManager[Any]:
        """The lock on an eval."""
        return self.stores.alone(running.store) if not running.watched else running.watched.lock

    def _answer(self, ended: _Ended, spent: Mapping[str, Any], running: EvalCall) -> ToolMessage:
        outcome = running.with_notices(ended.outcome)
        if running.watched is not None:
            outcome = running.watched.unseen(outcome)
        text = self._rendered(outcome, ended.session)
        message = ToolMessage(
            response_metadata=dict(REFUSED) if outcome.refused else {},
            content=eval_content(text, outcome, self.stack.limits.result_chars),
            tool_call_id=running.id,
            name=running.request.tool_call["name"],
            status="success" if outcome.clean else "error",
        )
        calls = {} if running.limits is None else running.limits.update()
        own = {**ended.update, **spent, **calls, **running.own}
        if self.channels.handles:
            from interpstack_langchain.state.graph_handles import changed_handles  # rarely needed

            changed = changed_handles(running.commands, self.channels)
            own |= {HANDLES: changed} if changed else {}
        return commit(message, self.channels.named(own), running)

    def _rendered(self, outcome: Outcome, session: Session | None) -> str:
        """The text for the model, in the standard form where the plugin that renders fails."""
        limits = self.stack.limits
        try:
            if session is not None:
                return session.render(outcome)
        except Exception as error:  # noqa: BLE001 - a plugin of a third party
            _log.exception("a plugin failed to render the answer of an eval")
            notice = f"A plugin failed to render this answer ({type(error).__name__})."
            outcome = attrs.evolve(outcome, notices=(*outcome.notices, notice))
        outcome = with_attachment_notices(outcome)
        return render(outcome, result_chars=limits.result_chars, console_chars=limits.console_chars)


def _heard(running: EvalCall) -> Callable[[str], None] | None:
    """Return the receiver of console output of an eval that may be suspended."""
    return None if running.watched is None else running.watched.heard.append
