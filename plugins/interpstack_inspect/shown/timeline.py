"""Rows of a timeline: the calls, pauses and computing of an eval, each with a bar."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final

import attrs

from interpstack_inspect.contract.records import Computing, InnerCall, PauseEvent
from interpstack_inspect.shown.texts import brief

__all__ = ["BAR_WIDTH", "Row", "computed", "last_second", "timeline_rows"]

#: Units of a bar's width; a bar is drawn at least `_LEAST` wide, so that short calls are seen.
BAR_WIDTH: Final = 1000.0
_LEAST: Final = 4.0
#: Characters of an input or an answer that a row shows before it is opened.
_BRIEF: Final = 120
#: Stretches of computing that have rows: the longest, if they take at least so many seconds.
_MOST_COMPUTING: Final = 100
_SEEN_SECONDS: Final = 0.001


@attrs.frozen
class Row:
    """One line of a timeline.

    Attributes:
        kind: `call`, `pause` or `computing`.
        id: The id of the call, or the number of the pause or of the stretch of computing.
        name: The called bridge, or a name of the pause or of the computing.
        asked: Seconds from the beginning of the eval.
        answered: Seconds from the beginning to the answer, or to the end of the computing; `None`
            if there is none.
        start: Position of the beginning of the bar, in units of `BAR_WIDTH`.
        width: The width of the bar.
        state: `ok`, `failed`, `open`, `pause` or `computing`, which chooses the colour.
        texts: Texts to read, with a title for each.
    """

    kind: str
    id: int
    name: str
    asked: float
    answered: float | None
    start: float
    width: float
    state: str
    texts: Sequence[tuple[str, str]]

    @property
    def brief(self) -> str:
        """The beginning of the first text."""
        return brief(self.texts[0][1], _BRIEF) if self.texts else ""


def last_second(
    events: Sequence[InnerCall | PauseEvent], computing: Sequence[Computing] = ()
) -> float:
    """Time from the beginning of an eval to its last recorded event, in seconds."""
    times = [0.0, *(one.ended for one in computing)]
    for event in events:
        if isinstance(event, InnerCall):
            times += [event.asked, event.answered or 0.0]
        else:
            times.append(event.at)
    return max(times)


def computed(computing: Sequence[Computing]) -> str:
    """Words on the time that a guest computed, and on stretches without a row; may be empty."""
    if not computing:
        return ""
    seconds = sum(one.ended - one.began for one in computing)
    times = "once" if len(computing) == 1 else f"{len(computing)} times"
    shorter = len(computing) - len(_longest(computing))
    least = f"; the {shorter} shortest have no row" if shorter else ""
    return f"{seconds:.3f} s, {times}{least}"


def timeline_rows(
    events: Sequence[InnerCall | PauseEvent],
    computing: Sequence[Computing] = (),
    *,
    chars: int,
) -> Iterator[Row]:
    """Rows for the events of one eval, in their order, each after the computing before it.

    Args:
        events: Calls and pauses of one eval.
        computing: Stretches in which the guest computed.
        chars: Characters of each input and answer; the rest is left out.
    """
    end = last_second(events, computing)
    stretches = deque(_longest(computing))
    for event in events:
        at = event.asked if isinstance(event, InnerCall) else event.at
        while stretches and stretches[0][1].ended <= at:
            yield _computing(*stretches.popleft(), end)
        if isinstance(event, InnerCall):
            yield _call(event, end, chars)
            continue
        texts = [("waits for", ", ".join(event.waits_for))]
        texts += [("", "answered" if event.resumed else "not answered")]
        bar = _bar(event.at, event.at, end)
        name = f"pause {event.number}"
        yield Row("pause", event.number, name, event.at, None, *bar, "pause", texts)
    for number, one in stretches:
        yield _computing(number, one, end)


def _longest(computing: Sequence[Computing]) -> list[tuple[int, Computing]]:
    """The stretches that have rows, with their numbers, in order."""
    seen = [
        (number, one)
        for number, one in enumerate(computing, 1)
        if one.ended - one.began >= _SEEN_SECONDS
    ]
    seen.sort(key=lambda each: each[1].began - each[1].ended)
    return sorted(seen[:_MOST_COMPUTING], key=itemgetter(0))


def _computing(number: int, one: Computing, end: float) -> Row:
    bar = _bar(one.began, one.ended, end)
    texts = [("", f"{one.ended - one.began:.3f} s")]
    name = "guest computing"
    return Row("computing", number, name, one.began, one.ended, *bar, "computing", texts)


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
