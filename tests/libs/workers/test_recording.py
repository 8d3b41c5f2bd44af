"""Tests of interpstack_workers.recording: cells that are continued in the middle of their run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fake_workers import LoopbackPool

from interpstack import BridgeRegistry, Cell, Limits, Settlement, bridge
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_workers.realm import WorkerRealm
from interpstack_workers.recording import Recording
from interpstack_workers.residence import Residence
from interpstack_workers.saved_state import SavedRealm


@bridge("ask")
async def _ask() -> None:
    raise AssertionError("the tests answer")


def _home(*, repeats: bool = True) -> Any:
    pool: Any = LoopbackPool(QuickJSEngine)
    registry = BridgeRegistry()
    registry.bridge(_ask)
    bridges = registry.freeze()
    return Residence(QuickJSEngine(), pool, Limits(), bridges, SavedRealm(), repeats=repeats)


@pytest.fixture
def realm() -> Iterator[Any]:
    """A realm of QuickJS whose workers are in this process."""
    home = _home()
    made: Any = WorkerRealm(home)
    made.pool = home.pool
    yield made
    made.close()


def _run(realm: Any, source: str) -> str:
    progress = realm.start(Cell(source=source)).poll(0.0, 5.0)
    assert progress.completion is not None, progress
    return str(progress.completion.text)


def test_large_answers_are_replaced_by_an_image_in_the_middle(realm: Any) -> None:
    _run(realm, "var count = 0; var text")
    large = json.dumps("x" * 2**20)
    execution = realm.start(Cell(source="text = await ask({}); await ask({}); count = 1; ask({})"))
    progress = execution.poll(0.0, 5.0)
    for _ in range(2):
        execution.settle([Settlement(progress.requests[0].id, large)])
        progress = execution.poll(0.0, 5.0)
        sizes = execution._recording._inputs.chars
    assert sizes < 2**20
    assert execution._recording.has_middle
    realm.pool.worker.end("was killed")
    execution.settle([Settlement(progress.requests[0].id, "3")])
    progress = execution.poll(0.0, 5.0)
    assert progress.completion.text == "3"
    assert realm.residence.saved.image is not None  # the cell had an image in its middle
    assert _run(realm, "[count, text.length]") == f"[1, {2**20}]"


def test_a_cell_that_waits_is_continued_from_its_start(realm: Any) -> None:
    _run(realm, "var count = 1")
    execution = realm.start(Cell(source="count++; const got = await ask({}); got + count"))
    (request,) = execution.poll(0.0, 5.0).requests
    realm.pool.worker.end("was killed")
    execution.settle([Settlement(request.id, "5")])
    assert execution.poll(0.0, 5.0).completion.text == "7"
    assert _run(realm, "count") == "2"


def test_a_state_is_always_handed_over_where_nothing_is_repeated() -> None:
    recording = Recording(_home(repeats=False), Cell(source="1"), None)
    assert recording.spare == (None, 0.0)


def test_a_cell_that_has_not_begun_again_is_continued_from_the_image_alone(realm: Any) -> None:
    execution = realm.start(Cell(source="await ask({})"))
    execution.poll(0.0, 5.0)
    image = realm.image()
    recording = Recording(realm.residence, None, image)
    assert recording.has_middle
    assert recording.paused(begun=False) == SavedRealm(image=image)
    assert len(recording.paused(begun=True).since) == 1
    assert recording.spare == (pytest.approx(0.1), 0.0)
