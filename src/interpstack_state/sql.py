"""States in tables of a database: the schema, and the statements that SQLite and PostgreSQL share.

A person can query the tables; the page "Where state is stored" shows how. Times are seconds since
1970 by the clock of the store: of the machine for SQLite, of the server for PostgreSQL.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, TypeAlias

import attrs

from interpstack import ConfigurationError
from interpstack.checks import shown
from interpstack_state.contract import (
    MAX_CLAIM_SECONDS,
    StateStore,
    StoredBlob,
    StoredState,
    TakenState,
    check_append,
    check_claim,
    check_create,
    check_delete,
    check_idle,
    check_key,
    check_label,
    check_limit,
    check_texts,
    is_key,
    is_repeated,
    is_unicode,
)
from interpstack_state.errors import StateBusy, StateTaken, damaged, not_bytes, other_index

__all__ = ["EXISTS", "OLD_FORMS", "TABLES", "Execute", "SqlStore"]

#: Runs a statement with its values, and returns the rows.
Execute: TypeAlias = Callable[[str, Mapping[str, Any]], list[Any]]

#: The tables. `{id}`, `{real}` and `{bytes}` stand for the types of the database.
TABLES: Final = (
    """
CREATE TABLE IF NOT EXISTS interpstack_states (
    id {id}, space TEXT NOT NULL, key TEXT NOT NULL, label TEXT NOT NULL DEFAULT '', created {real},
    token TEXT, until {real} NOT NULL, used {real} NOT NULL,
    logged INTEGER NOT NULL DEFAULT 0, sent INTEGER NOT NULL DEFAULT 0, data {bytes},
    UNIQUE (space, key)
)""",
    """
CREATE INDEX IF NOT EXISTS interpstack_states_by_label
    ON interpstack_states (space, label, created, key)""",
    """
CREATE TABLE IF NOT EXISTS interpstack_log (
    state {key} NOT NULL REFERENCES interpstack_states (id) ON DELETE CASCADE,
    number INTEGER NOT NULL, entry TEXT NOT NULL, PRIMARY KEY (state, number)
)""",
    """
