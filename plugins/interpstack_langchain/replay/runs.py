"""One run of a recorded eval, and the notes on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from interpstack import (
    Cell,
    EngineFailure,
    GuestError,
    ImageError,
    InterpstackError,
    Outcome,
    Request,
    Session,
    SessionState,
)
from interpstack_agents import readable_arguments
from interpstack_display.api import with_texts
from interpstack_durable.api import ReplayDivergence, UnreadableJournal
from interpstack_langchain.replay.read_only import RecordEnds, Rerun
from interpstack_langchain.replay.recorded_evals import RecordedEval
from interpstack_langchain.replay.timeline import Timeline

__all__ = ["ReplayedRun", "remarks", "restore", "run_again"]

#: Seconds until code that only waits for timers counts as waiting.
_GRACE_SECONDS: Final = 2.0
#: Characters of pending requests that are shown.
_SHOWN_CHARS: Final = 200


@attrs.frozen
class ReplayedRun:
    """The end of one run.

    Attributes:
        status: See `Replay`.
        text: The answer for the model, or the reason why there is none.
    """

    status: str
    text: str


def remarks(
    found: RecordedEval, timeline: Timeline, run: ReplayedRun, *, differs: bool
) -> Iterator[str]:
    """Notices about a run, in addition to the notices about its variables."""
    if timeline.began is None and not found.not_begun:
        yield (
            "No call is recorded, and so no clock: the code gets the time at which its step began."
        )
    if run.status == "ended" and found.answer is None:
        yield "No answer is recorded: the agent had not finished this step."
    if differs:
        yield "The recorded answer differs."


async def restore(session: Session, state: SessionState) -> Sequence[str]:
    """Bring a session to a state; returns notices for the reader."""
    if state == SessionState():
        return ()
    try:
        return await session.restore_state(state)
    except (ImageError, EngineFailure) as error:
        await session.reset()
        return (f"Variables from before cannot be restored: {error}.",)


async def run_again(
    session: Session, found: RecordedEval, rerun: Rerun, timeline: Timeline, notes: Sequence[str]
) -> ReplayedRun:
    """Run an eval in a session that has its variables.

    Args:
        session: The session, bound to the offer of the run.
        found: The eval.
        rerun: The run.
        timeline: The recorded timeline of the eval.
        notes: Notices about the variables, which the model may have got with the answer.
    """
    if found.not_begun:
        return ReplayedRun("not begun", found.not_begun)
    try:
        outcome = await _outcome(session, found.code.source, rerun)
    except RecordEnds as end:
        return _unfinished(end, found, timeline)
    except ReplayDivergence as error:
        return ReplayedRun("diverged", str(error))
    except UnreadableJournal:
        raise  # there is nothing to run
    except InterpstackError as error:
        outcome = Outcome(error=GuestError(type(error).__name__, str(error)))
        return ReplayedRun("failed", session.render(outcome))
    if found.cell is not None:
        outcome = found.cell.unseen(outcome)
    text = _text(session, outcome)
    noted = attrs.evolve(outcome, notices=(*notes, *outcome.notices))
    if text != found.answer and _text(session, noted) == found.answer:
        text = found.answer or text
    # What stopped this run, its limits or its engine, says nothing of the code.
    return ReplayedRun("failed" if outcome.stopped and found.answer != text else "ended", text)


def _unfinished(end: RecordEnds, found: RecordedEval, timeline: Timeline) -> ReplayedRun:
    """The state of an eval at the end of its record."""
    if found.cell is not None and found.cell.terminated:
        return ReplayedRun("terminated", _in_flight(end, timeline))
    if timeline.paused is not None and found.answer is None:
        return ReplayedRun("paused", f"waiting for {', '.join(timeline.paused.waits_for)}")
    return ReplayedRun("in flight", _in_flight(end, timeline))


def _text(session: Session, outcome: Outcome) -> str:
    """An outcome, as the model gets it."""
    chars = session.stack.limits.result_chars
    return with_texts(session.render(outcome), outcome, chars)


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
    kinds = {True: "ended, but not received by the code", False: "in flight when the record ends"}
    parts = []
    for over, what in sorted(kinds.items()):
        requests = [request for request in end.waiting if (request.id in ended) is over]
        if requests:
            parts.append(f"{what}: {', '.join(map(_shown, requests))}")
    return "; ".join(parts)


def _shown(request: Request) -> str:
    return f"{request.bridge}({readable_arguments(request):.{_SHOWN_CHARS}})"
