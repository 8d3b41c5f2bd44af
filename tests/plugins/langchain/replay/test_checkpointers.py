"""Databases of checkpointers, opened to be read: every place that cannot be read says why."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from graph_tasks import PLACE, stored_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from interpstack import ConfigurationError
from interpstack_langchain.langgraph_internals import saver_classes
from interpstack_langchain.replay.checkpointers import is_at_rest, open_checkpointer


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database with one checkpoint, whose name needs to be quoted in a URL."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a b%.db"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        stored_checkpoint(saver)
    return path


def refused(url: str) -> str:
    with pytest.raises(ConfigurationError) as raised, open_checkpointer(url):
        raise AssertionError("it was opened")
    return str(raised.value)


def test_a_copy_in_another_journal_mode_is_read(database: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(f"VACUUM INTO '{copy}'")
    before = copy.read_bytes()
    with open_checkpointer(str(copy)) as saver:
        assert saver.get_tuple({"configurable": PLACE}) is not None
    assert copy.read_bytes() == before


def test_a_database_at_rest_is_read_without_a_file_beside_it(database: Path) -> None:
    assert is_at_rest(str(database), "")
    with open_checkpointer(str(database), unchanging=True) as saver:
        assert saver.get_tuple({"configurable": PLACE}) is not None
    assert [*database.parent.iterdir()] == [database]
    with SqliteSaver.from_conn_string(str(database)) as saver:
        saver.setup()
        saver.conn.execute("BEGIN IMMEDIATE")
        assert not is_at_rest(str(database), "")
    assert not is_at_rest("postgresql://host/db", "")


@pytest.mark.parametrize("form", ["{path}", "a b%.db", "sqlite:///a%20b%25.db", "sqlite:///{url}"])
def test_a_file_is_named_by_its_path_or_as_a_url(database: Path, form: str) -> None:
    quoted = str(database).replace("%", "%25").replace(" ", "%20")
    with open_checkpointer(form.format(path=database, url=quoted)) as saver:
        assert saver.get_tuple({"configurable": PLACE}) is not None


def test_nothing_can_be_written(database: Path) -> None:
    with (
        pytest.raises(ConfigurationError, match="readonly database"),
        open_checkpointer(str(database)) as saver,
    ):
        saver.put_writes({"configurable": {**PLACE, "checkpoint_id": "c"}}, [("a", 1)], "task")


def test_values_are_read_with_the_given_serializer(database: Path) -> None:
    serde = JsonPlusSerializer()
    with open_checkpointer(str(database), serde) as saver:
        assert saver.serde.loads_typed == serde.loads_typed


@pytest.mark.parametrize("url", ["mysql://host/db", "redis://", "file:///a.db"])
def test_other_kinds_of_databases_are_named(url: str) -> None:
    scheme = url.partition(":")[0]
    message = refused(url)
    assert f"{scheme}:// is not a supported kind of database" in message
    assert "postgresql://" in message


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "missing.db"
    assert f"file '{path}' not found. It takes a path" in refused(str(path))
    assert not path.exists()


def test_a_directory_is_no_database(tmp_path: Path) -> None:
    assert "is a directory; name the database file in it" in refused(str(tmp_path))


def test_a_database_of_something_else_has_no_checkpoints(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE checkpoints (id)")
    connection.close()
    assert "the database has no checkpoints; name the database of the agent's" in refused(str(path))


def test_a_file_that_is_no_database_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database" * 1000)
    assert "cannot be read: file is not a database; it takes a path" in refused(str(path))


def test_a_schema_that_is_no_text_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE checkpoints (id)")
    damaged = path.read_bytes().replace(b"checkpoints", b"\xf6heckpoints")
    path.write_bytes(damaged.replace(b"CREATE TABLE", b"CREATE TABEL"))
    assert f"{str(path)!r} cannot be read: " in refused(str(path))


def test_a_checkpointer_that_is_not_installed_says_what_to_install(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(saver_classes, "import_module", missing)
    assert "run: pip install langgraph-checkpoint-sqlite" in refused(str(database))
    postgres = refused("postgresql://u:secret@host/db")
    assert "run: pip install langgraph-checkpoint-postgres 'psycopg[binary]'" in postgres


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:secret@127.0.0.1:1/db?connect_timeout=2",
        "postgres://127.0.0.1:1/db?password=secret&connect_timeout=2",
    ],
)
def test_a_server_that_does_not_answer_is_named_without_secrets(url: str) -> None:
    pytest.importorskip("psycopg")
    message = refused(url)
    assert "cannot be read" in message
    assert "127.0.0.1:1/db" in message
    assert "secret" not in message
