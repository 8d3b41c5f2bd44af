"""Realms of QuickJS: portable values, names, and cells to go on with."""

from __future__ import annotations

import pytest
from quickjs_realms import moved, open_realm, run, text_of

from interpstack import (
    Cell,
    ConfigurationError,
)


def test_nothing_to_resume() -> None:
    realm = open_realm()
    run(realm, "1")
    with pytest.raises(ConfigurationError, match="no cell was running"):
        realm.resume()
    with pytest.raises(ConfigurationError, match="no cell was running"):
        open_realm(realm.image()).resume()
    realm.close()


def test_a_cell_is_resumed_once() -> None:
    realm = open_realm()
    realm.start(Cell(source="await host.get(1)")).poll(0.0, 1.0)
    realm, _ = moved(realm)
    with pytest.raises(ConfigurationError, match="no cell was running"):
        realm.resume()
    realm.close()


def test_a_lost_value_can_be_assigned() -> None:
    realm = open_realm()
    realm.load({"fn": {"$": "lost", "v": "it is gone"}, "other": {"$": "lost", "v": "it is gone"}})
    assert text_of(realm, "fn = 5; let other = 6; fn + other") == "11"
    assert text_of(realm, "fn + other") == "11"
    assert realm.values() == {"fn": 5, "other": 6}
    realm.close()


def test_endless_code_does_not_break_the_export() -> None:
    realm = open_realm()
    run(realm, "const keep = 1; const bad = new Proxy({}, {ownKeys() { for (;;); }}); 0")
    values = realm.values()
    assert (values["keep"], values["bad"]["$"]) == (1, "lost")
    assert text_of(realm, "keep") == "1"
    realm.close()


def test_endless_builtins_do_not_break_the_export(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interpstack_quickjs.webassembly.machine._GRACE_SECONDS", 0.1)
    realm = open_realm()
    run(
        realm,
        "const keep = 1;"
        "const bad = new Proxy({}, {ownKeys() { [].indexOf.call({length: 2 ** 53 - 1}, 1); }}); 0",
    )
    values = realm.values()
    assert (values["keep"], values["bad"]["$"]) == (1, "lost")
    assert text_of(realm, "keep") == "1"
    realm.close()


def test_own_names_only() -> None:
    realm = open_realm()
    assert list(realm.names()) == []
    run(
        realm, "const a = 1; var b; function c() {}; class D {}; globalThis.e = 1; { let f = 1; } 0"
    )
    assert sorted(realm.names()) == ["D", "a", "b", "c", "e"]
    realm.close()


def test_closing_twice() -> None:
    realm = open_realm()
    realm.close()
    realm.close()
    assert realm.live.guest.memory_bytes == 0


@pytest.mark.parametrize(
    "value",
    [
        "{get x() { ran++; return 1 }}",
        "[[{k: {get y() { ran++; return 1 }}}]]",
        "new Map([[{get z() { ran++ }}, 1]])",
        "new Set([{set z(v) {}, get z() { ran++ }}])",
        "Object.assign(Object.create(null), {a: {get b() { ran++ }}})",
        "[{a: 1, set b(v) { ran++ }}]",
        "Array.from({length: 20000}, (_, i) => i ? 0 : {get x() { ran++ }})",
    ],
)
def test_values_with_accessors_are_not_read(value: str) -> None:
    realm = open_realm()
    made = text_of(realm, f"globalThis.ran = 0; let it = {value}; ran")
    assert made == "0"
    lost = {"$": "lost", "v": "it is not serializable (type: accessor)"}
    assert realm.values() == {"ran": 0, "it": lost}
    realm.close()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("/a/", "(type: RegExp)"),
        ("({rows: [{id: 1}, {when: /a/}]})", "(type: Object), at it.rows[1].when"),
        ("[1, () => 2]", "(type: Array), at it[1]"),
        ("Object.assign([1], {method() {}})", "(type: Array), at it.method"),
        ("new Error('m', {cause: Symbol()})", "(type: Error), at it.cause"),
        ("[Object.defineProperty({a: 1}, 'hidden', {value: 1})]", "(type: Array), at it[0]"),
    ],
)
def test_the_reason_says_where_a_variable_holds_what_is_not_portable(value: str, why: str) -> None:
    realm = open_realm()
    text_of(realm, f"let it = {value}; 0")
    assert realm.values()["it"]["v"].endswith(why)
    realm.close()
