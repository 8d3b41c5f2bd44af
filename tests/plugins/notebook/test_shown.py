"""Outcomes as text and as HTML; everything of a guest is escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from interpstack import UNDEFINED, GuestError, Outcome
from interpstack.guests import place_at
from interpstack_notebook.shown import CellView, outcome_bundle, table

HOSTILE = "</pre></td><script>alert(1)</script><img src=x onerror='alert(2)'>\"\x1b[31m\u202e"


class Tags(HTMLParser):
    """The elements of a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(text=HOSTILE, console=HOSTILE, notices=(HOSTILE,)),
        Outcome(
            error=GuestError(HOSTILE, HOSTILE, HOSTILE, place=place_at(HOSTILE + "\n", 3)),
            console=HOSTILE,
        ),
    ],
)
def test_hostile_texts_stay_texts(outcome: Outcome) -> None:
    bundle = outcome_bundle(outcome)
    shown = Tags(bundle["text/html"])
    assert shown.found <= {"div", "pre"}
    assert shown.attributes == {"style"}
    assert not re.search("[\x1b\u202e]", bundle["text/html"] + bundle["text/plain"])


@pytest.mark.parametrize("row", [{HOSTILE: HOSTILE}, {"a": [HOSTILE]}, {"a": {HOSTILE: 1}}])
def test_hostile_records_stay_texts(row: dict[str, Any]) -> None:
    shown = Tags(table([row]))
    assert shown.found == {"table", "thead", "tbody", "tr", "th", "td"}
    assert shown.attributes == set()


def test_a_table_has_one_column_for_each_field() -> None:
    made = table([{"a": 1, "b": True}, {"b": None, "c": UNDEFINED}])
    assert re.findall("<th>(.*?)</th>", made) == ["a", "b", "c"]
    assert re.findall("<td>(.*?)</td>", made) == ["1", "true", "", "", "", ""]


def test_an_integer_without_end_costs_no_table() -> None:
    assert "<td>…</td>" in table([{"a": 10**5000}])  # Python does not write it


def test_a_table_is_bounded() -> None:
    rows = [{f"column {n}": "x" * 1000 for n in range(60)}] * 1234
    made = table(rows)
    assert made.count("<tr>") == 101
    assert made.count("<th>") == 50
    assert "100 of 1,234 rows, 50 of 60 columns" in made
    assert "x" * 200 + "…" in made
    assert "x" * 201 not in made


def test_the_output_of_a_cell_has_no_console_output() -> None:
    shown = CellView(Outcome(text="[{a: 1}]", console="told"), [{"a": 1}])
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"] == repr(shown) == "[{a: 1}]"
    assert bundle["text/html"].startswith("<table>")


def test_omissions_are_reported() -> None:
    outcome = Outcome(text="[1", omitted_chars=7, omitted_exact=False, console_omitted_chars=3)
    found = outcome_bundle(outcome)["text/html"]
    assert "more than 7 characters were left out" in found
    assert "3 characters of output were left out" in found
    assert outcome_bundle(Outcome(text="undefined", undefined=True))["text/html"] == ""
