"""What the middleware keeps in the graph's state, and the sessions that go with it.

The graph's state is the truth. A live session is only a cache of it: it carries the id of the
record it stands at, and is used only by a graph state that stands at the same record. So forks,
time travel and other processes all see the state of their own checkpoint.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Mapping
from typing import Annotated, Any, NotRequired

import attrs
from langchain.agents.middleware.types import AgentState, PrivateStateAttr
from langchain_core.tools import BaseTool

from interpstack import ImageError, InterpreterStack, Persistence, RecordRejected, Session

__all__ = ["InterpreterState", "Sessions", "later"]

#: Sessions that may be known at once; the ones used longest ago are closed.
_MAX_SESSIONS = 4096


def later(left: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> Any:
    """Reduce two records to the later one: writes of one step may arrive in any order."""
    if not left or not right:
        return right or left
    return right if right["sequence"] >= left["sequence"] else left


class InterpreterState(AgentState[Any]):
    """Private channels of the middleware."""

    interpreter_turn: NotRequired[Annotated[str, PrivateStateAttr]]
    interpreter_record: NotRequired[Annotated[dict[str, Any] | None, PrivateStateAttr, later]]


@attrs.define(eq=False)
class _Known:
    session: Session
    token: str
    sequence: int
    #: A restore failed: go on in memory, but never write over the stored state.
    detached: bool = False


@attrs.define(eq=False)
class Sessions:
    """The sessions of one middleware, by conversation."""

    stack: InterpreterStack
    mode: Persistence
    _known: OrderedDict[str, _Known] = attrs.field(factory=OrderedDict, init=False)
    _offered: OrderedDict[str, list[BaseTool]] = attrs.field(factory=OrderedDict, init=False)

    def offer(self, owner: str, tools: list[BaseTool]) -> None:
        """Note the tools that the model of a conversation was just offered."""
        self._offered[owner] = tools
        self._offered.move_to_end(owner)
        while len(self._offered) > _MAX_SESSIONS:
            self._offered.popitem(last=False)

    def offered(self, owner: str) -> list[BaseTool] | None:
        """Those tools; `None` if the model was called in another process."""
        return self._offered.get(owner)

    async def enter(self, owner: str, turn: str, record: Mapping[str, Any] | None) -> _Known:
        """The session of a conversation, at the state the graph stands at."""
        token = _token(record) if self.mode.stores else turn
        known = self._known.get(owner)
        if known is None or known.token != token:
            known = await self._open(owner, token, record)
        self._known[owner] = known
        self._known.move_to_end(owner)
        await self._trim()
        return known

    async def _open(self, owner: str, token: str, record: Mapping[str, Any] | None) -> _Known:
        session = self.stack.session(owner)
        await session.reset()
        known = _Known(session, token, record["sequence"] if self.mode.stores and record else 0)
        if not self.mode.stores or not record:
            return known
        try:
            notices = await session.restore_state(self.mode.load(record, owner))
        except (RecordRejected, ImageError) as error:
            known.detached = True
            notices = (f"Variables of earlier turns could not be restored: {error}",)
        for notice in notices:
            session.notify(notice)
        return known

    def commit(self, owner: str, record: Mapping[str, Any]) -> None:
        """Note that the live session now stands at `record`."""
        known = self._known.get(owner)
        if known is not None:
            known.token = _token(record)
            known.sequence = record["sequence"]

    async def leave(self, owner: str) -> None:
        """Close a conversation's session."""
        known = self._known.pop(owner, None)
        if known is not None:
            await known.session.aclose()

    async def _trim(self) -> None:
        while len(self._known) > _MAX_SESSIONS:
            _, known = self._known.popitem(last=False)
            await known.session.aclose()


def new_turn() -> str:
    """An id for one run of the agent."""
    return uuid.uuid4().hex


def _token(record: Mapping[str, Any] | None) -> str:
    return "" if not record else str(record["id"])
