"""The engine beyond its conformance: suspension, portable values, limits in every path."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import pytest
from quickjs_realms import open_realm, run, text_of

# -- portable values -----------------------------------------------------------------------

_VALUES = {
    "number": "41.5",
    "negative zero": "-0",
    "NaN": "NaN",
    "string": "'é😀\\ud800'",
    "bigint": "2n ** 80n",
    "undefined": "undefined",
    "null": "null",
    "Date": "new Date(86400000)",
    "Map": "new Map([[{a: 1}, new Set([1, 'x'])]])",
    "bytes": "new Uint8Array([0, 127, 255])",
    "nested": "({a: [1, {b: null}], '$': {c: 1}, ['__proto__']: 5})",
    "error": "new RangeError('r')",
    "empty": "[[], {}, '']",
}


@pytest.mark.parametrize("source", _VALUES.values(), ids=_VALUES)
def test_values_survive(source: str) -> None:
    realm = open_realm()
    before = text_of(realm, f"const v = {source}; [v instanceof Error ? v.name + v.message : v]")
    values = realm.values()
    realm.close()
    other = open_realm()
    other.load(values)
    assert text_of(other, "[v instanceof Error ? v.name + v.message : v]") == before
    assert other.names() == ["v"]
    other.close()


_LOST = {
    "function": "function fn() {}",
    "arrow": "const fn = () => 1",
    "class": "class fn {}",
    "symbol": "const fn = Symbol('s')",
    "promise": "const fn = {p: Promise.resolve(1)}.p",
    "holder": "const fn = {a: [() => 1]}",
    "accessor": "Object.defineProperty(globalThis, 'fn', {get() { for (;;); }, configurable: true, enumerable: true})",
    "throwing getter": "const fn = {get a() { throw 1; }}",
    "Proxy": "const fn = new Proxy({}, {ownKeys() { throw 1; }})",
}

_TYPES = {"arrow": "function", "class": "function", "promise": "Promise", "holder": "Object",
          "throwing getter": "accessor", "Proxy": "Object"}  # fmt: skip


@pytest.mark.parametrize("name", _LOST)
def test_what_is_lost_says_so_when_it_is_used(name: str) -> None:
    realm = open_realm()
    run(realm, f"const keep = 1; {_LOST[name]}; 0")
    values = realm.values()
    realm.close()
    kind = _TYPES.get(name, name)
    part = ", at fn.a[0]" if name == "holder" else ""  # the part without a form as data
    message = (
        f"Value for 'fn' was not restored because it is not serializable (type: {kind}){part}."
    )
    for _ in range(2):  # and the reason survives a second journey
        realm = open_realm()
        realm.load(values)
        done = run(realm, "keep + fn")
        assert done.error is not None
        assert (done.error.name, done.error.message) == ("Error", message)
        values = realm.values()
    assert text_of(realm, "keep") == "1"
    assert text_of(realm, "function fn() { return 2; }; fn()") == "2"
    assert text_of(realm, "fn()") == "2"
    realm.close()


def test_the_message_for_a_function() -> None:
    realm = open_realm()
    realm.load({"fn": {"$": "lost", "v": "it is not serializable (type: function)"}})
    done = run(realm, "fn()")
    assert done.error.message == (
        "Value for 'fn' was not restored because it is not serializable (type: function)."
    )
    realm.close()


# -- limits --------------------------------------------------------------------------------


def test_memory_is_that_of_the_limit() -> None:
    realm = open_realm()
    assert text_of(realm, "new Uint8Array(10e6).length") == "10000000"
    assert run(realm, "new Uint8Array(16e6).length").error.name == "OutOfMemory"
    assert realm.live.guest.memory_bytes <= 16 * 2**20
    realm.close()


# -- reading values ------------------------------------------------------------------------
