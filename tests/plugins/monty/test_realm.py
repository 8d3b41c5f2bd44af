"""Tests of interpstack_monty.realm: values that go in, and cells that go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fake_monty
import pytest
from fake_monty import FakeWorker, FakeWorkers, MontyError, MontyRuntimeError

from interpstack import BridgeSet, Cell, ConfigurationError, EngineFailure, Limits
from interpstack_monty import realm as module
from interpstack_monty.crossing import errors
from interpstack_monty.images import Saved
from interpstack_monty.realm import MontyRealm
from interpstack_monty.state import MontyState
from interpstack_monty.workers import KernelReplaced

Offer = Callable[..., BridgeSet]


@pytest.fixture(autouse=True)
def _client(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in (errors, module):
        monkeypatch.setattr(each, "pydantic_monty", fake_monty.CLIENT)
    monkeypatch.setattr(module, "FAILURES", (MontyError, KernelReplaced))


@pytest.fixture
def worker() -> FakeWorker:
    def answer(source: str) -> Any:
        return "a b\n" if "__interpstack_globals__" in source else None

    return FakeWorker(answer)


@pytest.fixture
def make(worker: FakeWorker, offer: Offer) -> Callable[..., MontyRealm]:
    def realm(**saved: Any) -> MontyRealm:
        workers: Any = FakeWorkers(worker)
        state = MontyState(workers, Limits(), offer("kit.echo"), Saved(**saved), type_check=False)
        return MontyRealm(state, {}, b"")

    return realm


def test_values_are_bound_at_once_in_one_worker(make: Any, worker: FakeWorker) -> None:
    realm = make()
    realm.load({"a": 1, "b": [2]})
    assert {"a": 1, "b": [2]} in worker.inputs
    assert realm.state.saved.dump == b"dumped"
    assert (list(realm.names()), worker.released) == (["a", "b"], 1)


@pytest.mark.parametrize(
    "name", ["a-b", "class", "", "1a", "__interpstack_x", "kit", "\ufb01x", "a b"]
)
def test_values_that_no_cell_can_name_are_kept_for_others(
    make: Any, worker: FakeWorker, name: str
) -> None:
    realm = make()
    realm.load({name: {"x": 1}})
    assert realm.values() == {name: {"x": 1}}
    assert realm.state.workers.taken == 0


def test_values_without_a_form_here_are_missing(make: Any) -> None:
    realm = make()
    realm.load({"gone": {"$": "lost", "v": "it was a socket"}, "odd": {"$": "no such kind"}})
    found = realm.values()
    assert found["gone"] == {"$": "lost", "v": "it was a socket"}
    assert found["odd"]["$"] == "lost"


def test_a_value_that_is_there_again_is_missing_no_more(make: Any, worker: FakeWorker) -> None:
    realm = make(lost={"a": "why"})
    realm.load({"a": 1})
    assert realm.state.saved.lost == {}


def test_one_value_that_monty_refuses_costs_no_other(make: Any, worker: FakeWorker) -> None:
    plain = worker.answer

    def answer(source: str) -> Any:
        if "bad" in worker.inputs[-1]:
            raise MontyRuntimeError(ValueError("it is too deep"))
        return plain(source)

    worker.answer = answer
    realm = make()
    realm.load({"a": 1, "b": 2, "bad": 3, "c": 4})
    assert realm.state.saved.lost == {"bad": "ValueError: it is too deep"}
    bound = [one for one in worker.inputs if one and "bad" not in one]
    assert [name for one in bound for name in one] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "error",
    [
        MontyRuntimeError(MemoryError("memory limit exceeded: 9 bytes > 5 bytes")),
        MontyRuntimeError(TimeoutError("feed time limit exceeded: 5s > 5s")),
        MontyError(OSError("gone")),
    ],
)
def test_a_limit_refuses_all_and_changes_nothing(
    make: Any, worker: FakeWorker, error: Exception
) -> None:
    def answer(source: str) -> Any:
        if worker.inputs[-1]:
            raise error

    worker.answer = answer
    realm = make(lost={"a": "why"})
    with pytest.raises(EngineFailure, match="the values could not be loaded: "):
        realm.load({"a": 1, "b": 2})
    assert (realm.state.saved.lost, worker.released) == ({"a": "why"}, 1)


def test_there_is_a_cell_to_go_on_with_or_not(make: Any) -> None:
    with pytest.raises(ConfigurationError, match="no cell was running when this image was taken"):
        make().resume()


def test_a_cell_that_has_not_begun_is_in_no_image(make: Any) -> None:
    realm = make()
    empty = realm.image()
    realm.start(Cell(source="1"))
    assert realm.image() == empty
    realm.close()
    realm.close()
    assert realm.image() == empty
