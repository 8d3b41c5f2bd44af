"""Exports of an instance: found by name, and called, the short way and the long way."""

from __future__ import annotations

import ctypes

import pytest
import wasmtime

from interpstack_quickjs.webassembly import raw_calls
from interpstack_quickjs.webassembly.raw_calls import (
    export_of,
    global_reader,
    memory_place,
    raw_call,
)

_TEXT = """(module
  (memory (export "memory") 3)
  (global (export "kept") (mut i32) (i32.const 7))
  (func (export "less") (param i32 i32) (result i32) (i32.sub (local.get 0) (local.get 1)))
  (func (export "fail") unreachable))"""


@pytest.fixture(params=[True, False], ids=["short", "long"])
def made(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> tuple[wasmtime.Store, wasmtime.Instance]:
    if request.param and not raw_calls.FAST:
        pytest.skip("this version of wasmtime has no short way")
    monkeypatch.setattr(raw_calls, "FAST", request.param)
    store = wasmtime.Store()
    return store, wasmtime.Instance(store, wasmtime.Module(store.engine, _TEXT), [])


def test_exports_are_found_by_name(made: tuple[wasmtime.Store, wasmtime.Instance]) -> None:
    store, instance = made
    assert export_of(store, instance, "memory").data_len(store) == 3 * 65536
    assert export_of(store, instance, "kept").value(store) == 7
    with pytest.raises(KeyError, match="absent"):
        export_of(store, instance, "absent")


def test_memory_is_where_it_is_reported_to_be(
    made: tuple[wasmtime.Store, wasmtime.Instance],
) -> None:
    store, instance = made
    memory = export_of(store, instance, "memory")
    address, size = memory_place(store, memory)
    memory.write(store, b"here", 3 * 65536 - 4)
    assert ctypes.string_at(address() + size() - 4, 4) == b"here"
    memory.grow(store, 2)
    assert size() == 5 * 65536
    assert ctypes.string_at(address() + 3 * 65536 - 4, 4) == b"here"


@pytest.mark.parametrize("brief", [False, True])
def test_functions_are_called(made: tuple[wasmtime.Store, wasmtime.Instance], brief: bool) -> None:
    store, instance = made
    less = raw_call(store, export_of(store, instance, "less"), brief=brief)
    assert [less(9, 4), less(4, 9), less(2**31 - 1, 0)] == [5, -5, 2**31 - 1]
    with pytest.raises(wasmtime.Trap, match="unreachable"):
        raw_call(store, export_of(store, instance, "fail"), brief=brief)()


def test_the_value_of_a_global_is_the_current_one(
    made: tuple[wasmtime.Store, wasmtime.Instance],
) -> None:
    store, instance = made
    kept = export_of(store, instance, "kept")
    read = global_reader(store, kept)
    assert read() == 7
    kept.set_value(store, -5)
    assert read() == -5
