"""Learned types in stores of every kind, which several processes use at once."""

from __future__ import annotations

import json
import multiprocessing
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from interpstack import HostTool
from interpstack_learned import (
    LearnedTable,
    MalformedTypes,
    Shape,
    forget_types,
    read_types,
    version_of,
)
from interpstack_learned.stored import add_types
from interpstack_learned.table import MAX_BYTES
from interpstack_state import (
    BlobStore,
    EncryptedStateStore,
    FileStore,
    MemoryStore,
    PostgresStore,
    RedisStore,
    SQLiteStore,
    StateBusy,
)

VERSION = "0123456789ab"
_KEY = b"k" * 32
KEY_OF_TABLE = "learned types"


@pytest.fixture(params=["memory", "sqlite", "file", "encrypted", "postgres", "redis"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], BlobStore]]:
    """Opens the store again, as another process does."""
    made: list[BlobStore] = []
    memory = MemoryStore()
    if request.param == "postgres":
        dsn = request.getfixturevalue("postgres").new_database()
    if request.param == "redis":
        url, prefix = request.getfixturevalue("redis_server").url, f"t{secrets.token_hex(4)}:"

    def make() -> BlobStore:
        stores: dict[str, Callable[[], BlobStore]] = {
            "memory": lambda: memory,
            "sqlite": lambda: SQLiteStore(tmp_path / "types.db"),
            "file": lambda: FileStore(tmp_path / "types"),
            "encrypted": lambda: EncryptedStateStore(SQLiteStore(tmp_path / "types.db"), [_KEY]),
            "postgres": lambda: PostgresStore(dsn),
            "redis": lambda: RedisStore(url, prefix=prefix),
        }
        made.append(stores[request.param]())
        return made[-1]

    yield make
    for store in made:
        store.close()


def table_of(**answers: Any) -> LearnedTable:
    made = LearnedTable()
    for tool, answer in answers.items():
        made.add(tool, VERSION, Shape.of(answer))
    return made


def seen(store: BlobStore) -> dict[str, int]:
    return {one.tool: one.shape.seen for one in read_types(store)}


def overwrite(store: BlobStore, data: bytes) -> None:
    store.claim(KEY_OF_TABLE, "other", 10)
    store.save(KEY_OF_TABLE, "other", data, 0)


def test_what_one_process_learns_another_reads(opening: Callable[[], BlobStore]) -> None:
    one, other = opening(), opening()
    assert seen(one) == {}
    add_types(one, table_of(search=[{"a": 1}, {"a": 2}], save=None))
    add_types(other, table_of(search=[{"a": 1, "b": 1}]))
    assert seen(one) == seen(other) == {"search": 2, "save": 1}
    found = read_types(other).get("search", VERSION)
    assert found is not None
    assert found.shape.schema()["items"]["properties"] == {"a": {"type": "integer"}}


def test_a_tool_is_forgotten(opening: Callable[[], BlobStore]) -> None:
    store = opening()
    assert forget_types(store) == 0
    add_types(store, table_of(search=1, save=2))
    assert forget_types(store, "serch") == 0
    assert forget_types(store, "search") == 1
    assert seen(store) == {"save": 1}
    assert forget_types(opening()) == 1
    assert seen(store) == {}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[" * 100_000,
        b"[]",
        b"{}",
        json.dumps({"form": "interpstack learned types 2", "tools": []}).encode(),
        b'{"form":"interpstack learned types 1"}',
        b'{"form":"interpstack learned types 1","tools":[1]}',
        b'{"form":"interpstack learned types 1","tools":[["a","0123456789ab",1]]}',
        b'{"form":"interpstack learned types 1","tools":[["a","0123456789AB",1,{"n":1}]]}',
        b'{"form":"interpstack learned types 1","tools":[["a\\n","0123456789ab",1,{"n":1}]]}',
        b'{"form":"interpstack learned types 1","tools":[["a","0123456789ab",-1,{"n":1}]]}',
        b'{"form":"interpstack learned types 1","tools":[["a","0123456789ab",1,{"n":"1"}]]}',
        b" " * (MAX_BYTES + 1),
    ],
    ids=lambda data: repr(data[:60]),
)
def test_another_form_is_refused_and_stays(data: bytes) -> None:
    store = MemoryStore()
    overwrite(store, data)
    if data:
        with pytest.raises(MalformedTypes):
            read_types(store)
        with pytest.raises(MalformedTypes):
            add_types(store, table_of(search=1))
        with pytest.raises(MalformedTypes):
            forget_types(store, "search")
        kept = store.read(KEY_OF_TABLE)
        assert kept is not None
        assert kept.data == data
    assert forget_types(store) == 0  # which removes it
    add_types(store, table_of(search=1))
    assert seen(store) == {"search": 1}


