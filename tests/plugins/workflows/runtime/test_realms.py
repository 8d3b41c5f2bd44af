"""Realms are opened with the guard in place, each for itself."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from interpstack import Cell, Engine, InterpreterStack, Realm
from interpstack_workflows.runtime.realms import GuardedRealms

_MIB = 2**20
#: Something of each kind that the guard does, and its result.
_GUARDED = "undefined,function,true,function,false"
_PROBE = (
    "[typeof Function, typeof agent, Object.isFrozen(Array.prototype), typeof $workflow.guard,"
    " Reflect.deleteProperty(globalThis, 'agent')].join()"
)


def _engine(name: str) -> Engine:
    return InterpreterStack(name).engine


@pytest.fixture(params=["quickjs", "v8", "node"])
async def engine(request: pytest.FixtureRequest) -> AsyncIterator[Engine]:
    stack = InterpreterStack(request.param)
    yield stack.engine
    await stack.aclose()


def _text(realm: Realm, source: str) -> str:
    try:
        progress = realm.start(Cell(source=source)).poll(time.time(), 5.0)
        assert progress.completion is not None, progress
        assert progress.completion.error is None, progress
        return progress.completion.text
    finally:
        realm.close()


async def test_every_realm_is_guarded_and_bounded(engine: Engine) -> None:
    realms = GuardedRealms(engine)
    for _ in range(2):
        realm, limits = realms.open(64 * _MIB)
        assert limits.memory_bytes == 64 * _MIB
        assert _text(realm, f"$workflow.guard(); {_PROBE}") == _GUARDED


def test_an_image_is_guarded_already() -> None:
    realm, _ = GuardedRealms(_engine("quickjs")).open(64 * _MIB)
    assert _text(realm, _PROBE) == _GUARDED


def test_realms_share_nothing() -> None:
    realms = GuardedRealms(_engine("quickjs"))
    first, _ = realms.open(64 * _MIB)
    assert _text(first, "globalThis.left = 1; left") == "1"
    assert _text(realms.open(64 * _MIB)[0], "typeof left") == "undefined"


def test_an_image_is_of_one_size_of_memory() -> None:
    realms = GuardedRealms(_engine("quickjs"))
    big = "new Uint8Array(48 << 20).length"
    assert _text(realms.open(128 * _MIB)[0], big) == str(48 << 20)
    small, limits = realms.open(32 * _MIB)
    assert limits.memory_bytes == 32 * _MIB
    with pytest.raises(AssertionError, match="OutOfMemory"):
        _text(small, big)
    assert _text(realms.open(128 * _MIB)[0], big) == str(48 << 20)


def test_threads_open_realms_at_once() -> None:
    realms = GuardedRealms(_engine("quickjs"))
    with ThreadPoolExecutor(8) as threads:
        texts = list(threads.map(lambda _: _text(realms.open(64 * _MIB)[0], _PROBE), range(24)))
    assert set(texts) == {_GUARDED}
