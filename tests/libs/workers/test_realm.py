"""Tests of interpstack_workers.realm: reading a realm's state, without a worker where possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fake_stacks import ImagingEngine
from fake_workers import LoopbackPool

from interpstack import BridgeSet, ConfigurationError, Image, Limits
from interpstack_testing import FakeEngine
from interpstack_workers import WorkerDied
from interpstack_workers.realm import WorkerRealm
from interpstack_workers.residence import Residence
from interpstack_workers.saved_state import SavedRealm


@pytest.fixture
def make() -> Callable[..., Any]:
    def realm(engine: Any = ImagingEngine, **saved: Any) -> Any:
        pool: Any = LoopbackPool(engine)
        home = Residence(engine(), pool, Limits(), BridgeSet(), SavedRealm(**saved))
        made: Any = WorkerRealm(home)
        made.pool = pool
        return made

    return realm


def test_values_go_in_and_come_out(make: Any) -> None:
    realm = make()
    realm.load({"a": [1], "b": "x"})
    assert (dict(realm.values()), list(realm.names())) == ({"a": [1], "b": "x"}, ["a", "b"])
    assert realm.image() == Image("imaging", "v1", b'{"a": [1], "b": "x"}')


def test_a_state_that_the_host_has_takes_no_worker(make: Any) -> None:
    realm = make()
    realm.load({"a": 1})
    asked = len(realm.pool.worker.asked)
    first = realm.image()
    assert realm.image() is first
    realm.residence.go_on()
    assert realm.image() == first
    assert realm.pool.worker.asked[asked:] == ["image"]


def test_an_engine_without_images_has_none(make: Any) -> None:
    realm = make(FakeEngine)
    with pytest.raises(NotImplementedError, match="has no images"):
        realm.image()
    realm.load({"a": 1})
    asked = len(realm.pool.worker.asked)
    assert realm.values() == {"a": 1}
    assert len(realm.pool.worker.asked) == asked


def test_an_engine_without_values_has_none(make: Any) -> None:
    class Bare(FakeEngine):
        capabilities = frozenset()

    realm = make(Bare)
    for use in (realm.values, lambda: realm.load({"a": 1})):
        with pytest.raises(NotImplementedError, match="has no portable values"):
            use()
    assert realm.pool.started == []


@pytest.mark.parametrize(
    ("use", "answer"),
    [
        ("image", None),
        ("image", ["imaging"]),
        ("image", [1, 2]),
        ("values", []),
        ("values", None),
        ("names", "ab"),
        ("names", [1]),
    ],
)
def test_answers_of_another_form_kill_the_worker(make: Any, use: str, answer: Any) -> None:
    realm = make()
    realm.residence.attach()
    realm.pool.worker.forge = lambda message: message.update(done=answer)
    with pytest.raises(WorkerDied, match="was killed because it sent"):
        getattr(realm, use)()
    assert realm.pool.worker.ended


def test_only_a_suspended_cell_goes_on(make: Any) -> None:
    for realm in (make(), make(values={"a": 1})):
        with pytest.raises(ConfigurationError, match="no cell was running when this realm"):
            realm.resume()
    realm = make(image=Image("imaging", "v1", b"{}"))
    realm.load({"a": 1})  # another state than it was opened with
    with pytest.raises(ConfigurationError, match="no cell was running"):
        realm.resume()


def test_a_closed_realm_leaves_its_worker_at_once_if_that_is_idle(make: Any) -> None:
    realm = make()
    realm.residence.attach()
    worker = realm.pool.worker
    realm.close()
    realm.close()
    assert (worker.asked, worker.realms) == (["open", "leave"], set())
    busy = make()
    busy.residence.attach()
    busy.pool.worker.busy = True
    busy.close()
    assert (busy.pool.worker.asked, busy.pool.worker.realms) == (["open"], set())


def test_closing_survives_the_death_of_the_worker(make: Any) -> None:
    realm = make()
    realm.residence.attach()
    realm.pool.worker.deaths = [("crashed", False)]
    realm.close()
    assert realm.residence.worker is None
