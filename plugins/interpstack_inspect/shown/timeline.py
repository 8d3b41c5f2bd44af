"""Rows of a timeline: the calls and pauses of an eval, each with a bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from interpstack_inspect.contract.records import InnerCall, PauseEvent
from interpstack_inspect.shown.texts import brief

__all__ = ["BAR_WIDTH", "Row", "last_second", "timeline_rows"]

#: Units of a bar's width; a bar is drawn at least `_LEAST` wide, so that short calls are seen.
BAR_WIDTH: Final = 1000.0
_LEAST: Final = 4.0
#: Characters of an input or an answer that a row shows before it is opened.
_BRIEF: Final = 120


@attrs.frozen
class Row:
    """One line of a timeline.

    Attributes:
        kind: `call` or `pause`.
        id: The id of the call, or the number of the pause.
        name: The called bridge, or a name of the pause.
        asked: Seconds from the eval's begin.
        told: Seconds from the begin to the answer; `None` without one.
        start: Position of the beginning of the bar, in units of `BAR_WIDTH`.
        width: The width of the bar.
        state: `ok`, `failed`, `open` or `pause`, which chooses the colour.
        texts: Texts to read, with a title for each.
    """

    kind: str
    id: int
    name: str
    asked: float
    told: float | None
    start: float
    width: float
    state: str
    texts: Sequence[tuple[str, str]]

    @property
    def brief(self) -> str:
        """The beginning of the first text."""
        return brief(self.texts[0][1], _BRIEF) if self.texts else ""


def last_second(events: Sequence[InnerCall | PauseEvent]) -> float:
    """Time from an eval's begin to its last recorded event, in seconds."""
    times = [0.0]
    for event in events:
        if isinstance(event, InnerCall):
            times += [event.asked, event.answered or 0.0]
        else:
            times.append(event.at)
    return max(times)


def timeline_rows(events: Sequence[InnerCall | PauseEvent], *, chars: int) -> Iterator[Row]:
    """Rows for the events of one eval, in their order.

    Args:
        events: Calls and pauses of one eval.
        chars: Characters of each input and answer; the rest is left out.
    """
    end = last_second(events)
    for event in events:
        if isinstance(event, InnerCall):
            yield _call(event, end, chars)
            continue
        texts = [("waits for", ", ".join(event.waits_for))]
        texts += [("", "answered" if event.resumed else "not answered")]
        bar = _bar(event.at, event.at, end)
        name = f"pause {event.number}"
        yield Row("pause", event.number, name, event.at, None, *bar, "pause", texts)


def _call(call: InnerCall, end: float, chars: int) -> Row:
    received = call.answered is not None
    state = "failed" if call.failed else "ok" if received else "open"
    texts = [("input", brief(call.input, chars))]
    if call.answer is not None:
        texts.append(("error" if call.failed else "answer", brief(call.answer, chars)))
    texts += [("decision", decision) for decision in call.decisions]
    if call.answer is not None and not received:
        texts.append(("", "the code has not received this answer"))
    until = end if call.answered is None else call.answered
    bar = _bar(call.asked, until, end)
    return Row("call", call.id, call.bridge, call.asked, call.answered, *bar, state, texts)


def _bar(begin: float, until: float, end: float) -> tuple[float, float]:
    """The beginning of a bar, and its width."""
    scale = BAR_WIDTH / end if end > 0 else 0.0
    return min(begin * scale, BAR_WIDTH - _LEAST), max(_LEAST, (until - begin) * scale)
