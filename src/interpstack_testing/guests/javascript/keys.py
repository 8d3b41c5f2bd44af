"""Keys that mean something to the language stay data, in both directions."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from interpstack_testing.guests.guest import Attack, group

__all__ = ["ATTACKS"]

_KEYS = [
    "__proto__", "constructor", "prototype", "toString", "valueOf", "toJSON", "hasOwnProperty", "then",
    "__defineGetter__", "__lookupSetter__", "$", "v", "length", "name", "message", "stack", "get",
    "set", "value", "0", "-1", "", " ", "\n", "a.b", "__class__", "__dict__", "\x00",
]  # fmt: skip

_SETTERS = """
    globalThis.hits = 0; Object.defineProperty(Array.prototype, '0', {set() { hits++; }, configurable: true});
    const back = await host.echo([[1], {a: [2]}]); const {length} = back;
    delete Array.prototype[0]; [hits, length, back]"""


def _key(key: str) -> Attack:
    text, wire = json.dumps(key), json.dumps(json.dumps({key: {"polluted": 1}}))
    source = f"""
        const sent = JSON.parse({wire}), back = await host.echo({{a: sent, list: [sent]}});
        [back.a, back.list[0]].map(o => [Object.keys(o).length, Object.hasOwn(o, {text}),
            Object.getPrototypeOf(o) === Object.prototype,
            Object.getOwnPropertyDescriptor(o, {text}).value.polluted, ({{}}).polluted])"""
    return Attack(source, shows="[[1, true, true, 1, undefined], [1, true, true, 1, undefined]]")


ATTACKS: Final[Mapping[str, Attack]] = {
    **group("keys", {ascii(key)[1:-1] or "empty": _key(key) for key in _KEYS}),
    "keys/setters of prototypes": Attack(_SETTERS, shows="[0, 2, [[1], {a: [2]}]]"),
}
