"""Learned types that an earlier version stored are read by this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpstack_javascript.signatures import render_type
from interpstack_learned import LearnedTable, read_reviewed

TYPES = Path(__file__).parent / "types"
ANSWER = (
    "{ hits: { title: string; score: number; note?: string }[]; by_day: Record<string, number>; "
    "next: string | null }"
)


@pytest.mark.parametrize("path", sorted(TYPES.glob("*.stored.json")), ids=lambda path: path.name)
def test_stored_types_are_read(path: Path) -> None:
    table = LearnedTable.load(path.read_bytes().strip())
    assert [(one.tool, one.version, one.shape.seen) for one in table] == [
        ("save", "0123456789ab", 1),
        ("search", "ba9876543210", 2),
    ]
    found = table.get("search", "ba9876543210")
    assert found is not None
    assert render_type(found.shape.schema()) == ANSWER


@pytest.mark.parametrize("path", sorted(TYPES.glob("*.reviewed.json")), ids=lambda path: path.name)
def test_reviewed_types_are_read(path: Path) -> None:
    save, search = read_reviewed(path)
    assert (save.tool, save.version, save.learned.seen) == ("save", "0123456789ab", 1)
    assert render_type(search.learned.schema) == ANSWER
