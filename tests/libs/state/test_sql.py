"""Both databases: spaces, damaged rows, and the forms of development versions."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_state import MemoryStore, SQLiteStore, StateRejected
from interpstack_state.sql import SqlStore


def test_states_of_two_spaces_do_not_see_each_other(database: Any) -> None:
    with database.store() as sessions, database.store(space="workflows") as workflows:
        for store in (sessions, workflows):
            assert store.create("a", store.space.encode(), label="running")
            assert store.take("a", store.space, 600) is not None
            store.append("a", store.space, 0, [store.space])
            assert store.send("a", store.space) == 1
        for store in (sessions, workflows):
            taken = store.take("a", store.space, 600)
            assert taken.state.data == store.space.encode()
            assert (list(taken.log), list(taken.inbox)) == ([store.space], [(1, store.space)])
            assert [one.data for one in store.states("running")] == [store.space.encode()]
            assert [one.key for one in store.blobs()] == ["a"]
        workflows.claim("b", "one", 0)
        assert sessions.expire(0) == 0
        assert sessions.delete("a")
        assert workflows.read("a") is not None
        assert list(workflows.log("a")) == ["workflows"]


@pytest.mark.parametrize("space", ["", "a\0b", None, 1, "\ud800"])
def test_what_is_no_space_is_refused(space: Any) -> None:
    with pytest.raises(ConfigurationError, match="the space of a store is a text"):
        SQLiteStore("states.db", space=space)


def test_a_database_without_tables_has_no_states(database: Any) -> None:
    store = database.store()
    assert not store.exists()
    assert not store.exists()  # and none were made
    with store:
        store.open()
        assert store.exists()
    assert database.store(space="other").exists()


def test_times_are_seconds_since_1970(database: Any, store: SqlStore) -> None:
    import time

    ((until, used, created),) = database.execute(
        "SELECT until, used, created FROM interpstack_states"
    )
    assert abs(used - time.time()) < 60
    assert 500 < until - time.time() < 660
    assert created == 1.0


def test_nothing_of_a_deleted_state_is_left(database: Any, store: SqlStore) -> None:
    assert store.delete("a")
    for table in ("interpstack_states", "interpstack_log", "interpstack_inbox"):
        assert database.execute(f"SELECT * FROM {table}") == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("DELETE FROM interpstack_log WHERE number = 1", "entry 1 of its log is missing"),
        ("DELETE FROM interpstack_log WHERE number = 0", "entry 0 of its log is missing"),
        ("DELETE FROM interpstack_log WHERE number = 2", "its log has 2 of 3 entries"),
        ("DELETE FROM interpstack_log", "its log has 0 of 3 entries"),
        ("UPDATE interpstack_states SET logged = 2", "its log has 3 of 2 entries"),
        ("UPDATE interpstack_log SET number = 7 WHERE number = 2", "entry 2 of its log is missing"),
    ],
)
def test_a_damaged_log_is_rejected(database: Any, store: SqlStore, change: str, why: str) -> None:
    database.execute(change)
    for read in (lambda: store.log("a"), lambda: store.take("a", "one", 600)):
        with pytest.raises(StateRejected, match=f"state 'a' is damaged: {why}; restore it from"):
            read()
    assert store.read("a") is not None
    assert store.delete("a")


@pytest.mark.parametrize("text", ["x'6162'", "CAST(x'ff' AS TEXT)"])
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_texts_that_are_none_are_rejected(database: Any, store: SqlStore, text: str) -> None:
    """PostgreSQL keeps no such values."""
    database.execute(f"UPDATE interpstack_log SET entry = {text} WHERE number = 1")
    with pytest.raises(StateRejected, match="entry 1 of its log is not text"):
        store.log("a")
    with pytest.raises(StateRejected, match="entry 1 of its log is not text"):
        store.take("a", "one", 600)
    database.execute("UPDATE interpstack_log SET entry = 'second' WHERE number = 1")
    assert list(store.log("a")) == ["first", "second", "third"]
    database.execute(f"UPDATE interpstack_inbox SET message = {text}")
    with pytest.raises(StateRejected, match="message 1 of its inbox is not text"):
        store.inbox("a")
    with pytest.raises(StateRejected, match="message 1 of its inbox is not text"):
        store.take("a", "one", 600)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_blob_that_is_not_bytes_is_rejected(database: Any, store: SqlStore) -> None:
    store.create("b", b"blob", label="running", created=0)
    database.execute("UPDATE interpstack_states SET data = 'text' WHERE key = 'a'")
    for read in (lambda: store.read("a"), lambda: store.take("a", "one", 600)):
        with pytest.raises(StateRejected, match="state 'a' is damaged: its blob is not bytes"):
            read()
    assert [one.key for one in store.states("running")] == ["b"]


# -- forms of development versions ---------------------------------------------------------------

_SESSIONS = "CREATE TABLE interpstack_sessions (key TEXT PRIMARY KEY, token TEXT NOT NULL, data {})"
_CHECKPOINTS = """
CREATE TABLE checkpoints (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    checkpoint {}, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
)"""
_ROW = "INSERT INTO checkpoints VALUES ('{}', '{}', '1', NULL)"


def test_sessions_of_a_development_version_are_refused(database: Any) -> None:
    database.execute(_SESSIONS.format(database.bytes))
    database.execute("INSERT INTO interpstack_sessions VALUES ('talk', 'one', NULL)")
    with pytest.raises(
        StateRejected, match=r"has sessions in the form of a development version before 0\.1\.0"
    ):
        database.store().open()
    assert not database.store().exists()
    assert database.execute("SELECT key FROM interpstack_sessions") == [("talk",)]


def test_workflows_of_a_development_version_are_refused(database: Any) -> None:
    database.execute(_CHECKPOINTS.format(database.bytes))
    database.execute(_ROW.format("workflow:run_1", "workflow_turns"))
    with pytest.raises(
        StateRejected, match=r"has runs of workflows in the form .* or name another database"
    ):
        database.store(space="workflows").open()
    assert not database.store().exists()


def test_empty_tables_of_a_development_version_are_passed_over(database: Any) -> None:
    database.execute(_SESSIONS.format(database.bytes))
    database.execute(_CHECKPOINTS.format(database.bytes))
    with database.store() as store:
        assert store.create("a", b"blob")


@pytest.mark.parametrize(
    ("thread", "namespace"),
    [
        ("talk", ""),
        ("workflow:run_1", ""),
        ("workflows", "workflow_turns"),
        ("a", "workflow_turns"),
    ],
)
def test_rows_of_a_checkpointer_are_passed_over(database: Any, thread: str, namespace: str) -> None:
    database.execute(_CHECKPOINTS.format(database.bytes))
    database.execute(_ROW.format(thread, namespace))
    with database.store() as store:
        assert store.create("a", b"blob")
    assert len(database.execute("SELECT thread_id FROM checkpoints")) == 1


def test_tables_of_other_programs_are_passed_over(database: Any) -> None:
    database.execute("CREATE TABLE checkpoints (place TEXT)")
    database.execute("INSERT INTO checkpoints VALUES ('the gate')")
    with database.store() as store:
        assert store.create("a", b"blob")


def test_rows_that_come_later_are_of_others(database: Any) -> None:
    with database.store() as store:
        store.create("a", b"blob")
    database.execute(_CHECKPOINTS.format(database.bytes))
    database.execute(_ROW.format("workflow:run_1", "workflow_turns"))
    with database.store() as store:
        assert store.read("a") is not None


# -- ids -----------------------------------------------------------------------------------------


def test_what_is_left_of_an_older_state_is_not_that_of_a_new_one(database: Any) -> None:
    """Other programs may delete rows without what refers to them: ids are not used twice."""
    with database.store() as store:
        for name in ("first", "second"):
            store.create("a", b"blob")
            store.take("a", name, 600)
            store.append("a", name, 0, [name])
            assert list(store.log("a")) == [name]
            with suppress(Exception):  # SQLite does so unless it is told otherwise
                database.execute("DELETE FROM interpstack_states")
            store.delete("a")


def test_a_store_in_memory_has_no_spaces() -> None:
    with pytest.raises(TypeError):
        MemoryStore(space="workflows")  # type: ignore[call-arg]
