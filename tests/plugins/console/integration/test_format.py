"""What the methods print. Expectations are Node 20's, in the kernel's notation for objects."""

from __future__ import annotations

import pytest

from interpstack import Cell, Session

FORMATS = [
    ('"a"', "a"),
    ("", ""),
    ('""', ""),
    ('"a", "", "b"', "a  b"),
    ("undefined", "undefined"),
    ('-0, 1.50, NaN, true, null, 10n, Symbol("q")', "-0 1.5 NaN true null 10n Symbol(q)"),
    ('1, "%s", 2', "1 %s 2"),
    ('{a: 1, b: "x"}, [1, "y"]', '{a: 1, b: "x"} [1, "y"]'),
    ('"100%%"', "100%%"),
    ('"100%%", 1', "100% 1"),
    ('"%", 1', "% 1"),
    ('"a%"', "a%"),
    ('"%s %s", "a"', "a %s"),
    ('"%s", "a", "b", {c: 1}', "a b {c: 1}"),
    ('"%s", "a%s", "b"', "a%s b"),
    ('"%%%s", "x"', "%x"),
    ('"%x|%s", "a"', "%x|a"),
    ('"%s %s %s %s", -0, Symbol("q"), 10n, null', "-0 Symbol(q) 10n null"),
    ('"%s", () => 1', "() => 1"),
    ('"%s", {toString() { return "T" }}', "T"),
    ('"%s", new (class B { toString() { return "bb" } })', "bb"),
    ('"%s", new (class B { x = 1 })', "B {x: 1}"),
    ('"%s", new Date(0)', "1970-01-01T00:00:00.000Z"),
    ('"%s", {a: {b: 1}}', "{a: [Object]}"),
    ('"%s", [1, [2]]', "[1, [Array]]"),
    ('"%d %d %d %d %d", "42.5", "x", "0x10", null, -0', "42.5 NaN 16 0 -0"),
    ('"%i %i %i", "42.9px", 1e21, {}', "42 1 NaN"),
    ('"%f %f", "1.5e1z", "abc"', "15 NaN"),
    ('"%d %i %f", 1n, 2n, 3n', "1n 2n 3"),
    ('"%d %i %f", Symbol(), Symbol(), Symbol()', "NaN NaN NaN"),
    ('"%j", {a: [1, "x"]}', '{"a":[1,"x"]}'),
    ('"%j", undefined', "undefined"),
    ('"%j", (() => { const o = {}; o.o = o; return o })()', "[Circular]"),
    ('"%o %O", {a: "x"}, "s"', '{a: "x"} "s"'),
    ('"%cstyled%c", "color: red", ""', "styled"),
    ("{a: {b: {c: {d: {e: {}}}}}}", "{a: {b: {c: {d: {e: [Object]}}}}}"),
]


@pytest.mark.parametrize(("arguments", "expected"), FORMATS)
async def test_formats_like_node(session: Session, arguments: str, expected: str) -> None:
    outcome = await session.eval(f"console.log({arguments}); console.log('.')")
    assert outcome.error is None
    assert outcome.console == f"{expected}\n."


@pytest.mark.parametrize("method", ["log", "info", "warn", "error", "debug", "dirxml"])
async def test_methods_of_one_kind_print_alike(session: Session, method: str) -> None:
    outcome = await session.eval(f'const {{{method}}} = console; {method}("%d!", 1, {{a: 1}})')
    assert outcome.console == "1! {a: 1}"


THROWING = [
    ("{get a() { throw new TypeError('no') }}", "{a: [Throws: TypeError: no]}"),
    ("'%s', {toString() { throw 1 }, a: 1}", "{toString: [Function: toString], a: 1}"),
    ("'%s', {toString: () => ({})}", "{toString: [Function: toString]}"),
    ("'%d %i', {valueOf() { throw 1 }, toString() { throw 2 }}, Object.create(null)", "NaN NaN"),
    ("'%j', {toJSON() { throw 1 }}", "{toJSON: [Function: toJSON]}"),
    ("'%j', {a: 1n}", "{a: 1n}"),
    ("new Proxy({}, {ownKeys() { throw new Error('trap') }})", "[Throws: Error: trap]"),
]


@pytest.mark.parametrize(("arguments", "expected"), THROWING)
async def test_what_throws_is_shown(session: Session, arguments: str, expected: str) -> None:
    outcome = await session.eval(f"console.log({arguments}); 'alive'")
    assert (outcome.console, outcome.text) == (expected, "alive")


async def test_a_revoked_proxy_does_not_throw(session: Session) -> None:
    outcome = await session.eval(
        "const {proxy, revoke} = Proxy.revocable({}, {}); revoke();"
        "console.log('%s %d %j', proxy, proxy, proxy); console.table(proxy); console.dir(proxy);"
        "console.count(proxy); console.assert(false, proxy); 'alive'"
    )
    assert outcome.text == "alive"
    assert len(outcome.console.splitlines()) == 5


