"""Keys that mean something to the language stay data, in both directions."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import json
from typing import Any

import pytest

from interpstack import Bridge, InterpreterStack, Limits, MapValue

_KEYS = [
    "__proto__", "constructor", "prototype", "toString", "valueOf", "toJSON", "hasOwnProperty", "then",
    "__defineGetter__", "__lookupSetter__", "$", "v", "length", "name", "message", "stack", "get",
    "set", "value", "0", "-1", "", " ", "\n", "a.b", "__class__", "__dict__", "\x00",
]  # fmt: skip


@pytest.mark.parametrize("key", _KEYS)
async def test_to_the_host_and_back(victim: Any, key: str) -> None:
    text = json.dumps(key)
    outcome = await victim.attack(
        f"const sent = JSON.parse({json.dumps(json.dumps({key: {'polluted': 1}}))});"
        f"const back = await host.echo({{a: sent, list: [sent]}});"
        f"[back.a, back.list[0]].map(o => [Object.keys(o).length, Object.hasOwn(o, {text}),"
        f" Object.getPrototypeOf(o) === Object.prototype,"
        f" Object.getOwnPropertyDescriptor(o, {text}).value.polluted, ({{}}).polluted])"
    )
    assert outcome.error is None, outcome.error
    assert outcome.text == "[[1, true, true, 1, undefined], [1, true, true, 1, undefined]]"


@pytest.mark.parametrize("key", _KEYS)
async def test_what_the_host_sees(key: str) -> None:
    seen: list[Any] = []

    def see(value: Any) -> None:
        seen.append(value)

    bridge = Bridge(name="host.see", handler=see, raw=True)
    stack = InterpreterStack(bridges=[bridge], limits=Limits(cpu_seconds=1))
    async with stack.session("s") as session:
        outcome = await session.eval(
            f"await host.see(JSON.parse({json.dumps(json.dumps({key: [key]}))}))"
        )
        assert outcome.error is None, outcome.error
    stack.close()
    assert seen == [{key: [key]}]


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        ("{$: 'undefined'}", {"$": "undefined"}),
        ("{$: 'lost', v: 'x'}", {"$": "lost", "v": "x"}),
        ("{$: 'bytes', v: '!!'}", {"$": "bytes", "v": "!!"}),
        ("{$: {$: 'number', v: 'NaN'}}", {"$": {"$": "number", "v": "NaN"}}),
        ("[{$: 'object', v: [['a', 1]]}]", [{"$": "object", "v": [["a", 1]]}]),
        ("new Map([['$', {$: 1}]])", MapValue((("$", {"$": 1}),))),
    ],
)
async def test_forged_tags_stay_data(sent: str, received: Any) -> None:
    seen: list[Any] = []

    def see(value: Any) -> Any:
        seen.append(value)
        return value

    stack = InterpreterStack(bridges=[Bridge(name="host.see", handler=see, raw=True)])
    async with stack.session("s") as session:
        outcome = await session.eval(
            f"const sent = {sent}; const back = await host.see(sent); [sent, back]"
        )
        assert outcome.error is None, outcome.error
        middle = len(outcome.text) // 2
        assert outcome.text[1 : middle - 1] == outcome.text[middle + 1 : -1]
        assert outcome.text[middle - 1 : middle + 1] == ", "
    stack.close()
    assert seen == [received]


async def test_setters_on_prototypes_are_not_run(victim: Any) -> None:
    outcome = await victim.attack(
        "globalThis.hits = 0; Object.defineProperty(Array.prototype, '0', {set() { hits++; }, configurable: true});"
        "const back = await host.echo([[1], {a: [2]}]); const {length} = back;"
        "delete Array.prototype[0]; [hits, length, back]"
    )
    assert outcome.text == "[0, 2, [[1], {a: [2]}]]"


@pytest.mark.parametrize(
    "sent",
    [
        "{a: 1, b: ['x', null, true, 1.5]}",
        "{a: -0, b: [NaN], c: 2 ** 53}",
        "{a: undefined, b: [, 1]}",
        "Object.defineProperty({a: 1}, 'toJSON', {value: () => 'changed'})",
        "[Object.defineProperty([1], 'toJSON', {value: () => 'changed'})]",
        "{get a() { return [new Date(0)]; }}",
        "new Proxy({a: [1]}, {})",
        "Object.create(null, {a: {value: 1, enumerable: true}})",
    ],
)
async def test_plain_and_tagged_inputs_are_encoded_alike(sent: str) -> None:
    seen: list[Any] = []
    bridge = Bridge(name="host.see", handler=lambda value: seen.append(repr(value)), raw=True)
    stack = InterpreterStack(bridges=[bridge], limits=Limits(cpu_seconds=1))
    async with stack.session("s") as session:
        outcome = await session.eval(
            # What stands beside a value decides which way all of the input goes.
            f"const sent = ({sent}); await host.see({{sent}}); await host.see({{sent, tag: 1n}})"
        )
        assert outcome.error is None, outcome.error
    stack.close()
    assert seen[1] == seen[0].removesuffix("}") + ", 'tag': 1}"
