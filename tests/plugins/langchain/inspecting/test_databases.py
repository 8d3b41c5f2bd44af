"""Databases as sources."""

from __future__ import annotations

import asyncio
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
    await there._look(read)
    assert looks == [True, False]
    for end in ("-wal", "-shm"):
        (tmp_path / f"a.db{end}").unlink()
    fails = True
    with pytest.raises(ConfigurationError, match="it changed"):
        await there._look(read)
    assert looks == [True, False, True, False]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("gone.db", "inspect 'gone.db': there is no file"),
        ("sqlite:///gone.db", "there is no file"),
        ("mysql://host/db", "mysql:// is not a supported kind"),
    ],
)
def test_a_name_that_is_wrong_is_refused_at_once(target: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        DatabaseSource.of(SourceRequest(target=target))


def test_a_title_has_no_secrets() -> None:
    there = DatabaseSource.of(SourceRequest(target="postgresql://me:secret@host/db?password=x"))
    assert "secret" not in there.title
    assert "host/db" in there.title
