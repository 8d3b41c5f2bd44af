"""Tests of interpstack_workers.redo: cells that another worker repeats from their inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from fake_workers import LoopbackPool

from interpstack import BridgeRegistry, BridgeSet, Cell, Image, Limits, Settlement, bridge
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_workers.realm import WorkerRealm
from interpstack_workers.redo import (
    CellInputs,
    PollInputs,
    mark_of,
    pack_inputs,
    spare_seconds,
)
from interpstack_workers.residence import Residence
from interpstack_workers.saved_state import SavedRealm

ASKS = "count = await ask({}); count += Math.random(); count"


@bridge("ask")
async def _ask() -> None:
    raise AssertionError("the tests answer")


def _bridges() -> BridgeSet:
    registry = BridgeRegistry()
    registry.bridge(_ask)
    return registry.freeze()


@pytest.fixture
def realm() -> Iterator[Any]:
    """A realm of QuickJS whose workers are in this process."""
    pool: Any = LoopbackPool(QuickJSEngine)
    home = Residence(QuickJSEngine(), pool, Limits(), _bridges(), SavedRealm(), repeats=True)
    made: Any = WorkerRealm(home)
    made.pool = pool
    yield made
    made.close()


def _run(realm: Any, source: str, *answers: str) -> str:
    execution = realm.start(Cell(source=source))
    progress = execution.poll(0.0, 5.0)
    for answer in answers:
        (request,) = progress.requests
        execution.settle([Settlement(request.id, answer)])
        progress = execution.poll(0.0, 5.0)
    assert progress.completion is not None, progress
    return str(progress.completion.text)


def test_cells_hand_over_no_state_and_lose_none(realm: Any) -> None:
    _run(realm, "var count = 0; var next = () => ++count")
    drawn = _run(realm, ASKS, "5")
    home = realm.residence
    assert (home.saved.image, len(home.saved.since), home.fresh) == (None, 2, True)
    realm.pool.worker.end("was killed")
    assert _run(realm, "count") == drawn
    assert _run(realm, "next()") == str(float(drawn) + 1)
    assert realm.pool.worker.asked == ["open", "poll", "poll"]


def test_a_state_is_handed_over_when_there_is_enough_to_repeat(realm: Any) -> None:
    _run(realm, "var count = 0")
    since = []
    for _ in range(40):
        _run(realm, "count++")
        since.append(len(realm.residence.saved.since))
    assert max(since) == 32
    assert min(since) == 0
    assert realm.residence.saved.image is not None
    realm.pool.worker.end("was killed")
    assert _run(realm, "count") == "40"


def test_an_image_that_is_asked_for_stands_for_the_cells_before(realm: Any) -> None:
    _run(realm, "var count = 7")
    image = realm.image()
    assert realm.residence.saved == SavedRealm(image=image)
    assert realm.image() is image
    asked = realm.pool.worker.asked
    assert asked.count("image") == 1


@pytest.mark.parametrize("running", [True, False])
def test_a_cell_that_does_something_else_is_not_passed_on(realm: Any, running: bool) -> None:
    _run(realm, "var count = 1")
    home = realm.residence
    execution = realm.start(Cell(source="await ask({})"))
    execution.poll(0.0, 5.0)
    if not running:
        execution.abort("enough")
        home.start_from(SavedRealm())
        _run(realm, "var count = 1")
    (inputs,) = home.saved.since
    inputs._polls[0] = attrs.evolve(inputs._polls[0], mark=inputs._polls[0].mark ^ 1)
    realm.pool.worker.end("was killed")
    if running:
        text = execution.poll(0.0, 5.0).failure.message
        assert "a cell that was repeated from its inputs did something else" in text
    lost = realm.start(Cell(source="1")).poll(0.0, 5.0)
    assert lost.state == "lost"
    assert "variables of earlier cells are lost: a cell that was repeated" in lost.failure.message
    assert _run(realm, "typeof count") == "undefined"


def test_what_an_engine_undid_is_not_repeated(realm: Any) -> None:
    _run(realm, "var count = 1; function down() { down() }")
    failed = realm.start(Cell(source="count = 2; down()")).poll(0.0, 5.0)
    assert failed.state == "undone"
    assert len(realm.residence.saved.since) == 1
    realm.pool.worker.end("was killed")
    assert _run(realm, "count") == "1"


def test_a_realm_moves_with_the_cells_to_repeat(realm: Any) -> None:
    _run(realm, "var next = () => 42")
    busy = realm.pool.worker
    realm.pool.idle = LoopbackPool(QuickJSEngine).place(0)
    realm.residence.move_from(busy)
    assert realm.residence.worker is realm.pool.idle
    assert _run(realm, "next()") == "42"


def test_bridges_of_their_time_are_offered_to_repeated_cells(realm: Any) -> None:
    _run(realm, "var count = 0")
    _run(realm, ASKS.replace("Math.random()", "1"), "5")
    realm.bind(BridgeSet())
    assert _run(realm, "typeof ask") == "undefined"
    realm.pool.worker.end("was killed")
    assert _run(realm, "[typeof ask, count]") == '["undefined", 6]'


def test_there_is_a_bound_to_what_is_repeated() -> None:
    def inputs(seconds: float = 0.0, source: str = "") -> CellInputs:
        return CellInputs({"source": source}, BridgeSet(), seconds=seconds)

    assert spare_seconds(()) == pytest.approx(0.1)
    assert spare_seconds((inputs(0.06), inputs(0.03))) == pytest.approx(0.01)
    assert spare_seconds((inputs(0.06), inputs(0.06))) == 0.0
    assert spare_seconds([inputs()] * 33) == 0.0
    assert spare_seconds((inputs(source="x" * (2**20 + 1)),)) == 0.0


def test_inputs_are_packed_from_the_last_image_on() -> None:
    inputs = CellInputs({"source": "1"}, BridgeSet())
    poll = PollInputs(5.0, (Settlement(1, "7", modules={"m": "xyz"}),), 9)
    inputs.add(poll, 0.25)
    assert (inputs.seconds, inputs.chars) == (0.25, 1 + 1 + 3 + 100)
    (packed,) = pack_inputs((inputs,))
    assert packed["cell"] == {"source": "1"}
    assert [(now, mark) for now, _, mark in packed["polls"]] == [(5.0, 9)]
    inputs.go_on_from(Image("e", "b", b""))
    assert (inputs.seconds, inputs.chars) == (0.0, 0)
    (packed,) = pack_inputs((inputs,))
    assert (packed["cell"], packed["polls"]) == (None, [])


def test_a_mark_depends_on_everything_but_the_time() -> None:
    progress = {"requests": [[1, "a", {}, True]], "completion": None, "cpu_seconds": 0.5}
    assert mark_of(progress) == mark_of({**progress, "cpu_seconds": 0.7})
    assert mark_of(progress) != mark_of({**progress, "requests": [[1, "b", {}, True]]})
