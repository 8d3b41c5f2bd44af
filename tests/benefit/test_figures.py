"""Figures are compared with what is stored: tokens with a tolerance, turns and states without."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from benefit_figures import differences, picture, seconds, stored, tables


def _changed(path: str, factor: float) -> dict[str, Any]:
    found = copy.deepcopy(stored())
    *outer, last = path.split("/")
    inner = found["suites"]["AgentDojo"]
    for key in outer:
        inner = inner[key]
    inner[last] = round(inner[last] * factor)
    return found


@pytest.mark.parametrize(
    ("path", "factor", "alike"),
    [
        ("ways/code/read", 1, True),
        ("ways/code/read", 1.01, True),
        ("ways/code/read", 0.97, False),
        ("ways/calls/written", 1.03, False),
        ("ways/code/turns", 1.01, False),
        ("tasks", 2, False),
    ],
)
def test_differences_are_named(path: str, factor: float, alike: bool) -> None:
    found = differences(stored(), _changed(path, factor))
    assert len(found) == (0 if alike else 1)
    assert all(path.replace("/", " ") in line for line in found)


def test_a_figure_that_is_gone_differs() -> None:
    found = copy.deepcopy(stored())
    del found["by_calls"]["1"]["code"]["turns"]
    assert len(differences(stored(), found)) == 1


def test_time_is_that_of_turns_and_of_what_is_written() -> None:
    assert seconds({"turns": 3, "written": 100}) == 3 + 2


def test_the_picture_has_the_figures_of_the_tables() -> None:
    found = stored()
    texts = picture(found)
    for suite in found["suites"].values():
        for way in ("calls", "code", "code_only"):
            read = f"{suite['ways'][way]['read'] / suite['tasks']:,.0f}"
            assert f">{read}<" in texts
            assert f"| {read} |" in tables(found)
