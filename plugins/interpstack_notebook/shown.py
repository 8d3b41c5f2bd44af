"""Outcomes as rich output: tables, values, errors with their place, and console output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from interpstack import UNDEFINED, GuestError, Outcome
from interpstack_notebook.texts import escaped, printable

__all__ = ["CellView", "outcome_bundle", "table"]

#: Rows and columns of a table, and characters of one of its cells.
_ROWS: Final = 100
_COLUMNS: Final = 50
_CELL_CHARS: Final = 200
_NOTE: Final = '<div style="opacity: 0.7">{}</div>'
_PRE: Final = '<pre style="white-space: pre-wrap">{}</pre>'


@attrs.frozen
class CellView:
    """The value of a cell, as the output of the cell.

    Attributes:
        outcome: The outcome, whose console output was shown while the cell ran, but for its end.
        rows: The value, if it is a list of records.
    """

    outcome: Outcome
    rows: Sequence[Mapping[str, Any]] | None = None

    def __repr__(self) -> str:
        return printable(self.outcome.text)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Forms for notebooks."""
        bundle = outcome_bundle(attrs.evolve(self.outcome, console=""))
        if self.rows is not None:
            notes = "".join(map(_note, self.outcome.notices))
            bundle["text/html"] = notes + table(self.rows)
        return bundle


def outcome_bundle(outcome: Outcome) -> dict[str, str]:
    """An outcome as text and as HTML, in which all texts of the guest are escaped."""
    error = outcome.error
    console, result = outcome.console, "" if outcome.undefined else outcome.text
    if error is not None:
        result = _error_text(error)
    plain = "\n".join(
        text for text in (*outcome.notices, console, outcome.console_end, result) if text
    )
    parts = [*map(_note, outcome.notices)]
    if console:
        parts.append(_PRE.format(escaped(console)))
    if outcome.console_omitted_chars:
        parts.append(_note(f"{outcome.console_omitted_chars} characters of output were left out"))
    if outcome.console_end:
        parts.append(_PRE.format(escaped(outcome.console_end)))
    if result:
        parts.append(_PRE.format(escaped(result)))
    if outcome.omitted_chars:
        least = "" if outcome.omitted_exact else "more than "
        parts.append(_note(f"{least}{outcome.omitted_chars} characters were left out"))
    return {"text/plain": printable(plain), "text/html": "".join(parts)}


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Records as an HTML table, with one column for each field."""
    names = list(dict.fromkeys(name for row in rows[:_ROWS] for name in row))
    columns = names[:_COLUMNS]
    head = "".join(f"<th>{escaped(_cut(str(name)))}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(row.get(name, UNDEFINED))}</td>' for name in columns)}</tr>"
        for row in rows[:_ROWS]
    )
    left = []
    if len(rows) > _ROWS:
        left.append(f"{_ROWS} of {len(rows):,} rows")
    if len(names) > _COLUMNS:
        left.append(f"{_COLUMNS} of {len(names):,} columns")
    made = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return made + (_note(", ".join(left)) if left else "")


def _cell(value: Any) -> str:
    if value is UNDEFINED or value is None:
        return ""
    return escaped(_cut(value if isinstance(value, str) else _text(value)))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        return value.isoformat() if hasattr(value, "isoformat") else str(value)
    except ValueError:  # Python writes no integer of more than some thousand digits
        return "…"


def _cut(text: str) -> str:
    return text if len(text) <= _CELL_CHARS else text[:_CELL_CHARS] + "…"


def _note(text: str) -> str:
    return _NOTE.format(escaped(text))


def _error_text(error: GuestError) -> str:
    parts = [f"{error.name or 'Error'}: {error.message}", error.stack.rstrip()]
    if error.place is not None:
        parts.append(error.place.excerpt())
    return "\n".join(part for part in parts if part)
