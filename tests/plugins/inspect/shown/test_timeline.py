"""Rows of a timeline: bars, colours and texts."""

from __future__ import annotations

import attrs
import pytest

from interpstack_inspect.api import Computing, InnerCall, PauseEvent
from interpstack_inspect.shown.timeline import BAR_WIDTH, computed, last_second, timeline_rows

CALL = InnerCall(id=1, bridge="tools.pay", input="[1]", asked=1.0, answered=3.0, answer='"ok"')
OPEN = InnerCall(id=2, bridge="task", input="[2]", asked=1.0)
PAUSE = PauseEvent(number=1, at=4.0, waits_for=["a", "b"], resumed=False)


def test_bars_are_in_proportion_and_a_moment_is_seen() -> None:
    rows = list(timeline_rows([CALL, OPEN, PAUSE], chars=100))
    assert [(row.start, row.width) for row in rows] == [
        (250.0, 500.0),
        (250.0, 750.0),  # what is open goes on to the end
        (BAR_WIDTH - 4.0, 4.0),
    ]
    assert last_second([CALL, OPEN, PAUSE]) == 4.0
    assert last_second([]) == 0.0
    assert [row.width for row in timeline_rows([attrs.evolve(OPEN, asked=0.0)], chars=9)] == [4.0]


@pytest.mark.parametrize(
    ("event", "state", "texts"),
    [
        (CALL, "ok", [("input", "[1]"), ("answer", '"ok"')]),
        (attrs.evolve(CALL, failed=True), "failed", [("input", "[1]"), ("error", '"ok"')]),
        (OPEN, "open", [("input", "[2]")]),
        (
            attrs.evolve(CALL, answered=None, decisions=["approve"]),
            "open",
            [
                ("input", "[1]"),
                ("answer", '"ok"'),
                ("decision", "approve"),
                ("", "the code has not received this answer"),
            ],
        ),
        (PAUSE, "pause", [("waits for", "a, b"), ("", "not answered")]),
        (attrs.evolve(PAUSE, resumed=True), "pause", [("waits for", "a, b"), ("", "answered")]),
    ],
)
def test_states_and_texts(
    event: InnerCall | PauseEvent, state: str, texts: list[tuple[str, str]]
) -> None:
    (row,) = timeline_rows([event], chars=100)
    assert (row.state, row.texts, row.brief) == (state, texts, texts[0][1])


def test_computing_stands_before_what_it_led_to() -> None:
    computing = [Computing(began=at, ended=until) for at, until in [(0, 1.0), (3.0, 3.5), (5, 8)]]
    rows = list(timeline_rows([CALL, OPEN, PAUSE], computing, chars=100))
    assert [(row.kind, row.id, row.asked, row.answered) for row in rows] == [
        ("computing", 1, 0, 1.0),
        ("call", 1, 1.0, 3.0),
        ("call", 2, 1.0, None),
        ("computing", 2, 3.0, 3.5),
        ("pause", 1, 4.0, None),
        ("computing", 3, 5, 8),
    ]
    assert [(row.start, row.width) for row in rows] == [
        (0.0, 125.0),
        (125.0, 250.0),
        (125.0, 875.0),
        (375.0, 62.5),
        (500.0, 4.0),
        (625.0, 375.0),
    ]
    assert (rows[0].name, rows[0].state, rows[0].brief) == (
        "guest computing",
        "computing",
        "1.000 s",
    )
    assert last_second([CALL], computing) == 8
    assert computed(computing) == "4.500 s, 3 times"
    assert computed(computing[:1]) == "1.000 s, once"
    assert computed([]) == ""


def test_short_computing_is_only_counted() -> None:
    short = [Computing(began=at, ended=at + 0.0005) for at in range(200)]
    long = [Computing(began=at, ended=at + 0.25 + at / 1000) for at in range(200, 350)]
    rows = list(timeline_rows([], [*short, *long], chars=9))
    assert [row.asked for row in rows] == list(range(250, 350)), "the longest, in order"
    assert computed([*short, *long]) == "78.775 s, 350 times; the 250 shortest have no row"


def test_long_texts_are_cut() -> None:
    long = attrs.evolve(CALL, input="i" * 200, answer="a" * 200)
    (row,) = timeline_rows([long], chars=150)
    assert [len(text) for _, text in row.texts] == [151, 151]
    assert row.brief == "i" * 120 + "…"
