"""Runs recorded evals again, on the state they started from and against their journals."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime

import attrs

from interpstack import (
    ConfigurationError,
    InterpreterStack,
    Limits,
    Session,
    SessionState,
)
from interpstack_agents import RecordRejected, are_records
from interpstack_langchain.replay.read_only import NothingIsCalled, ReadOnlyStore, Rerun
from interpstack_langchain.replay.recorded_evals import Record, RecordedEval, recorded_state
from interpstack_langchain.replay.runs import remarks, restore, run_again
from interpstack_langchain.replay.timeline import Timeline

__all__ = ["Replay", "Replayer"]


@attrs.frozen(kw_only=True)
class Replay:
    """The result of running a recorded eval again.

    Attributes:
        status: `ended`, `paused`, `in flight`, `terminated`, `failed`, `diverged` or `not begun`.
        engine: The engine that ran the eval.
        language: The language of the code.
        text: The answer for the model, the requests that the code waits for, or the point of
            divergence.
        notes: Further notices for the reader.
        differs: Whether it ended with another answer than is recorded.
    """

    status: str
    engine: str
    language: str
    text: str
    notes: Sequence[str] = ()
    differs: bool = False

    @property
    def as_recorded(self) -> bool:
        """Whether the run matched the record as far as the record goes."""
        return self.status not in ("failed", "diverged") and not self.differs


@attrs.frozen
class _Live:
    """A session that has run an eval as it was recorded, for the eval that came next.

    Attributes:
        session: The session.
        opened: Closes the session.
        engine: Name of the engine.
        newest: Id of the newest record of the session's state.
    """

    session: Session
    opened: AsyncExitStack
    engine: str
    newest: str


@attrs.define(eq=False, repr=False)
class Replayer:
    """Runs evals again; a context manager that closes the engines it opened.

    Args:
        engine: To run them in; `None` for the one that their state is of, else the usual one of
            their surface.
        limits: The limits of each eval.
        signing_key: Records of other keys are refused; `None` to check none.
    """

    engine: str | None
    limits: Limits
    signing_key: bytes | None = None
    _live: dict[tuple[str, str], _Live] = attrs.field(factory=dict, init=False)
    _stacks: dict[tuple[str, Hashable | None], InterpreterStack] = attrs.field(
        factory=dict, init=False
    )

    def __enter__(self) -> Replayer:
        return self

    def __exit__(self, *raised: object) -> None:
        for stack in self._stacks.values():
            stack.close()

    async def replay(
        self,
        found: RecordedEval,
        timeline: Timeline,
        before: Sequence[Record],
        after: Sequence[Record],
        bridges: Mapping[str, Mapping[str, bool]],
    ) -> Replay:
        """Run an eval again.

        Args:
            found: The eval to run.
            timeline: The recorded timeline of the eval.
            before: Records of the state it started from.
            after: Records it wrote itself.
            bridges: Names to offer to its code.

        Raises:
            ConfigurationError: There is no such engine, or it runs another language.
        """
        state, notes = self._state(found, before)
        recorded = _engine_of(state) or self._engine_after(found, before, after)
        name = self.engine or recorded or found.surface.usual_engine
        self._check_language(found, timeline.language or self._language_of(recorded), name)
        newest = _newest(before) if not notes else ""
        live = self._live.pop((found.owner, found.tool_name), None)
        first: Replay | None = None
        if live is not None:
            if live.newest == newest and live.engine == name:
                first = await self._attempt(live, found, timeline, bridges, [])
                if first.as_recorded:
                    await self._keep(live, found, first, _newest(after) or newest)
                    return first
            await live.opened.aclose()
        async with AsyncExitStack() as opening:
            stack = self._stack(name, found.surface.plugin)
            session = await opening.enter_async_context(stack.session())
            fresh = _Live(session, opening.pop_all(), name, newest)
        session.bind(_rerun(found, bridges).offer())
        notes += await restore(session, state)
        replay = await self._attempt(fresh, found, timeline, bridges, notes)
        await self._keep(fresh, found, replay, _newest(after) or newest)
        return replay if first is None or replay.as_recorded else first

    async def _attempt(
        self,
        live: _Live,
        found: RecordedEval,
        timeline: Timeline,
        bridges: Mapping[str, Mapping[str, bool]],
        notes: Sequence[str],
    ) -> Replay:
        """Run an eval in a session that has the variables."""
        rerun = _rerun(found, bridges)
        live.session.bind(rerun.offer())
        run = await run_again(live.session, found, rerun, timeline, notes)
        differs = run.status == "ended" and found.answer not in (None, run.text)
        return Replay(
            status=run.status,
            engine=live.engine,
            language=live.session.stack.engine.language,
            text=run.text,
            notes=[*notes, *remarks(found, timeline, run, differs=differs)],
            differs=differs,
        )

    async def _keep(self, live: _Live, found: RecordedEval, replay: Replay, newest: str) -> None:
        """Keep a session for the eval after this one: it has functions, which states may lack."""
        if replay.status == "ended" and replay.as_recorded and newest:
            self._live[found.owner, found.tool_name] = attrs.evolve(live, newest=newest)
        else:
            await live.opened.aclose()

    def _state(
        self, found: RecordedEval, records: Sequence[Record]
    ) -> tuple[SessionState, list[str]]:
        try:
            return recorded_state(records, found.owner, self.signing_key), []
        except RecordRejected as error:
            return SessionState(), [f"Variables from before cannot be restored: {error}."]

    def _engine_after(
        self, found: RecordedEval, before: Sequence[Record], after: Sequence[Record]
    ) -> str | None:
        if not after:
            return None
        state, _ = self._state(found, [*before, *after])
        return _engine_of(state)

    def _language_of(self, engine: str | None) -> str | None:
        """The language of an engine; `None` if the engine is unknown or not installed."""
        if engine is None:
            return None
        try:
            return self._stack(engine).engine.language
        except ConfigurationError:
            return None

    def _check_language(self, found: RecordedEval, recorded: str | None, engine: str) -> None:
        language = self._stack(engine).engine.language
        if recorded not in (None, language):
            raise ConfigurationError(
                f"eval {found.number} was recorded in {recorded}, and engine {engine!r} runs "
                f"{language}; name an engine for {recorded} with --engine"
            )

    def _stack(self, engine: str, helpers: Hashable | None = None) -> InterpreterStack:
        if (engine, helpers) not in self._stacks:
            # What was shown is shown again, so `display` comes before the names that are refused.
            shows = ["console", "display", *([] if helpers is None else [helpers])]
            plugins = ["persistence", "durable", *shows, NothingIsCalled()]
            # The code ran, so the check had passed it, with the tools of that time.
            made = InterpreterStack(engine, plugins, limits=self.limits, check="off")
            self._stacks[engine, helpers] = made
        return self._stacks[engine, helpers]


def _rerun(found: RecordedEval, bridges: Mapping[str, Mapping[str, bool]]) -> Rerun:
    return Rerun(
        store=ReadOnlyStore(found.key, found.entries),
        began=datetime.fromisoformat(found.began).timestamp(),
        bridges=bridges,
    )


def _engine_of(state: SessionState) -> str | None:
    return None if state.image is None else state.image.engine


def _newest(records: Sequence[Record]) -> str:
    """The id of the newest record; empty without any."""
    return str(records[-1].get("id", "")) if records and are_records([*records]) else ""
