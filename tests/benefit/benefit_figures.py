"""The figures of `docs/explanation/benefit.md`: JSON, tables and a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

__all__ = [
    "COMPARED",
    "FIGURES",
    "PICTURE",
    "SECONDS_A_TURN",
    "TOKENS_A_SECOND",
    "differences",
    "picture",
    "seconds",
    "stored",
    "tables",
]

_PICTURES: Final = Path(__file__).parents[2] / "docs" / "pictures"
FIGURES: Final = _PICTURES / "benefit.json"
PICTURE: Final = _PICTURES / "benefit.svg"
#: What a model turn is supposed to take: a second until it begins, and its tokens at this rate.
SECONDS_A_TURN: Final = 1.0
TOKENS_A_SECOND: Final = 50

_TOKENS: Final = ("read", "new", "written")
_TOLERANCE: Final = 0.02
#: The ways that questions with one call, two calls and so on are compared in.
COMPARED: Final = ("calls", "code", "code_only")
_COLUMNS: Final = ("Model turns", "Tokens read", "of these new", "Tokens written", "Seconds")
_ORIGINS: Final = {
    "known": "all arguments are in the question or in the tool's description",
    "field": "some argument is a field of an earlier result",
    "text": "some argument is a part of an earlier result's text",
    "written": "some argument is in neither, and the model may have to read before it writes it",
}
_GREY: Final = "#7d8590"
_BLUE: Final = "#3b82c4"
_ORANGE: Final = "#d9822b"
_FONT: Final = "Helvetica, Arial, sans-serif"
_BARS: Final = {
    "calls": "one call a model turn",
    "calls_reading": "calls together, but read first",
    "code_reading": "cells of code, but read first",
    "calls_together": "all calls of a question together",
    "code": "one cell a question",
    "code_only": "… and no other tool",
}


def stored() -> dict[str, Any]:
    """Read the figures that the documentation shows."""
    found: dict[str, Any] = json.loads(FIGURES.read_text("utf-8"))
    return found


def seconds(figures: Mapping[str, int]) -> float:
    """Return the time that the model's turns are supposed to take."""
    return figures["turns"] * SECONDS_A_TURN + figures["written"] / TOKENS_A_SECOND


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """List the figures that differ: tokens by more than the tolerance, others at all."""
    old, new = _flat(before), _flat(after)
    return [
        f"{' '.join(key)}: {old.get(key)} is now {new.get(key)}"
        for key in dict.fromkeys([*old, *new])
        if not _are_alike(key[-1], old.get(key), new.get(key))
    ]


def _are_alike(name: str, old: Any, new: Any) -> bool:
    if name in _TOKENS and isinstance(old, int) and isinstance(new, int):
        return abs(new - old) <= _TOLERANCE * old
    return bool(old == new)


def _flat(found: Mapping[str, Any], path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    flat: dict[tuple[str, ...], Any] = {}
    for key, value in found.items():
        inner = _flat(value, (*path, key)) if isinstance(value, Mapping) else {(*path, key): value}
        flat |= inner
    return flat


def tables(found: Mapping[str, Any]) -> str:
    """Write the tables of the page, in Markdown."""
    parts = [_suite_table(suite) for suite in found["suites"].values()]
    return "\n".join([*parts, _origins_table(found["suites"]), _calls_table(found["by_calls"])])


def _suite_table(suite: Mapping[str, Any]) -> str:
    head = f"{suite['name']}, {suite['tasks']} tasks"
    rows = [
        (suite["titles"][way], *_cells(figures, suite["tasks"]))
        for way, figures in suite["ways"].items()
    ]
    return _table((head, *_COLUMNS), rows)


def _cells(figures: Mapping[str, int], count: int) -> Iterator[str]:
    yield f"{figures['turns'] / count:.1f}"
    yield from (f"{figures[name] / count:,.0f}" for name in ("read", "new", "written"))
    yield f"{seconds(figures) / count:.1f}"


def _origins_table(suites: Mapping[str, Any]) -> str:
    rows = [
        (text, *(str(suite["origins"].get(name, 0)) for suite in suites.values()))
        for name, text in _ORIGINS.items()
    ]
    return _table(("Tasks in which", *(suite["name"] for suite in suites.values())), rows)


def _calls_table(by_calls: Mapping[str, Any]) -> str:
    rows = []
    for number, one in by_calls.items():
        cells = [list(_cells(one[way], one["questions"])) for way in COMPARED]
        turns, read, _, _, times = (" / ".join(column) for column in zip(*cells, strict=True))
        rows.append((number, str(one["questions"]), turns, read, times))
    return _table(
        ("Calls that a question needs", "Questions", "Model turns", "Tokens read", "Seconds"), rows
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], f"|---|{'---:|' * (len(head) - 1)}", *lines[1:], ""])


def picture(found: Mapping[str, Any]) -> str:
    """Draw bars of model turns and of tokens read, for both suites, as SVG."""
    parts: list[str] = []
    top = 0
    for suite in found["suites"].values():
        parts += _panel(suite, top)
        top += 40 + 22 * len(_BARS) + 14
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{top}" '
            f'viewBox="0 0 720 {top}" font-family="{_FONT}" font-size="12">',
            *parts,
            "</svg>\n",
        ]
    )


def _panel(suite: Mapping[str, Any], top: int) -> Iterator[str]:
    count = suite["tasks"]
    yield _label(8, top + 16, f"{suite['name']}: a task, on average", weight="bold")
    for left, name in ((200, "model turns"), (465, "tokens read")):
        yield _label(left, top + 34, name)
    for index, (way, title) in enumerate(_BARS.items()):
        y = top + 42 + 22 * index
        yield _label(190, y + 12, title, anchor="end")
        colour = _ORANGE if way.startswith("calls") else _BLUE
        for left, key, form in ((200, "turns", "{:.1f}"), (465, "read", "{:,.0f}")):
            value = suite["ways"][way][key] / count
            largest = max(suite["ways"][one][key] for one in _BARS) / count
            width = max(1, round(190 * value / largest))
            yield f'<rect x="{left}" y="{y}" width="{width}" height="16" fill="{colour}"/>'
            yield _label(left + width + 6, y + 12, form.format(value))


def _label(x: int, y: int, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x}" y="{y}" fill="{_GREY}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(text)}</text>'
    )
