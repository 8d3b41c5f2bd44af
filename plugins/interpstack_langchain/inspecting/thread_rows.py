"""Lists of the threads of a checkpointer, without reading what is stored in them."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from langgraph.checkpoint.base import BaseCheckpointSaver

from interpstack_inspect.api import ConversationRow
from interpstack_langchain.inspecting.questions import NOT_ENDED, open_interrupts

__all__ = ["thread_rows", "thread_version"]

#: Threads of SQLite and PostgreSQL, which have the same tables under other names.
_LIST: Final = (
    "SELECT c.thread_id, MAX(c.checkpoint_id) AS newest FROM checkpoints c "
    "GROUP BY c.thread_id "
    "{having} ORDER BY newest DESC, c.thread_id LIMIT {mark} OFFSET {mark}"
)
_CONTAINING: Final = "{place}(LOWER(c.thread_id), LOWER({mark})) > 0"
#: Whether a task of the last step of a thread waits for an answer, and has not ended.
_ASKS: Final = (
    "EXISTS (SELECT 1 FROM {writes} w WHERE w.thread_id = {thread} AND w.checkpoint_ns = '' "
    "AND w.channel = '__interrupt__' AND w.checkpoint_id = (SELECT MAX(checkpoint_id) "
    "FROM checkpoints WHERE thread_id = {thread} AND checkpoint_ns = '') AND NOT {ended})"
)
_ENDED: Final = (
    "EXISTS (SELECT 1 FROM {writes} e WHERE e.thread_id = w.thread_id AND e.checkpoint_ns = '' "
    "AND e.task_id = w.task_id AND e.checkpoint_id = w.checkpoint_id "
    "AND e.channel NOT IN ({open}))"
)
#: Of a thread, numbers that grow with each row, also with one that takes the place of another.
_VERSION: Final = (
    "SELECT (SELECT COUNT(*) FROM checkpoints WHERE thread_id = {mark}) AS steps, "
    "COUNT(*) AS writes, MAX({row}) AS newest FROM {writes} WHERE thread_id = {mark}"
)
#: Between the first day of such ids, in 1582, and that of Unix, in 100 nanoseconds.
_UUID_EPOCH: Final = 0x01B21DD213814000


def thread_rows(
    saver: BaseCheckpointSaver[Any],
    *,
    containing: str,
    limit: int,
    skip: int,
    waiting: bool = False,
) -> list[ConversationRow]:
    """The threads of a checkpointer, those that changed last first.

    Args:
        saver: The checkpointer; with a database, only the names of its threads are read.
        containing: Only threads with this text in their names, in any case.
        limit: How many at most.
        skip: How many of the first to leave out.
        waiting: Only threads that wait for an answer.
    """
    tables = _tables(saver)
    if tables is None:
        rows = [row for row in _listed(saver, containing) if row.waits or not waiting]
        return rows[skip : skip + limit]
    connection: Any = getattr(saver, "conn")  # noqa: B009 - checkpointers in memory have none
    filtered = _CONTAINING.format(**tables) if containing else ""
    channels = ", ".join(f"'{channel}'" for channel in sorted(NOT_ENDED))
    asks = partial(_ASKS.format, ended=_ENDED.format(open=channels, **tables), **tables)
    waits = asks(thread="c.thread_id") if waiting else ""
    wanted = " AND ".join(one for one in (filtered, waits) if one)
    query = _LIST.format(having=f"HAVING {wanted}" if wanted else "", **tables)
    given = [*([containing] if containing else []), limit, skip]
    found = [_columns(row) for row in connection.execute(query, given).fetchall()]
    asked = f"SELECT CASE WHEN {asks(thread=tables['mark'])} THEN 1 ELSE 0 END AS waits"
    return [
        ConversationRow(
            name=str(name),
            changed=_time(str(newest)),
            waits=waiting or bool(_columns(connection.execute(asked, [name] * 2).fetchone())[0]),
            version=thread_version(saver, str(name)),
        )
        for name, newest in found
    ]


def thread_version(saver: BaseCheckpointSaver[Any], name: str) -> str:
    """A text that is another one whenever more of a thread is stored."""
    tables = _tables(saver)
    if tables is None:
        return _version([*saver.list({"configurable": {"thread_id": name}})])
    connection: Any = getattr(saver, "conn")  # noqa: B009 - see `thread_rows`
    row = connection.execute(_VERSION.format(**tables), [name, name]).fetchone()
    return "-".join(map(str, _columns(row)))


def _version(saved: Sequence[Any]) -> str:
    places = sorted((_graph(one), str(one.checkpoint["id"])) for one in saved)
    writes = sorted(repr((t, c)) for one in saved for t, c, _ in one.pending_writes or ())
    return hashlib.sha256(repr((places, writes)).encode()).hexdigest()


def _tables(saver: BaseCheckpointSaver[Any]) -> Mapping[str, str] | None:
    """Names in the database of a checkpointer that was opened for reading."""
    if not hasattr(getattr(saver, "conn", None), "execute"):
        return None  # a pool of connections, which an agent may have
    modules = {cls.__module__ for cls in type(saver).__mro__}
    if "langgraph.checkpoint.sqlite" in modules:
        return {"writes": "writes", "mark": "?", "place": "INSTR", "row": "rowid"}
    if "langgraph.checkpoint.postgres" in modules:
        row = "xmin::text::bigint"
        return {"writes": "checkpoint_writes", "mark": "%s", "place": "STRPOS", "row": row}
    return None


def _columns(row: Any) -> Sequence[Any]:
    return [*row.values()] if isinstance(row, Mapping) else row


def _listed(saver: BaseCheckpointSaver[Any], containing: str) -> list[ConversationRow]:
    """The same for any checkpointer, which reads all that is stored."""
    threads: dict[str, list[Any]] = {}
    for saved in [*saver.list(None)]:
        name = str(saved.config["configurable"]["thread_id"])
        if containing.lower() in name.lower():
            threads.setdefault(name, []).append(saved)
    rows = [_row(name, saved) for name, saved in threads.items()]
    return sorted(rows, key=lambda row: (row.changed, row.name), reverse=True)


def _row(name: str, saved: Sequence[Any]) -> ConversationRow:
    newest = max(saved, key=lambda one: str(one.checkpoint["id"]))
    outer = [one for one in saved if not _graph(one)]
    last = max(outer, key=lambda one: str(one.checkpoint["id"]), default=newest)
    return ConversationRow(
        name=name,
        changed=str(newest.checkpoint["ts"]),
        waits=bool(open_interrupts(last.pending_writes or ())),
        version=_version(saved),
    )


def _graph(saved: Any) -> str:
    return str(saved.config["configurable"].get("checkpoint_ns", ""))


def _time(checkpoint: str) -> str:
    """The time in the id of a checkpoint, in ISO 8601; empty if the id has none."""
    try:
        made = uuid.UUID(checkpoint)
    except ValueError:
        return ""
    if made.version != 6:
        return ""
    ticks = (made.int >> 80) << 12 | (made.int >> 64) & 0xFFF
    return datetime.fromtimestamp((ticks - _UUID_EPOCH) / 10**7, UTC).isoformat()