def test_a_table_that_another_process_changes_is_waited_for(
    opening: Callable[[], BlobStore],
) -> None:
    store, other = opening(), opening()
    other.claim(KEY_OF_TABLE, "other", 0.3)
    add_types(store, table_of(search=1))
    assert seen(store) == {"search": 1}


def test_a_table_that_is_never_free_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interpstack_learned.stored._PATIENCE", 0.2)
    store = MemoryStore()
    store.claim(KEY_OF_TABLE, "other", 60)
    with pytest.raises(StateBusy):
        add_types(store, table_of(search=1))


def _learn(path: str, tool: str) -> None:
    with SQLiteStore(path) as store:
        for number in range(20):
            add_types(store, table_of(**{tool: {"a": number}, "shared": {"a": number}}))


def test_processes_that_learn_at_once_lose_no_counts(tmp_path: Path) -> None:
    path = str(tmp_path / "types.db")
    context = multiprocessing.get_context("spawn")
    started = [context.Process(target=_learn, args=(path, name)) for name in ("one", "two")]
    for process in started:
        process.start()
    for process in started:
        process.join(60)
    with SQLiteStore(path) as store:
        assert seen(store) == {"one": 20, "two": 20, "shared": 40}


# -- bounds ------------------------------------------------------------------------------------


def test_the_tools_that_were_learned_last_stay() -> None:
    table = LearnedTable()
    for number in range(300):
        table.add(f"tool_{number}", VERSION, Shape.of(1), used=number)
    assert len(table) == 200
    assert {one.tool for one in table} == {f"tool_{number}" for number in range(100, 300)}
    assert len(LearnedTable.load(table.dump())) == 200


def test_the_versions_of_a_tool_that_were_learned_last_stay() -> None:
    table = LearnedTable()
    for number in range(10):
        table.add("search", f"{number:012}", Shape.of(1), used=number)
    assert [one.used for one in table] == [7, 8, 9]


def test_a_stored_table_has_a_limit_of_bytes() -> None:
    table = LearnedTable()
    letters = "abcdefghijklmnopqrstuvwxyz"
    wide = {
        f"{a}_long_name_of_a_field_{b}": [1, "a", None] for a in letters[:8] for b in letters[:8]
    }
    for number in range(200):
        table.add(f"tool_{number}", VERSION, Shape.of(wide), used=number)
    data = table.dump()
    assert len(data) <= MAX_BYTES
    kept = LearnedTable.load(data)
    assert 10 < len(kept) < 200
    assert kept.get("tool_199", VERSION) is not None


@pytest.mark.parametrize("name", ["", "x" * 129, "a\nb", "a\x1b[31m"])
def test_a_tool_with_a_monstrous_name_is_left_out(name: str) -> None:
    table = LearnedTable()
    table.add(name, VERSION, Shape.of(1))
    assert len(table) == 0


async def _never(given: Any, context: Any) -> None:
    raise AssertionError


def test_another_description_or_schema_is_another_version() -> None:
    plain = version_of(HostTool(name="a", call=_never))
    assert plain == version_of(HostTool(name="b", call=_never))
    others = [
        HostTool(name="a", call=_never, description="Other."),
        HostTool(name="a", call=_never, input_schema={"type": "object"}),
        HostTool(name="a", call=_never, output_schema={"type": "object"}),
    ]
    assert len({plain, *map(version_of, others)}) == 4


def test_a_schema_that_is_not_json_has_a_version() -> None:
    cycle: dict[str, Any] = {}
    cycle["properties"] = cycle
    for schema in (cycle, {1: {}, "a": {}}, {"default": object()}):
        tool = HostTool(name="a", call=_never, input_schema=schema)
        assert version_of(tool) == version_of(tool)
