"""The global itself: how it looks to guest code, and what guest code cannot do with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interpstack import (
    Bridge,
    BridgeNameClash,
    CellContext,
    HostOffer,
    InterpreterStack,
    Session,
    bridge,
)
from interpstack_quickjs.engine import QuickJSEngine


async def test_without_the_plugin_there_is_no_console() -> None:
    with InterpreterStack() as stack:
        assert (await stack.session().eval("typeof console")).text == "undefined"


async def test_it_looks_as_in_node(session: Session) -> None:
    outcome = await session.eval(
        "const d = Object.getOwnPropertyDescriptor(console, 'log');"
        "[String(console), d.writable, d.enumerable, d.configurable, console.log.name,"
        " console.log.length, Object.keys(globalThis).includes('console')]"
    )
    assert outcome.text == '["[object console]", true, true, true, "log", 0, false]'


async def test_it_is_no_global_of_the_guests_own_but_may_be_replaced(session: Session) -> None:
    assert "console" not in await session.names()
    outcome = await session.eval(
        "const {log} = console; console.log = () => log('mine'); console.log('x');"
    )
    assert outcome.console == "mine"


#: Gathers first: what does the replacing must not need what it replaced.
REPLACE_EVERYTHING = """
    const {defineProperty, getOwnPropertyDescriptor, ownKeys} = Reflect;
    const targets = [];
    for (const owner of [Array, String, Object, Number, Map, Set, Reflect, JSON, Math, Symbol,
        Array.prototype, String.prototype, Object.prototype, Number.prototype, Function.prototype,
        Map.prototype, Set.prototype, Error.prototype, Symbol.prototype, BigInt.prototype,
        Date.prototype, RegExp.prototype, Promise.prototype,
        Object.getPrototypeOf([][Symbol.iterator]())])
      for (const key of ownKeys(owner))
        if (key !== 'constructor' && getOwnPropertyDescriptor(owner, key).configurable)
          targets.push({owner, key});
    const boom = () => { throw new TypeError('replaced') };
    for (let i = 0; i < targets.length; i++)
      defineProperty(targets[i].owner, targets[i].key, {get: boom, set: boom, configurable: true});
    String = Number = Error = TypeError = parseInt = parseFloat = boom;
    targets.length > 300
"""
USE_EVERYTHING = """
    console.log(); console.log('%s %d %i %f %j %O', 'a', '1', 2.5, '3', [1], {a: 1}, 'rest', 5n);
    console.group('g'); console.info('x\\ny'); console.groupEnd();
    console.count(); console.assert(false); console.assert(false, 'm');
    console.time(); console.timeEnd(); console.dir({a: [1]}, {depth: 0});
    console.table([{a: 1}, 2]); console.table(map); console.countReset()
"""


async def test_replaced_intrinsics_change_nothing(session: Session) -> None:
    await session.eval("const map = new Map([[1, 2]])")
    before = await session.eval(USE_EVERYTHING)
    replaced = await session.eval(REPLACE_EVERYTHING)
    after = await session.eval(USE_EVERYTHING)
    assert (before.error, replaced.error, after.error) == (None, None, None)
    assert replaced.text == "true"
    assert before.console.startswith("\na 1 2 3 [1] {a: 1} rest 5n\ng\n  x\n  y\ndefault: 1\n")
    assert after.console == before.console


POLLUTED = """
Assertion failed
a {b: [1]}
┌─────────┬───┐
│ (index) │ 0 │
├─────────┼───┤
│ 0       │ 1 │
└─────────┴───┘"""


@pytest.mark.parametrize(
    "pollution",
    [
        "Array.prototype[0] = '%s forged'",
        "Object.defineProperty(Array.prototype, 0, {get() { return 'forged' }, set() {}})",
        "Array.prototype.join = null; String.prototype.replace = null; JSON.stringify = null",
        "Object.defineProperty(Array.prototype, 'length', {value: 0})",
        "RegExp.prototype.exec = () => { throw 1 }; Array.prototype[Symbol.iterator] = null",
        "Function.prototype.call = Function.prototype.apply = Function.prototype.bind = null",
    ],
)
async def test_pollution_changes_nothing(session: Session, pollution: str) -> None:
    outcome = await session.eval(
        f"try {{ {pollution} }} catch {{}} console.log(); console.assert(false);"
        "console.log('%s', 'a', {b: [1]}); console.table([[1]])"
    )
    assert outcome.error is None
    assert outcome.console == POLLUTED


FORGERIES = [
    """console.log('"},["console",{"text":"forged","omitted":7}]')""",
    """try { console({text: 'forged', omitted: -5}) } catch { console.log('forged') }""",
    """note({text: 'forged', omitted: 7}); note('console'); console.log('forged')""",
    """Array.prototype.toJSON = () => ['console', {text: 'forged', omitted: 7}]; note('forged')""",
]


@pytest.mark.parametrize("code", FORGERIES)
async def test_the_delivery_cannot_be_forged(code: str) -> None:
    noted: list[Any] = []

    def note(value: Any) -> None:
        noted.append(value)

    host = Bridge(name="note", handler=note, raw=True, awaited=False)
    with InterpreterStack(plugins=["console"], bridges=[host]) as stack:
        outcome = await stack.session().eval(code)
    assert outcome.console_omitted_chars == 0
    assert outcome.attachments == ()
    assert outcome.console.count("forged") == code.count("console.log(")
    assert len(noted) == code.count("note(")


async def test_no_bridge_of_that_name_is_offered_to_guest_code(session: Session) -> None:
    # A name the host offers is reserved; the guest's console is an ordinary global.
    outcome = await session.eval("Object.getOwnPropertyDescriptor(globalThis, 'console').writable")
    assert outcome.text == "true"


def test_a_host_bridge_of_that_name_is_refused() -> None:
    @bridge("console.log", awaited=False)
    def log(text: str) -> None: ...

    stack = InterpreterStack(plugins=["console"], bridges=[log])
    with pytest.raises(BridgeNameClash, match=r"(?s)console.*interpstack_console"):
        stack.session().bind(HostOffer())


BAD = [
    None,
    "text",
    {},
    {"text": "x"},
    {"text": 1, "omitted": 0},
    {"text": "x", "omitted": -1},
    {"text": "x", "omitted": True},
    {"text": "x", "omitted": 1.5},
    {"text": "x", "omitted": 0, "more": 1},
]


@pytest.mark.parametrize("value", BAD, ids=json.dumps)
async def test_a_delivery_of_another_shape_is_refused(stack: InterpreterStack, value: Any) -> None:
    delivery = stack.bridge_set(HostOffer()).bridges["console"]
    context = CellContext("key", None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="console output must be"):
        await delivery.handler(value, context)
    assert context.outcome(10).console == ""


@pytest.mark.parametrize(("language", "found"), [("javascript", True), ("python", False)])
def test_the_prompt_tells_of_it_for_javascript_only(language: str, found: bool) -> None:
    class Other(QuickJSEngine):
        pass

    Other.language = language
    text = InterpreterStack(Other(), plugins=["console"]).prompt()
    assert ("console.log" in text) is found
    assert len(text) < 150
