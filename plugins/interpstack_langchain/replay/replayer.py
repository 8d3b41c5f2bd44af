"""Runs recorded evals again, on the state they started from and against their journals."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import attrs

from interpstack import (
    Cell,
    ConfigurationError,
    EngineFailure,
    GuestError,
    ImageError,
    InterpreterStack,
    InterpstackError,
    Limits,
    Outcome,
    PluginManager,
    Request,
    Session,
    SessionState,
)
from interpstack_agents import Persistence, RecordRejected, persistence_mode
from interpstack_durable.api import ReplayDivergence, UnreadableJournal
from interpstack_langchain.evals.attachment_blocks import with_texts
from interpstack_langchain.replay.read_only import (
    NothingIsCalled,
    ReadOnlyStore,
    RecordEnds,
    Rerun,
)
from interpstack_langchain.replay.recorded_evals import Record, RecordedEval
from interpstack_langchain.replay.timeline import Timeline
from interpstack_langchain.tools.tool_errors import shown

__all__ = ["Replay", "Replayer"]

#: Seconds until code that only waits for timers counts as waiting.
_GRACE_SECONDS: Final = 2.0
#: Characters of pending requests that are shown.
_SHOWN_CHARS: Final = 200


@attrs.frozen(kw_only=True)
class Replay:
    """The result of running a recorded eval again.

    Attributes:
        status: `ended`, `paused`, `in flight`, `failed`, `diverged` or `not begun`.
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


@attrs.define(eq=False)
class Replayer:
    """Runs evals again; a context manager that closes the engines it opened.

    Args:
        engine: To run them in; `None` for the one that their state is of, else `quickjs`.
        limits: The limits of each eval.
        signing_key: Records of other keys are refused; `None` to check none.
    """

    engine: str | None
    limits: Limits
    signing_key: bytes | None = None
    _stacks: dict[str, InterpreterStack] = attrs.field(factory=dict, init=False)

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
        bridges: Mapping[str, bool],
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
        name = self.engine or recorded or "quickjs"
        self._check_language(found, timeline.language or self._language_of(recorded), name)
        run = Rerun(
            store=ReadOnlyStore(found.key, found.entries),
            began=datetime.fromisoformat(found.began).timestamp(),
            bridges=bridges,
        )
        stack = self._stack(name)
        async with stack.session() as session:
            session.bind(run.offer())
            notes += await _restore(session, state)
            status, text = await _run(session, found, run, timeline)
        differs = status == "ended" and found.answer not in (None, text)
        return Replay(
            status=status,
            engine=name,
            language=stack.engine.language,
            text=text,
            notes=[*notes, *_remarks(found, timeline, ended=status == "ended", differs=differs)],
            differs=differs,
        )

    def _state(
        self, found: RecordedEval, records: Sequence[Record]
    ) -> tuple[SessionState, list[str]]:
        if not records:
            return SessionState(), []
        *earlier, record = records
        try:
            return self._mode().load(record, found.owner, earlier), []
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

    def _mode(self) -> Persistence:
        # All modes have the same records, and to read them takes no engine.
        mode = persistence_mode(PluginManager(["persistence"]), "thread")
        return mode(signing_key=self.signing_key)

    def _stack(self, engine: str) -> InterpreterStack:
        if engine not in self._stacks:
            # What was shown is shown again, so `display` comes before the names that are refused.
            plugins = ["persistence", "durable", "console", "display", NothingIsCalled()]
            self._stacks[engine] = InterpreterStack(engine, plugins, limits=self.limits)
        return self._stacks[engine]


def _engine_of(state: SessionState) -> str | None:
    return None if state.image is None else state.image.engine


def _remarks(
    found: RecordedEval, timeline: Timeline, *, ended: bool, differs: bool
) -> Iterator[str]:
    """Notices about a run, in addition to the notices about its variables."""
    if timeline.began is None and not found.blocked:
        yield (
            "No call is recorded, and so no clock: the code is told the time at which its "
            "step began."
        )
    if ended and found.answer is None:
        yield "No answer is recorded: the agent had not come to the end of this step."
    if differs:
        yield "The recorded answer is another."


async def _restore(session: Session, state: SessionState) -> Sequence[str]:
    if state == SessionState():
        return ()
    try:
        return await session.restore_state(state)
    except (ImageError, EngineFailure) as error:
        await session.reset()
        return (f"Variables from before cannot be restored: {error}.",)


async def _run(
    session: Session, found: RecordedEval, run: Rerun, timeline: Timeline
) -> tuple[str, str]:
    """The end of the run: a status and its text."""
    if found.blocked:
        return "not begun", "it runs once the evals before it in the same message have ended"
    try:
        outcome = await _outcome(session, found.code, run)
    except RecordEnds as end:
        if timeline.paused is not None and found.answer is None:
            return "paused", f"waiting for {', '.join(timeline.paused.waits_for)}"
        return "in flight", _in_flight(end, timeline)
    except ReplayDivergence as error:
        return "diverged", str(error)
    except UnreadableJournal:
        raise  # there is nothing to run
    except InterpstackError as error:
        outcome = Outcome(error=GuestError(type(error).__name__, str(error)))
        return "failed", session.render(outcome)
    text = with_texts(session.render(shown(outcome)), outcome, session.stack.limits.result_chars)
    # What stopped this run, its limits or its engine, says nothing of the code.
    return ("failed" if outcome.stopped and found.answer != text else "ended"), text


async def _outcome(session: Session, code: str, run: Rerun) -> Outcome:
    """Run the code; timers that are pending at the end of the record are not awaited."""
    running = asyncio.ensure_future(session.eval(Cell(source=code)))
    over = asyncio.ensure_future(run.over.wait())
    try:
        await asyncio.wait({running, over}, return_when=asyncio.FIRST_COMPLETED)
        done, _ = await asyncio.wait({running}, timeout=_GRACE_SECONDS)
    finally:
        over.cancel()
    if done:
        return running.result()
    running.cancel()
    await asyncio.wait({running})
    raise RecordEnds(tuple(run.waiting.values()))


def _in_flight(end: RecordEnds, timeline: Timeline) -> str:
    ended = {call.id for call in timeline.kept}
    told = {True: "ended, and the code not told yet", False: "in flight when the record ends"}
    parts = []
    for over, what in sorted(told.items()):
        requests = [request for request in end.waiting if (request.id in ended) is over]
        if requests:
            parts.append(f"{what}: {', '.join(map(_shown, requests))}")
    return "; ".join(parts)


def _shown(request: Request) -> str:
    text = json.dumps(request.wire, separators=(",", ":"))
    return f"{request.bridge}({text:.{_SHOWN_CHARS}})"
