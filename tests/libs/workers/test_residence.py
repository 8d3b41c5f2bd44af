"""Tests of interpstack_workers.residence: a place in a worker, and another one after its death."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fake_stacks import ImagingEngine
from fake_workers import LoopbackPool, LoopbackWorker

from interpstack import BridgeSet, EngineFailure, Image, ImageError, Limits
from interpstack_testing import FakeEngine
from interpstack_workers import WorkerDied
from interpstack_workers.residence import Residence
from interpstack_workers.saved_state import SavedRealm, StateLost


@pytest.fixture
def pool() -> LoopbackPool:
    return LoopbackPool(FakeEngine)


@pytest.fixture
def make(pool: LoopbackPool) -> Callable[..., Any]:
    def residence(**saved: Any) -> Any:
        pools: Any = pool
        return Residence(FakeEngine(), pools, Limits(), BridgeSet(), SavedRealm(**saved))

    return residence


def test_a_realm_is_opened_once_where_it_is_needed(make: Any, pool: LoopbackPool) -> None:
    home = make(values={"a": 1})
    assert (home.worker, pool.started) == (None, [])
    assert home.attach() is home.attach() is home.worker
    assert pool.worker.asked == ["open"]
    assert home.fresh  # the worker has exactly what the host has
    assert home.ask("names").message["done"] == ["a"]


def test_an_empty_state_is_nothing_to_go_back_to(make: Any) -> None:
    home = make()
    home.attach()
    assert not home.fresh


def test_after_a_death_the_newest_state_is_opened_elsewhere(make: Any, pool: LoopbackPool) -> None:
    home = make(values={"a": 1})
    home.keep(home.ask("load", b'{"b": 2}'))
    assert home.saved.values == {"a": 1, "b": 2}
    pool.worker.end("was killed")
    assert home.ask("names").message["done"] == ["a", "b"]
    assert len(pool.started) == 2


def test_a_command_that_was_never_read_is_sent_again(make: Any, pool: LoopbackPool) -> None:
    home = make(values={"a": 1})
    home.attach()
    pool.worker.deaths = [("was killed", True)]
    assert home.ask("names").message["done"] == ["a"]


def test_a_command_that_kills_its_worker_is_not(make: Any, pool: LoopbackPool) -> None:
    home = make(values={"a": 1})
    home.attach()
    pool.worker.deaths = [("crashed", False)]
    text = "the worker process crashed; variables of earlier cells are restored from their values"
    with pytest.raises(EngineFailure, match=text):
        home.ask("names")


def test_a_state_that_takes_each_worker_down_is_given_up(make: Any, pool: LoopbackPool) -> None:
    pool.dies_at_once = [("crashed", False)] * 9
    with pytest.raises(EngineFailure, match="no worker process can open the state: the worker"):
        make(values={"a": 1}).attach()
    assert len(pool.started) == 5
    assert all(worker.realms == set() for worker in pool.started)


def test_an_image_of_the_caller_that_is_damaged_is_an_error(make: Any, pool: LoopbackPool) -> None:
    home = make(image=Image("other", "v1", b"x"))
    with pytest.raises(ImageError):
        home.attach()
    assert pool.worker.realms == set()


def test_a_later_state_that_is_refused_is_reported_once(make: Any, pool: LoopbackPool) -> None:
    home = make(values={"a": 1})
    home.attach()
    home.start_from(SavedRealm(image=Image("other", "v1", b"x")))
    pool.worker.end("was killed")
    home.attach()
    with pytest.raises(StateLost, match="the worker process died; all variables"):
        home.check_lost()
    home.check_lost()
    assert home.ask("names").message["done"] == []


def test_a_lost_state_begins_anew_and_is_reported_once(make: Any) -> None:
    home = make(lost="states are not kept (keep_state)")
    home.attach()
    with pytest.raises(StateLost, match="are lost: states are not kept"):
        home.check_lost()
    home.check_lost()
    assert home.saved == SavedRealm()


def test_bridges_go_along_only_if_they_are_new(make: Any, pool: LoopbackPool) -> None:
    home = make()
    home.ask("names")
    home.ask("names")
    home.bind(BridgeSet(error_names={"ToolError": "Other"}))
    home.ask("names")
    home.ask("names")
    sent = [command.message["bridges"] is not None for command in pool.worker.commands]
    assert sent == [True, False, False, True, False]
    home.detach()
    home.bind(BridgeSet())
    home.ask("names")  # another place needs them in any case
    assert pool.worker.commands[-2].message["bridges"] is not None


@pytest.mark.parametrize("answer", [{"values": 5}, {"values": {}, "image": []}, [], "x", {"y": 1}])
def test_a_malformed_state_kills_the_worker(make: Any, pool: LoopbackPool, answer: Any) -> None:
    home = make(values={"a": 1})
    home.attach()
    pool.worker.forge = lambda message: message.update(kept=answer)
    found = home.ask("load", b'{"b": 2}')
    with pytest.raises(WorkerDied, match="was killed because it sent"):
        home.keep(found)
    assert pool.worker.ended
    assert home.saved.values == {"a": 1}


def test_a_realm_in_which_nothing_ran_may_move() -> None:
    pools: Any = LoopbackPool(ImagingEngine)
    home = Residence(ImagingEngine(), pools, Limits(), BridgeSet(), SavedRealm())
    busy: Any = home.attach()
    first = home.number
    home.move_from(busy)
    assert (home.worker, home.number) == (busy, first)  # there is no better one
    pools.idle = LoopbackWorker(ImagingEngine())
    home.move_from(busy)
    assert home.worker is pools.idle
    assert home.number > first  # commands of before are refused there
    assert (busy.realms, pools.idle.realms) == (set(), {home.number})


def test_a_realm_moves_only_with_its_exact_state() -> None:
    pools: Any = LoopbackPool(ImagingEngine)
    home = Residence(ImagingEngine(), pools, Limits(), BridgeSet(), SavedRealm())
    busy: Any = home.attach()
    pools.idle = LoopbackWorker(ImagingEngine())
    home.go_on()
    home.move_from(busy)
    assert home.worker is busy  # its state is not with the host
    home.keep(home.ask("load", b'{"a": 1}'))
    pools.idle, idle = None, pools.idle
    home.move_from(busy)
    assert home.worker is busy  # nobody is free
    pools.idle = idle
    home.move_from(busy)
    assert home.worker is idle
    assert home.number not in busy.realms
    assert home.ask("names").message["done"] == ["a"]


def test_a_move_that_fails_leaves_a_realm_to_be_opened(make: Any) -> None:
    pools: Any = LoopbackPool(ImagingEngine)
    home = Residence(ImagingEngine(), pools, Limits(), BridgeSet(), SavedRealm())
    busy: Any = home.attach()
    home.keep(home.ask("load", b'{"a": 1}'))
    pools.idle = LoopbackWorker(ImagingEngine())
    pools.idle.deaths = [("crashed", False)]
    home.move_from(busy)
    assert (home.worker, pools.idle.realms) == (None, set())
    assert home.ask("names").message["done"] == ["a"]


def test_a_running_cell_has_the_word_on_its_worker(make: Any, pool: LoopbackPool) -> None:
    class Running:
        def place(self) -> Any:
            raise WorkerDied("the worker process crashed", unread=False)

    home = make()
    home.attach()
    home.house(Running())
    with pytest.raises(EngineFailure, match="the worker process crashed"):
        home.attach()
    home.house(None)
    assert home.attach() is pool.worker


def test_a_cell_begins_at_once_in_a_worker_that_stays(make: Any, pool: LoopbackPool) -> None:
    home = make(values={"a": 1})
    pool.steady = True
    assert home.staying() is None  # it is nowhere yet
    worker = home.attach()
    assert home.staying() is worker
    home.house(object())
    assert home.staying() is None  # another cell runs
    home.house(None)
    pool.steady = False
    assert home.staying() is None
    pool.steady = True
    worker.end("was killed")
    assert home.staying() is None


def test_a_cell_does_not_begin_where_the_state_was_lost(make: Any, pool: LoopbackPool) -> None:
    home = make(lost="it was in the dead worker")
    pool.steady = True
    home.attach()
    with pytest.raises(StateLost):
        home.staying()
    assert home.staying() is home.worker


def test_a_realm_that_nobody_holds_leaves_its_worker(make: Any, pool: LoopbackPool) -> None:
    home = make()
    home.attach()
    assert pool.worker.realms == {home.number}
    del home
    assert pool.worker.realms == set()


def test_plain_commands_have_time_beyond_that_of_cells(make: Any, pool: LoopbackPool) -> None:
    home = make()
    assert home.plain_seconds == 30.0 + (Limits().cpu_seconds or 0.0)
    home.attach()
    assert pool.worker.commands[0].seconds == home.plain_seconds