CREATE TABLE IF NOT EXISTS interpstack_inbox (
    state {key} NOT NULL REFERENCES interpstack_states (id) ON DELETE CASCADE,
    number INTEGER NOT NULL, message TEXT NOT NULL, PRIMARY KEY (state, number)
)""",
)
#: Whether the tables are there, for a catalogue `{tables}` with the column `{name}`.
EXISTS: Final = "SELECT count(*) FROM {tables} WHERE {name} = 'interpstack_states'"
#: What development versions have written, which this one does not read: a table, its columns, a
#: query that finds a row, and what the rows are. Other programs may have tables of these names.
OLD_FORMS: Final = (
    (
        "interpstack_sessions",
        {"key"},
        "SELECT 1 FROM interpstack_sessions LIMIT 1",
        "sessions",
    ),
    (
        "checkpoints",
        {"thread_id", "checkpoint_ns"},
        "SELECT 1 FROM checkpoints WHERE substr(thread_id, 1, 9) = 'workflow:' "
        "AND checkpoint_ns = 'workflow_turns' LIMIT 1",
        "runs of workflows",
    ),
)
#: Whether a claim holds. One that ends never, or after MAX_CLAIM_SECONDS, is that of a damaged row.
_HOLDS: Final = f"COALESCE(until - :now > 0 AND until - :now <= {MAX_CLAIM_SECONDS}, false)"
_OF: Final = "space = :space AND key = :key"
#: The size of a blob, and the blob unless it is too large.
_DATA: Final = "length(data), CASE WHEN length(data) <= :most THEN data END"
_CLAIM: Final = f"""
INSERT INTO interpstack_states AS s (space, key, token, until, used)
VALUES (:space, :key, :token, :now + :seconds, :now)
ON CONFLICT (space, key)
DO UPDATE SET token = excluded.token, until = excluded.until, used = excluded.used
WHERE s.token = excluded.token OR NOT {_HOLDS.replace("until", "s.until")}
RETURNING {_DATA}"""
_TAKE: Final = f"""
UPDATE interpstack_states SET token = :token, until = :now + :seconds, used = :now
WHERE {_OF} AND (token = :token OR NOT {_HOLDS}) RETURNING id, label, logged, {_DATA}"""
_UNTIL: Final = f"SELECT until, until - :now FROM interpstack_states WHERE {_OF}"
_OWN: Final = f"{_OF} AND token = :token"
_RENEW: Final = f"""
UPDATE interpstack_states SET until = :now + :seconds, used = :now WHERE {_OWN} RETURNING 1"""
_SAVE: Final = _RENEW.replace("SET ", "SET data = :data, ")
_LABEL: Final = _RENEW.replace("SET ", "SET data = :data, label = :label, ")
_DELETE: Final = f"DELETE FROM interpstack_states WHERE {_OF} RETURNING 1"
_DELETE_OWN: Final = f"DELETE FROM interpstack_states WHERE {_OWN} RETURNING 1"
_BLOBS: Final = f"""
SELECT id, key, length(data), :now - used, {_HOLDS}
FROM interpstack_states WHERE space = :space AND id > :after ORDER BY id LIMIT 1000"""
_EXPIRE: Final = f"""
DELETE FROM interpstack_states
WHERE space = :space AND NOT {_HOLDS} AND COALESCE(used <= :now - :seconds, true) RETURNING 1"""
_CREATE: Final = """
INSERT INTO interpstack_states (space, key, label, created, until, used, data)
VALUES (:space, :key, :label, :created, :now, :now, :data)
ON CONFLICT (space, key) DO NOTHING RETURNING 1"""
_READ: Final = f"SELECT label, {_DATA} FROM interpstack_states WHERE {_OF}"
_STATES: Final = """
SELECT key, label, data FROM interpstack_states
WHERE space = :space AND created IS NOT NULL AND length(data) <= :most
ORDER BY created DESC, key DESC LIMIT :limit"""
_LABELLED: Final = _STATES.replace("AND created", "AND label = :label AND created")
_APPEND: Final = f"""
UPDATE interpstack_states SET logged = logged + :count
WHERE {_OWN} AND logged = :index RETURNING id"""
_LOGGED: Final = f"SELECT token, logged FROM interpstack_states WHERE {_OF}"
_ENTRY: Final = "INSERT INTO interpstack_log (state, number, entry) VALUES (:id, :number, :entry)"
_LOG: Final = f"""
SELECT s.logged, l.number, l.entry
FROM interpstack_states AS s LEFT JOIN interpstack_log AS l ON l.state = s.id
WHERE {_OF} ORDER BY l.number"""
_SEND: Final = f"UPDATE interpstack_states SET sent = sent + 1 WHERE {_OF} RETURNING id, sent"
_MESSAGE: Final = """
INSERT INTO interpstack_inbox (state, number, message) VALUES (:id, :number, :message)"""
_INBOX: Final = f"""
SELECT number, message FROM interpstack_inbox
WHERE state = (SELECT id FROM interpstack_states WHERE {_OF}) AND number > :after
ORDER BY number"""


@attrs.define(eq=False)
class SqlStore(StateStore):
    """The base of stores in tables: a subclass opens the database, and runs statements.

    Attributes:
        space: Keeps states of several kinds in one database apart: states of another space do not
            exist for this store.
    """

    space: str = attrs.field(default="sessions", kw_only=True)

    @space.validator
    def _check_space(self, attribute: attrs.Attribute[str], value: str) -> None:
        if not is_key(value):
            raise ConfigurationError(
                f"the space of a store is a text, as in 'sessions'; got {shown(value)}"
            )

    @abc.abstractmethod
    def exists(self) -> bool:
        """Whether the database has the tables of states; they are not made."""

    @abc.abstractmethod
    def _transaction(self) -> AbstractContextManager[Execute]:
        """Runs statements that count together or not at all."""

    @abc.abstractmethod
    def _one(self, statement: str, values: Mapping[str, Any], *, again: bool) -> list[Any]:
        """The rows of a statement, which is a transaction of its own.

        Args:
            statement: The statement.
            values: Its values.
            again: Whether a second run has no other effect, so that the statement may be repeated
                where the connection to a server was lost.
        """

    def open(self) -> None:
        self._run("SELECT 1")

    def _run(
        self, statement: str, key: str = "", *, again: bool = True, **values: Any
    ) -> list[Any]:
        return self._one(statement, self._values(key, values), again=again)

    def _values(self, key: str, values: Mapping[str, Any]) -> dict[str, Any]:
        return {"space": self.space, "key": key, "most": self.max_bytes, **values}

    # -- leases and blobs ------------------------------------------------------------------

    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        check_claim(key, token, seconds)
        for size, data in self._run(_CLAIM, key, token=token, seconds=float(seconds)):
            return self._blob(key, size, data)
        raise self._busy(key) or StateBusy(key, 0.0)

    def renew(self, key: str, token: str, seconds: float) -> None:
        check_claim(key, token, seconds)
        self._change(key, _RENEW, token=token, seconds=float(seconds))

    def save(
        self, key: str, token: str, data: bytes, seconds: float, *, label: str | None = None
    ) -> None:
        self.check_save(key, token, data, seconds)
        check_label(label or "")
        given = {"token": token, "seconds": float(seconds), "data": data}
        if label is None:
            self._change(key, _SAVE, **given)
        else:
            self._change(key, _LABEL, **given, label=label)

    def delete(self, key: str, token: str | None = None) -> bool:
        check_delete(key, token)
        if token is None:
            return bool(self._run(_DELETE, key))
        if self._run(_DELETE_OWN, key, token=token):
            return True
        if self._run(_LOGGED, key):
            raise StateTaken(key)
        return False

    def blobs(self) -> Iterator[StoredBlob]:
        after = 0
        while rows := self._run(_BLOBS, after=after):
            for _, key, size, idle, claimed in rows:
                if is_key(key):
                    yield StoredBlob(
                        key=key,
                        size=size or 0,
                        idle_seconds=idle if idle and 0 <= idle <= MAX_CLAIM_SECONDS else 0.0,
                        claimed=bool(claimed),
                    )
            after = rows[-1][0]

    def expire(self, idle_seconds: float) -> int:
        check_idle(idle_seconds)
        return len(self._run(_EXPIRE, seconds=float(idle_seconds)))

    # -- states with a label ---------------------------------------------------------------

    def create(self, key: str, data: bytes, *, label: str = "", created: float = 0.0) -> bool:
        check_create(key, label, created)
        self.check_blob(data)
        values = {"label": label, "created": float(created), "data": data}
        return bool(self._run(_CREATE, key, again=False, **values))

    def read(self, key: str) -> StoredState | None:
        check_key(key)
        for label, size, data in self._run(_READ, key):
            return StoredState(key=key, label=label, data=self._blob(key, size, data) or b"")
        return None

    def states(self, label: str | None = None, limit: int = 100) -> Sequence[StoredState]:
        check_limit(limit)
        if label is None:
            rows = self._run(_STATES, limit=limit)
        else:
            rows = self._run(_LABELLED, label=label, limit=limit)
        return [
            StoredState(key=key, label=found, data=data)
            for key, found, data in rows
            if is_key(key) and isinstance(data, bytes)
        ]

    def take(self, key: str, token: str, seconds: float) -> TakenState | None:
        check_claim(key, token, seconds)
        values = self._values(key, {"token": token, "seconds": float(seconds), "after": 0})
        with self._transaction() as execute:
            taken = execute(_TAKE, values)
            log = execute(_LOG, values) if taken else []
            inbox = execute(_INBOX, values) if taken else []
        for _, label, logged, size, data in taken:
            blob = self._blob(key, size, data)
            return TakenState(
                state=StoredState(key=key, label=label, data=blob or b""),
                log=_entries(key, logged, log),
                inbox=_messages(key, inbox),
            )
        busy = self._busy(key)
        if busy is None:
            return None
        raise busy

    # -- logs and inboxes ------------------------------------------------------------------

    def append(self, key: str, token: str, index: int, entries: Sequence[str]) -> None:
        check_append(key, token, index, entries)
        given = {"token": token, "index": index, "count": len(entries)}
        if not self._extend(self._values(key, given), entries):
            for owner, logged in self._run(_LOGGED, key):
                if owner == token:
                    if is_repeated(self.log(key), index, entries):
                        return
                    raise other_index(key, index, logged)
            raise StateTaken(key)

    def _extend(self, values: dict[str, Any], entries: Sequence[str]) -> bool:
        """Add entries to a log, if the token and the index are right; whether they are."""
        with self._transaction() as execute:
            for (found,) in execute(_APPEND, values):
                for number, entry in enumerate(entries, values["index"]):
                    execute(_ENTRY, {"id": found, "number": number, "entry": entry})
                return True
        return False

    def log(self, key: str) -> Sequence[str]:
        check_key(key)
        rows = self._run(_LOG, key)
        return _entries(key, rows[0][0], rows) if rows else ()

    def send(self, key: str, message: str) -> int | None:
        check_key(key)
        check_texts("a message", [message])
        with self._transaction() as execute:
            for found, number in execute(_SEND, self._values(key, {})):
                execute(_MESSAGE, {"id": found, "number": number, "message": message})
                return int(number)
        return None

    def inbox(self, key: str, after: int = 0) -> Sequence[tuple[int, str]]:
        check_key(key)
        return _messages(key, self._run(_INBOX, key, after=after))

    # -- rows ------------------------------------------------------------------------------

    def _change(self, key: str, statement: str, **values: Any) -> None:
        if not self._run(statement, key, **values):
            raise StateTaken(key)

    def _blob(self, key: str, size: int | None, data: Any) -> bytes | None:
        self.check_size(size or 0)
        if data is not None and not isinstance(data, bytes):
            raise not_bytes(key)
        return data

    def _busy(self, key: str) -> StateBusy | None:
        """The error for a state that another token has claimed; `None` if there is no state."""
        for until, left in self._run(_UNTIL, key):
            holds = isinstance(left, float) and 0 < left <= MAX_CLAIM_SECONDS
            return StateBusy(key, left, until) if holds else StateBusy(key, 0.0)
        return None


def _entries(key: str, logged: int, rows: Sequence[Any]) -> Sequence[str]:
    """The entries of a log, whose numbers count from 0 without a gap.

    Raises:
        StateRejected: One is missing, or is not text.
    """
    found = [(number, entry) for _, number, entry in rows if number is not None]
    for place, (number, entry) in enumerate(found):
        if number != place:  # what follows has no place
            raise damaged(key, f"entry {place} of its log is missing")
        if not is_unicode(entry):
            raise damaged(key, f"entry {place} of its log is not text")
    if len(found) != logged:
        raise damaged(key, f"its log has {len(found)} of {logged} entries")
    return [entry for _, entry in found]


def _messages(key: str, rows: Sequence[Any]) -> Sequence[tuple[int, str]]:
    for number, message in rows:
        if not is_unicode(message):
            raise damaged(key, f"message {number} of its inbox is not text")
    return [(number, message) for number, message in rows]
