"""Realms of QuickJS, driven by hand."""

from __future__ import annotations

from typing import Any

from interpstack import (
    Bridge,
    BridgeRegistry,
    Cell,
    Execution,
    Limits,
    Realm,
)
from interpstack_quickjs.engine import QuickJSEngine

LIMITS = Limits(cpu_seconds=5, memory_bytes=16 * 2**20)


def offer() -> Any:
    names = ("host.get", "host.other")
    return BridgeRegistry(
        [Bridge(name=name, handler=lambda value: value, raw=True) for name in names]
    ).freeze()


def open_realm(image: Any = None) -> Realm:
    return QuickJSEngine().open(LIMITS, offer(), image)


def run(realm: Realm, source: str) -> Any:
    execution = realm.start(Cell(source=source))
    progress = execution.poll(0.0, 5.0)
    assert progress.completion is not None, progress
    execution.abort("done")
    return progress.completion


def text_of(realm: Realm, source: str) -> str:
    done = run(realm, source)
    assert done.error is None, done.error
    return str(done.text)


def moved(realm: Realm) -> tuple[Realm, Execution]:
    """The realm and its execution, in another instance of the engine."""
    image = realm.image()
    realm.close()
    opened = open_realm(image)
    return opened, opened.resume()
