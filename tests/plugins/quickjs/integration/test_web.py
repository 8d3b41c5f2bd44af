"""The web basics in this engine, by the cases they ship with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from interpstack import BridgeSet, Cell, Limits, Realm, Settlement
from interpstack_quickjs.engine import QuickJSEngine

_CASES = json.loads((files("interpstack_javascript") / "web" / "cases.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def realm() -> Iterator[Realm]:
    opened = QuickJSEngine().open(Limits(), BridgeSet())
    yield opened
    opened.close()


def _run(realm: Realm, source: str) -> Any:
    """Run a cell whose timers ring at once, the shortest first."""
    execution = realm.start(Cell(source=source))
    waiting: dict[int, float] = {}
    clock = 1_700_000_000.0
    while True:
        progress = execution.poll(clock, 5.0)
        if progress.completion is not None:
            execution.abort("done")
            return progress.completion
        waiting.update({request.id: clock + request.wire / 1000 for request in progress.requests})
        for request_id in progress.cancelled:
            del waiting[request_id]
        first = min(waiting, key=lambda item: (waiting[item], item))
        clock = waiting.pop(first)
        execution.settle([Settlement(first)])


@pytest.mark.parametrize("case", _CASES, ids=[case["name"] for case in _CASES])
def test_case(realm: Realm, case: dict[str, str]) -> None:
    done = _run(realm, f"String(await ({case['code']}))")
    assert done.error is None, done.error
    assert done.text == case["expect"]
