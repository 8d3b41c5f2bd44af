"""Databases as sources."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from inspected_agents import database, source
from langgraph.checkpoint.base import BaseCheckpointSaver

from interpstack import ConfigurationError
from interpstack_inspect.api import SourceRequest
from interpstack_langchain.inspecting.databases import DatabaseSource
from interpstack_langchain.replay.checkpointers import is_at_rest


async def test_a_database_is_named_by_path_or_url_and_looked_at_by_many(tmp_path: Path) -> None:
    place = database(tmp_path / "a.db", {"t": ["1"]})
    there = source(f"sqlite:///{place}")
    assert source(place).title == "a.db"
    looks = [there.conversations(), *[there.eval("t", 1) for _ in range(20)]]
    rows, *evals = await asyncio.gather(*looks)
    assert [row.name for row in rows] == ["t"]  # type: ignore[union-attr]
    assert len(evals) == 20


async def test_a_writer_that_comes_while_it_is_read_has_it_read_once_more(tmp_path: Path) -> None:
    place = database(tmp_path / "a.db", {"t": ["1"]})
    there, looks = DatabaseSource.of(SourceRequest(target=place)), list[bool]()

    def read(saver: BaseCheckpointSaver[Any]) -> None:
        looks.append(is_at_rest(place, ""))
        (tmp_path / "a.db-wal").touch()
        if fails:
            raise ConfigurationError("it changed")

    fails = False
    await there._read_saver(read)
    assert looks == [True, False]
    for end in ("-wal", "-shm"):
        (tmp_path / f"a.db{end}").unlink()
    fails = True
    with pytest.raises(ConfigurationError, match="it changed"):
        await there._read_saver(read)
    assert looks == [True, False, True, False]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("gone.db", "inspect 'gone.db': file .*gone.db' not found"),
        ("sqlite:///gone.db", "file .*gone.db' not found"),
        ("mysql://host/db", "mysql:// is not a supported kind"),
    ],
)
def test_a_name_that_is_wrong_is_refused_at_once(target: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        DatabaseSource.of(SourceRequest(target=target))


def test_a_file_of_another_kind_is_refused_at_once_and_stays(tmp_path: Path) -> None:
    text, other = tmp_path / "notes.txt", tmp_path / "other.db"
    text.write_bytes(b"notes\n")
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE notes (text)")
    before = other.read_bytes()
    for path, message in [(text, "file is not a database"), (other, "has no checkpoints; name")]:
        with pytest.raises(ConfigurationError, match=message):
            DatabaseSource.of(SourceRequest(target=str(path)))
    assert (text.read_bytes(), other.read_bytes()) == (b"notes\n", before)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", "other.db"]


def test_a_database_that_is_locked_is_opened_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = database(tmp_path / "a.db", {"t": ["1"]})
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "timeout": 0.01}))
    with closing(connect(place, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode=DELETE")
        other.execute("BEGIN EXCLUSIVE")
        assert DatabaseSource.of(SourceRequest(target=place)).title == "a.db"


def test_a_title_has_no_secrets() -> None:
    there = DatabaseSource.of(SourceRequest(target="postgresql://me:secret@host/db?password=x"))
    assert "secret" not in there.title
    assert "host/db" in there.title
