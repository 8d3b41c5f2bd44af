"""The same seed, clock and settlements give the same run."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import json
from typing import Any

import pytest

from interpstack import Bridge, BridgeRegistry, Cell, Limits, Settlement
from interpstack_quickjs.engine import QuickJSEngine

_PROBE = """
const bytes = crypto.getRandomValues(new Uint8Array(4));
const first = [Math.random(), Date.now(), new Date().toISOString(), crypto.randomUUID(), bytes, performance.now()];
const answer = await host.get('x');
const order = []; await Promise.all([1, 2, 3].map(async n => { await null; order.push(n); }));
[first, answer, Date.now(), performance.now(), Math.random(), order, Object.keys({b: 1, a: 2, 1: 3})]
"""


def _offer() -> Any:
    return BridgeRegistry([Bridge(name="host.get", handler=lambda value: value, raw=True)]).freeze()


def _run(seed: int | None, times: tuple[float, float] = (1_700_000_000.25, 1_700_000_001.5)) -> Any:
    realm = QuickJSEngine().open(Limits(), _offer())
    execution = realm.start(Cell(source=_PROBE, seed=seed))
    (request,) = execution.poll(times[0], 1.0).requests
    execution.settle([Settlement(request.id, '"answer"')])
    completion = execution.poll(times[1], 1.0).completion
    image = realm.image()
    realm.close()
    assert completion is not None
    assert completion.error is None, completion.error
    return completion.text, image


@pytest.mark.parametrize("seed", [0, 1, 2**32, 2**127 + 5, 2**128 - 1])
def test_the_same_run_twice(seed: int) -> None:
    first, second = _run(seed), _run(seed)
    assert first[0] == second[0]
    assert first[1] == second[1]  # to the last byte of the heap


def test_the_clock_is_that_of_the_poll() -> None:
    text, _ = _run(7)
    assert "1700000000250, " in text
    assert '"2023-11-14T22:13:20.251Z"' in text  # each reading is a millisecond later
    # The answer came as long after the call as the host says: the three readings are not lost.
    assert ', "answer", 1700000001503, 1254, ' in text


def _readings(*times: float) -> list[float]:
    """What the guest reads, twice in each poll at these times of the host's."""
    source = """
    const seen = [];
    for (let n = 0; n < %d; n++) { seen.push(Date.now(), Date.now()); await host.get(n); }
    seen
    """
    realm = QuickJSEngine().open(Limits(), _offer())
    execution = realm.start(Cell(source=source % len(times), seed=1))
    for now in times:
        progress = execution.poll(now, 1.0)
        execution.settle([Settlement(request.id, "0") for request in progress.requests])
    completion = execution.poll(times[-1], 1.0).completion
    realm.close()
    assert completion is not None
    readings: list[float] = json.loads(completion.text)
    return readings


def test_time_never_goes_back() -> None:
    assert _readings(100.0, 99.0, 99.5) == [100_000, 100_001, 100_002, 100_003, 100_004, 100_005]


def test_a_cell_begins_with_the_hosts_time() -> None:
    source = "const end = Date.now() + 3600e3; while (Date.now() < end); Date.now() >= end"
    realm = QuickJSEngine().open(Limits(), _offer())
    texts = []
    for code in (source, "Date.now()"):
        execution = realm.start(Cell(source=code, seed=1))
        completion = execution.poll(1000.0, 10.0).completion
        execution.abort("the cell has ended")
        assert completion is not None
        texts.append(completion.text)
    realm.close()
    assert texts == ["true", "1000000"]


def test_a_long_wait_is_caught_up_with() -> None:
    source = """
    const end = Date.now() + 5000; while (Date.now() < end); await host.get(0); Date.now() - end
    """
    realm = QuickJSEngine().open(Limits(), _offer())
    execution = realm.start(Cell(source=source, seed=1))
    (request,) = execution.poll(1000.0, 5.0).requests
    execution.settle([Settlement(request.id, "0")])
    completion = execution.poll(1006.0, 5.0).completion
    realm.close()
    assert completion is not None
    assert completion.text == "1100"  # 6 s have passed, and the guest is 0.1 s ahead


def test_every_word_of_the_seed_counts() -> None:
    seeds = [0, 1, 2**31, 2**32, 2**63, 2**64, 2**96, 2**127]
    assert len({_run(seed)[0] for seed in seeds}) == len(seeds)


def test_random_numbers_are_fair() -> None:
    realm = QuickJSEngine().open(Limits(), _offer())
    source = """
    let sum = 0, low = 1, high = 0; const kinds = new Set();
    for (let i = 0; i < 20000; i++) {
        const r = Math.random(); sum += r; kinds.add(r);
        if (r < low) low = r; if (r > high) high = r;
    }
    const uuid = crypto.randomUUID();
    [Math.round(sum / 200), low >= 0 && low < 0.01, high < 1 && high > 0.99, kinds.size,
     /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(uuid)]
    """
    completion = realm.start(Cell(source=source, seed=3)).poll(0.0, 5.0).completion
    realm.close()
    assert completion is not None
    assert completion.text == "[50, true, true, 20000, true]"


def test_a_cell_does_not_depend_on_how_many_polls_it_took() -> None:
    texts = set()
    for together in (True, False):
        realm = QuickJSEngine().open(Limits(), _offer())
        run = realm.start(
            Cell(
                source="const r = await Promise.all([host.get(1), host.get(2)]); [r, Math.random()]",
                seed=9,
            )
        )
        ids = [request.id for request in run.poll(0.0, 1.0).requests]
        answers = [Settlement(i, str(i)) for i in ids]
        if together:
            run.settle(answers)
        else:
            run.settle(answers[:1])
            assert run.poll(0.0, 1.0).completion is None
            run.settle(answers[1:])
        completion = run.poll(0.0, 1.0).completion
        assert completion is not None
        texts.add(completion.text)
        realm.close()
    assert len(texts) == 1
