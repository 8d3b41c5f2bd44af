"""Bytes on their way to and from a guest, up to the largest that may cross."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from engines import OnEngine

from interpstack import Bridge, BridgeSet, Cell, InterpreterStack, Limits
from interpstack_javascript import KERNEL_NAME, kernel_source
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_quickjs.guest import STATUS_OK, Guest

#: Takes a tenth of it with an engine's own base64, and seconds with one byte at a time.
_LIMITS = Limits(cpu_seconds=2, memory_bytes=256 * 2**20)
#: Of `Limits.value_bytes`, base64 takes four for three; the tag and the key take some, too.
_MOST = 16 * 2**20 // 4 * 3 - 48

_TOO_LARGE = [
    f"new Uint8Array({_MOST + 48})",
    "new Uint8Array(13e6)",
    "new ArrayBuffer(13e6)",
    "new Uint8ClampedArray(13e6)",
    "new Uint8Array(13e6).subarray(1)",
    "[new Uint8Array(7e6), new Uint8Array(7e6)]",
    "new Map([[1, new Uint8Array(13e6)]])",
]


async def _length(value: Any) -> int:
    return len(value)


async def _bytes(size: int) -> bytes:
    return bytes(range(256)) * (int(size) // 256)


def _stack(engine: str) -> InterpreterStack:
    bridges = [Bridge(name="host.length", handler=_length), Bridge(name="host.get", handler=_bytes)]
    return InterpreterStack(engine=engine, limits=_LIMITS, bridges=bridges)


@pytest.mark.engines("javascript")
def test_the_largest_bytes_cross_in_time(on_engine: OnEngine) -> None:
    with _stack(on_engine.name) as stack, stack.session() as session:
        outcome = session.eval_sync(f"await host.length({{value: new Uint8Array({_MOST})}})")
        assert (outcome.error, outcome.text) == (None, str(_MOST))
        outcome = session.eval_sync("(await host.get({size: 12e6})).length")
        assert (outcome.error, outcome.text) == (None, str(12_000_000 // 256 * 256))


@pytest.mark.engines("javascript")
def test_larger_bytes_are_refused_before_they_are_encoded(on_engine: OnEngine) -> None:
    with _stack(on_engine.name) as stack, stack.session() as session:
        for source in _TOO_LARGE:
            error = session.eval_sync(f"await host.length({{value: {source}}})").error
            assert error is not None, source
            assert error.name == "RangeError", (source, error)
            assert "too large to pass to the host" in error.message
        assert session.eval_sync("1 + 1").text == "2"


@pytest.mark.engines("javascript")
def test_values_that_hold_large_bytes_are_exported_in_time(on_engine: OnEngine) -> None:
    with _stack(on_engine.name) as stack, stack.session() as session:
        session.eval_sync("var small = new Uint8Array(1.5e6), large = new Uint8Array(13e6), n = 1")
        values = asyncio.run(session.values())
        assert len(values["small"]["v"]) == 2_000_000
        assert (values["large"]["$"], values["n"]) == ("lost", 1)
        assert session.eval_sync("small.length + n").text == "1500001"


@pytest.mark.parametrize("size", [0, 1, 2, 3, 255, 256, 1000])
def test_an_engine_without_base64_encodes_alike(size: int) -> None:
    """As Node 24, for one."""
    guest = Guest(None)
    try:
        guest.evaluate("delete Uint8Array.prototype.toBase64; delete Uint8Array.fromBase64")
        install = guest.evaluate_module(f"export default {kernel_source()}", KERNEL_NAME)
        _, kernel = guest.invoke(install)
        dispatch = guest.get(kernel, "dispatch")
        status, _ = guest.evaluate(f"globalThis.b = new Uint8Array({size}).map((_, i) => i * 7)")
        assert status == STATUS_OK
        plain = _said(guest, dispatch, '["values"]')
        _said(guest, dispatch, f'["load",{plain}]')
        assert _said(guest, dispatch, '["values"]') == plain
    finally:
        guest.close()
    realm = QuickJSEngine().open(Limits(), BridgeSet())
    cell = Cell(source=f"globalThis.b = new Uint8Array({size}).map((_, i) => i * 7); 0")
    assert realm.start(cell).poll(0.0, 5.0).completion is not None

    assert json.loads(plain)["b"] == realm.values()["b"]
    realm.close()


def _said(guest: Guest, dispatch: int, text: str) -> str:
    status, handle = guest.invoke(dispatch, guest.new_string(text))
    assert status == STATUS_OK
    return guest.string(handle) or ""
