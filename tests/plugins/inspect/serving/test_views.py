"""The values that templates get."""

from __future__ import annotations

import attrs
import pytest
from inspected import record, summary

from interpstack_inspect.api import InnerCall
from interpstack_inspect.serving.views import Views, eval_view


def _calls(count: int, chars: int) -> list[InnerCall]:
    return [
        InnerCall(id=n, bridge="tools.a", input="i" * chars, asked=0.0, answered=1.0, answer="a")
        for n in range(1, count + 1)
    ]


def test_a_page_stays_small_with_many_calls() -> None:
    view = eval_view(record(events=_calls(1000, 100_000)))
    texts = [text for row in view["rows"] for _, text in row.texts]
    assert 500_000 < sum(map(len, texts)) < 5_000_000
    (row,) = eval_view(record(events=_calls(1, 100_000), computing=[]))["rows"]
    assert len(row.texts[0][1]) == 10_001


def test_lines_of_code_with_their_calls() -> None:
    code = "\ntools.a()\nfor (;;) tools.a()\n"
    view = eval_view(record(summary=summary(code=code), events=_calls(3, 1)))
    assert len(view["code"]) == 2
    assert view["calls"] == {1: {"tools.a": 3}, 2: {"tools.a": 3}}
    assert view["ambiguous"]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (
            "2026-01-02T03:04:05.678901+00:00",
            '<time datetime="2026-01-02T03:04:05.678+00:00">2026-01-02 03:04:05 UTC</time>',
        ),
        (
            "2026-01-02T03:04:05+02:00",
            '<time datetime="2026-01-02T01:04:05.000+00:00">2026-01-02 01:04:05 UTC</time>',
        ),
        ("no <time>", "no &lt;time&gt;"),
        ("", ""),
    ],
)
def test_times(given: str, shown: str) -> None:
    views = Views("")
    page = views.page("eval", name="t", **eval_view(record(summary=summary(began=given))))
    assert f"<dt>began</dt><dd>{shown}</dd>" in page


def test_facts_that_are_not_recorded_are_left_out() -> None:
    bare = attrs.evolve(
        record(), engine="", language="", state_bytes=None, stored_bytes=None, drawn={}
    )
    assert [title for title, _ in eval_view(bare)["facts"]] == ["tool", "call"]
