"""Stores by their URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_workflows.api import MemoryWorkflowStore, WorkflowRecord, open_store
from interpstack_workflows.stores import opening


def test_memory() -> None:
    assert isinstance(open_store("memory:"), MemoryWorkflowStore)


@pytest.mark.parametrize("form", ["{path}", "sqlite:///{path}"])
async def test_a_path_is_a_database_of_sqlite(tmp_path: Path, form: str) -> None:
    url = form.format(path=tmp_path / "runs é.db")
    for number in range(2):
        store = open_store(url)
        await store.create(WorkflowRecord(id=f"run_{number}"))
        assert len(await store.runs()) == number + 1
        await store.aclose()
    assert (tmp_path / "runs é.db").is_file()


@pytest.mark.parametrize("form", ["{path}", "sqlite:///{path}"])
def test_a_database_is_made_only_where_it_may_be(tmp_path: Path, form: str) -> None:
    path = tmp_path / "runs.db"
    with pytest.raises(
        ConfigurationError, match=r"database .*runs\.db not found. A run creates it"
    ):
        open_store(form.format(path=path), create=False)
    assert not path.exists()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("redis://x", "no installed package opens stores of 'redis'; known are memory, postgres"),
        ("", "a store is named by memory:, a path, sqlite:///"),
        (5, "a store is named by memory:, a path, sqlite:///"),
        ("/no/such/folder/a.db", "cannot be opened: there is no folder '/no/such/folder'; make it"),
        ("postgresql://u:secret@127.0.0.1:9/d", r"the store '127\.0\.0\.1:9/d' cannot be opened"),
    ],
)
def test_other_stores_are_refused(url: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as raised:
        open_store(url)
    assert "secret" not in str(raised.value)


class Point:
    name, value = "own", "own:open"

    def __init__(self, made: Any) -> None:
        self._made = made

    def load(self) -> Any:
        if isinstance(self._made, Exception):
            raise self._made
        return lambda url, *, create: self._made


def test_distributions_bring_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryWorkflowStore()
    points: list[Any] = [Point(store)]
    monkeypatch.setattr(opening, "entry_points", lambda group: points)
    assert open_store("own:x") is store
    points[:] = [Point(5)]
    with pytest.raises(
        ConfigurationError, match="own:open returned 5, which is not a WorkflowStore"
    ):
        open_store("own:x")
    points[:] = [Point(ModuleNotFoundError("No module named 'own'", name="own"))]
    message = r"need own, which is not installed; .* pip install 'interpstack\[workflows\]'"
    with pytest.raises(ConfigurationError, match=message):
        open_store("own:x")
