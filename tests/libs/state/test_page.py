"""The page "Where state is stored": its tables have these columns, and its queries work."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "state.md"
_BLOCK = re.compile(r'^```sql title="(.+?)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_TABLES = ("interpstack_states", "interpstack_log", "interpstack_inbox")


def queries(kind: str) -> list[str]:
    """The queries of the page for SQLite or PostgreSQL, in order."""
    blocks = _BLOCK.findall(PAGE.read_text("utf-8"))
    return [text for title, text in blocks if kind in title.split(" and ")]


@pytest.fixture
def filled(database: Any) -> Any:
    """A database with a claimed session, and a run of two entries."""
    with database.store() as sessions:
        sessions.claim("talk", "host:1:token", 600)
        sessions.save("talk", "host:1:token", b"image", 600)
        sessions.claim("free", "host:2:token", 0)
    with database.store(space="workflows") as workflows:
        record = json.dumps({"id": "run_1", "name": "review"})
        workflows.create("run_1", record.encode(), label="running", created=1_732_900_000.5)
        workflows.create("run_2", b'{"name":"other"}', label="completed", created=1.0)
        workflows.take("run_1", "one", 0)
        steps = [{"name": "0:ask", "kind": "agent"}, {"name": "1:run", "kind": "exec", "ok": False}]
        steps[1]["error"] = {"name": "Error", "message": "no such file"}
        entries = [{"form": 1, "scope": "root", "now": 1.5, "settled": steps[:1]}]
        entries.append({"form": 1, "scope": "root", "now": 2.5, "settled": steps})
        workflows.append("run_1", "one", 0, [json.dumps(entry) for entry in entries])
        workflows.send("run_1", '{"kind":"wake"}')
    return database


def test_the_queries_of_the_page_work(filled: Any) -> None:
    claimed, runs, steps, sizes, delete = queries(filled.kind)
    (row,) = filled.execute(claimed)
    assert (row[0], row[1], row[3]) == ("sessions", "talk", "host:1:token")
    assert [(row[0], row[1], row[2], row[4]) for row in filled.execute(runs)] == [
        ("run_1", "running", "review", 2),
        ("run_2", "completed", "other", 0),
    ]
    assert [(row[0], row[1], *row[3:]) for row in filled.execute(steps)] == [
        (0, "root", "agent", "0:ask", True, None),
        (1, "root", "agent", "0:ask", True, None),
        (1, "root", "exec", "1:run", False, "no such file"),
    ]
    (sessions, workflows) = filled.execute(sizes)
    assert tuple(sessions) == ("sessions", 2, 5, 0, 0)
    assert (workflows[0], workflows[1], *workflows[3:]) == ("workflows", 2, 2, 1)
    filled.execute(delete)
    assert filled.execute("SELECT key FROM interpstack_states WHERE space = 'workflows'") == [
        ("run_2",)
    ]
    for table in ("interpstack_log", "interpstack_inbox"):
        assert filled.execute(f"SELECT * FROM {table}") == []


def test_the_page_names_every_column(database: Any) -> None:
    with database.store() as store:
        store.open()
    found = {table: database.columns(table) for table in _TABLES}
    parts = re.split(r"^`(\w+)` has ", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    named = {
        table: re.findall(r"^\| `(\w+)` \|", text.split("All times")[0], re.MULTILINE)
        for table, text in zip(parts[1::2], parts[2::2], strict=True)
    }
    assert named == found