METHODS = [
    (
        'console.group("g %d", 1); console.log("a\\nb"); console.group(); console.log("c");'
        'console.groupEnd(); console.groupEnd(); console.groupEnd(); console.log("d")',
        "g 1\n  a\n  b\n    c\nd",
    ),
    (
        'console.groupCollapsed("x"); console.table([]); console.groupEnd()',
        "x\n  ┌─────────┐\n  │ (index) │\n  ├─────────┤\n  └─────────┘",
    ),
    (
        "for (let i = 0; i < 150; i++) console.group(); console.log(1);"
        "for (let i = 0; i < 150; i++) console.groupEnd(); console.log(2)",
        " " * 200 + "1\n2",
    ),
    (
        'console.count(); console.count("x"); console.count(undefined); console.count(null);'
        "console.countReset(); console.count(); console.countReset('zz');"
        "console.count('__proto__')",
        "default: 1\nx: 1\ndefault: 2\nnull: 1\ndefault: 1\nCount for 'zz' does not exist\n"
        "__proto__: 1",
    ),
    (
        'console.assert(true, "no"); console.assert(false); console.assert(0, "m %d", 5);'
        'console.assert("", {a: 1}, "b")',
        "Assertion failed\nAssertion failed: m 5\nAssertion failed: {a: 1} b",
    ),
    ('console.dir("x"); console.dir({a: {b: {c: 1}}}, {depth: 0})', '"x"\n{a: [Object]}'),
    (
        "const o = {a: {b: {c: {d: {e: {f: {}}}}}}}; console.dir(o); console.dir(o, {depth: null})",
        "{a: {b: {c: {d: {e: [Object]}}}}}\n{a: {b: {c: {d: {e: {f: {}}}}}}}",
    ),
    (
        'console.time("t"); console.time("t"); console.timeLog("t", "x", {a: 1});'
        'console.timeEnd("t"); console.timeEnd("t")',
        "Label 't' already exists for console.time()\nt: 1ms x {a: 1}\nt: 2ms\n"
        "No such label 't' for console.timeEnd()",
    ),
]


@pytest.mark.parametrize(("code", "expected"), METHODS)
async def test_methods(session: Session, code: str, expected: str) -> None:
    outcome = await session.eval(code)
    assert (outcome.error, outcome.console) == (None, expected)


async def test_time_is_the_hosts(session: Session) -> None:
    outcome = await session.eval(
        "console.time(); await new Promise(r => setTimeout(r, 20)); console.timeEnd()"
    )
    label, _, duration = outcome.console.partition(": ")
    assert label == "default"
    assert float(duration.removesuffix("ms")) >= 15


async def test_trace_shows_the_cells_frames_only(session: Session) -> None:
    cell = Cell(source='function f() { console.trace("m %s", 1) }\nf()', name="here")
    lines = (await session.eval(cell)).console.splitlines()
    assert lines[0] == "Trace: m 1"
    assert [line.strip().split(" (")[0] for line in lines[1:]] == ["at f", "at <cell>"]
    assert all("(here:" in line for line in lines[1:])


TABLES = [
    (
        '[{a: 1, b: "x"}, {a: 2, c: true}]',
        """
┌─────────┬───┬─────┬──────┐
│ (index) │ a │ b   │ c    │
├─────────┼───┼─────┼──────┤
│ 0       │ 1 │ "x" │      │
│ 1       │ 2 │     │ true │
└─────────┴───┴─────┴──────┘""",
    ),
    (
        '[1, "two", {a: 3}]',
        """
┌─────────┬───┬────────┐
│ (index) │ a │ Values │
├─────────┼───┼────────┤
│ 0       │   │ 1      │
│ 1       │   │ "two"  │
│ 2       │ 3 │        │
└─────────┴───┴────────┘""",
    ),
    (
        "{r: {x: 1}, q: [5, 6]}",
        """
┌─────────┬───┬───┬───┐
│ (index) │ 0 │ 1 │ x │
├─────────┼───┼───┼───┤
│ r       │   │   │ 1 │
│ q       │ 5 │ 6 │   │
└─────────┴───┴───┴───┘""",
    ),
    (
        '[{a: 1, b: 2}, 5], ["b"]',
        """
┌─────────┬───┐
│ (index) │ b │
├─────────┼───┤
│ 0       │ 2 │
│ 1       │   │
└─────────┴───┘""",
    ),
    (
        'new Map([["k", 1], [{a: 1}, [1, 2, 3, 4]]])',
        """
┌───────────────────┬────────┬────────────────────────────┐
│ (iteration index) │ Key    │ Values                     │
├───────────────────┼────────┼────────────────────────────┤
│ 0                 │ "k"    │ 1                          │
│ 1                 │ {a: 1} │ [1, 2, 3, ... 1 more item] │
└───────────────────┴────────┴────────────────────────────┘""",
    ),
    (
        'new Set([1, "日本"])',
        """
┌───────────────────┬────────┐
│ (iteration index) │ Values │
├───────────────────┼────────┤
│ 0                 │ 1      │
│ 1                 │ "日本" │
└───────────────────┴────────┘""",
    ),
    (
        "[{a: {x: 1, y: 2, z: 3}, b: () => 1, get c() { throw 1 }}]",
        """
┌─────────┬──────────┬───────────────┬─────────────┐
│ (index) │ a        │ b             │ c           │
├─────────┼──────────┼───────────────┼─────────────┤
│ 0       │ [Object] │ [Function: b] │ [Throws: 1] │
└─────────┴──────────┴───────────────┴─────────────┘""",
    ),
    ("5", "5"),
    ("null", "null"),
]


@pytest.mark.parametrize(("arguments", "expected"), TABLES)
async def test_tables(session: Session, arguments: str, expected: str) -> None:
    outcome = await session.eval(f"console.table({arguments})")
    assert (outcome.error, outcome.console) == (None, expected.removeprefix("\n"))


async def test_a_tables_columns_must_be_a_list(session: Session) -> None:
    outcome = await session.eval("console.table([], 'a')")
    assert outcome.error is not None
    assert outcome.error.name == "TypeError"
    assert "array of column names" in outcome.error.message
