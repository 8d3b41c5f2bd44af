"""Pages on real databases: locked, empty, growing, damaged, of other releases, unreachable."""

from __future__ import annotations

import hashlib
import lzma
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from inspected import Server, looked_at
from inspected_agents import agent, config, database, source, turn
from langgraph.checkpoint.sqlite import SqliteSaver
from stored_threads import THREADS

STORED = Path(__file__).parents[4] / "stored" / "threads"


def _state(folder: Path) -> dict[str, str]:
    """Everything that is in a folder."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


async def _pages(place: str, *paths: str) -> list[str]:
    async with Server.of(source(place)).browser() as client:
        return [(await looked_at(client, path)).words for path in paths]


async def test_looking_changes_nothing(tmp_path: Path) -> None:
    place = database(tmp_path / "a.db", {"t": ["await tools.pay({amount: 5})"]})
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = _state(tmp_path)
    listed, found, one = await _pages(place, "/", "/conversation?name=t", "/eval?name=t&number=1")
    assert "waits for a person" in listed
    assert "paused" in found
    assert "approval of pay" in one
    assert _state(tmp_path) == before


async def test_a_database_that_grows_while_it_is_looked_at(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "a.db")) as saver:
        made = agent(saver)
        made.invoke(turn("'one'"), config())
        async with Server.of(source(str(tmp_path / "a.db"))).browser() as client:
            assert "Turn 2" not in (await looked_at(client, "/conversation?name=t")).words
            made.invoke(turn("'two'"), config())
            assert "Turn 2" in (await looked_at(client, "/conversation?name=t")).words
            made.invoke(turn("'new'"), config("u"))
            assert "u" in (await looked_at(client, "/")).words.split()
            assert "Result two" in (await looked_at(client, "/eval?name=t&number=2")).words


async def test_a_locked_database_says_so_until_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = database(tmp_path / "a.db", {"t": ["1"]})
    connect = sqlite3.connect

    def impatient(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        return connect(*args, **{**kwargs, "timeout": 0.01})

    monkeypatch.setattr(sqlite3, "connect", impatient)
    async with Server.of(source(place)).browser() as client:
        with closing(connect(place, isolation_level=None)) as other:
            other.execute("PRAGMA journal_mode=DELETE")
            other.execute("BEGIN EXCLUSIVE")
            page = await looked_at(client, "/", 503)
            assert "database is locked" in page.words
            assert "Reload this page to look again" in page.words
            other.execute("ROLLBACK")
        assert "The conversation that changed last" in (await looked_at(client, "/")).words


@pytest.mark.parametrize("later", [b"", b"no database" * 1000], ids=["empty", "damaged"])
async def test_a_file_without_conversations(tmp_path: Path, later: bytes) -> None:
    place = tmp_path / "a.db"
    place.touch()
    async with Server.of(source(str(place))).browser() as client:
        place.write_bytes(later)
        page = await looked_at(client, "/", 503)
    reason = "is not a database" if later else "the database has no checkpoints"
    assert reason in page.words
    assert place.read_bytes() == later


async def test_a_new_database_has_no_conversations_yet(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "a.db")) as saver:
        saver.setup()
    (words,) = await _pages(str(tmp_path / "a.db"), "/")
    assert "There are no conversations yet." in words


@pytest.mark.parametrize("release", sorted(path.name for path in STORED.iterdir()))
async def test_databases_of_earlier_releases(tmp_path: Path, release: str) -> None:
    place = tmp_path / "checkpoints.sqlite"
    place.write_bytes(lzma.decompress((STORED / release / "checkpoints.sqlite.xz").read_bytes()))
    before = _state(tmp_path)
    async with Server.of(source(str(place))).browser() as client:
        listed = await looked_at(client, "/")
        links = [link for link in listed.links if link.startswith("/conversation")]
        names = [*dict.fromkeys(links)]  # those that wait are linked with their questions, too
        assert len(names) == len(THREADS)
        for name in names:
            page = await looked_at(client, name)
            assert "unreadable" not in page.words
            for link in [link for link in page.links if link.startswith("/eval")][-2:]:
                await looked_at(client, link)
    assert _state(tmp_path) == before


async def test_a_database_of_a_later_release_says_so(tmp_path: Path) -> None:
    place = database(tmp_path / "a.db", {"t": ["await tools.look({n: 1})", "'second'"]})
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("ALTER TABLE checkpoints RENAME COLUMN metadata TO about")
        connection.commit()
    async with Server.of(source(place)).browser() as client:
        page = await looked_at(client, "/conversation?name=t", 503)
        assert "no such column: metadata" in page.words


async def test_postgres_is_read_and_a_server_that_is_gone_is_named(
    request: pytest.FixtureRequest,
) -> None:
    from langgraph.checkpoint.postgres import PostgresSaver

    dsn = request.getfixturevalue("postgres").new_database()
    fields = dict(part.split("=", 1) for part in dsn.split())
    url = f"postgresql://{fields['user']}@/{fields['dbname']}?host={fields['host']}"
    async with Server.of(source(url)).browser() as client:
        page = await looked_at(client, "/", 503)
        assert "the database has no checkpoints" in page.words
        with PostgresSaver.from_conn_string(dsn) as saver:
            saver.setup()
            agent(saver).invoke(turn("await tools.look({n: 1})"), config())
        assert "seen 1" in (await looked_at(client, "/eval?name=t&number=1")).words
    gone = "postgresql://me:secret@127.0.0.1:1/db"
    async with Server.of(source(gone)).browser() as client:
        page = await looked_at(client, "/", 503)
        assert "127.0.0.1:1/db' cannot be read" in page.words
        assert "secret" not in page.text
