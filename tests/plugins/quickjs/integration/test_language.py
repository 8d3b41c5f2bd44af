"""The language as QuickJS has it: built-ins that are mended, and gaps that its page lists."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as some

from interpstack import InterpreterStack, ModuleBundle, Outcome, Session, hookimpl
from interpstack.contracts.modules import ModuleLoader


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with InterpreterStack(plugins=["console"]) as stack, stack.session() as session:
        yield session


# -- locales ---------------------------------------------------------------------------------

_LOCALES = (
    "(1234.5).toLocaleString('de-DE')",
    "(1234.5).toLocaleString(undefined, {minimumFractionDigits: 2})",
    "12n.toLocaleString('de')",
    "new Date(0).toLocaleString('de-DE')",
    "new Date(0).toLocaleDateString(undefined, {timeZone: 'Asia/Tokyo'})",
    "new Date(0).toLocaleTimeString([], {hour: '2-digit'})",
    "[1.5].toLocaleString('de')",
    "new Float64Array([1.5]).toLocaleString('de')",
    "new BigInt64Array([1n]).toLocaleString(undefined, {})",
    "'i'.toLocaleUpperCase('tr')",
    "'I'.toLocaleLowerCase(['tr'])",
    "'a'.localeCompare('b', 'sv')",
    "'a'.localeCompare('A', undefined, {sensitivity: 'base'})",
    "Number.prototype.toLocaleString.call(1, 'de')",
    "['b', 'a'].sort((a, b) => a.localeCompare(b, 'de'))",
)


@pytest.mark.parametrize("code", _LOCALES)
def test_a_locale_is_refused_where_it_would_be_ignored(session: Session, code: str) -> None:
    error = session.eval_sync(code).error
    assert error is not None
    assert error.name == "TypeError"
    assert "no Intl" in error.message
    assert "v8, node" in error.message


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("(1234.5).toLocaleString()", "1234.5"),
        ("(1234.5).toLocaleString(undefined, undefined)", "1234.5"),
        ("12n.toLocaleString()", "12"),
        ("new Date(0).toLocaleDateString([])", "01/01/1970"),
        ("new Date(0).toLocaleTimeString()", "12:00:00 AM"),
        ("[1.5, 2, null, 'a'].toLocaleString()", "1.5,2,,a"),
        ("new Float64Array([1.5, 2]).toLocaleString()", "1.5,2"),
        ("'i'.toLocaleUpperCase() + 'I'.toLocaleLowerCase()", "Ii"),
        ("['b', 'a'].sort((a, b) => a.localeCompare(b)).join()", "a,b"),
        ("[''.localeCompare, Date.prototype.toLocaleString].map((f) => f.length).join()", "1,0"),
        ("Number.prototype.toLocaleString.name", "toLocaleString"),
    ],
)
def test_without_a_locale_methods_work(session: Session, code: str, text: str) -> None:
    assert session.eval_sync(code).text == text


# -- dates -----------------------------------------------------------------------------------


@pytest.mark.parametrize("zone", ["set", "setUTC"])
@pytest.mark.parametrize(
    "part", ["Milliseconds", "Seconds", "Minutes", "Hours", "Date", "Month", "FullYear"]
)
def test_a_part_that_is_no_number_makes_a_date_invalid(
    session: Session, zone: str, part: str
) -> None:
    name = zone + part
    code = f"""(() => {{
        const times = [[NaN], [undefined], [], ["x"], [NaN, 1], [Infinity], [1]].map((given) => {{
            const date = new Date(0), answer = date.{name}(...given);
            return Object.is(answer, date.getTime()) && Number.isFinite(answer);
        }});
        return [...times, Number.isFinite(new Date(NaN).{name}(1)), Date.prototype.{name}.name].join();
    }})()"""
    invalid = ["false"] * 6
    again = str(part == "FullYear").lower()  # the only part that makes a date valid again
    assert session.eval_sync(code).text == ",".join([*invalid, "true", again, name])
    before = session.eval_sync(f"const day = new Date(0); day.{name}(NaN); String(day)").text
    assert before == "Invalid Date"
    meanwhile = f"""(() => {{
        const date = new Date(NaN);
        return [date.{name}({{valueOf() {{ date.setTime(5); return NaN; }}}}), date.getTime()].join();
    }})()"""
    assert session.eval_sync(meanwhile).text == ("NaN,NaN" if part == "FullYear" else "NaN,5")


# -- arrays ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "items"),
    [
        ("new Array(3)", "[<3 empty items>, 1]"),
        ("Array(2)", "[<2 empty items>, 1]"),
        ("[,,]", "[<2 empty items>, 1]"),
        ("[,,].slice()", "[<2 empty items>, 1]"),
        ("Object.assign([], {length: 2})", "[<2 empty items>, 1]"),
        ("Object.assign([0], {length: 3})", "[0, <2 empty items>, 1]"),
        ("Object.assign(JSON.parse('[7, 8]'), {length: 3})", "[7, 8, <1 empty item>, 1]"),
        ("((a) => (delete a[2], a))([5, 6, 7])", "[5, 6, <1 empty item>, 1]"),
        ("((a) => (a.length = 1, a.length = 3, a))([5, 6, 7])", "[5, <2 empty items>, 1]"),
        ("new Array(3).fill(0)", "[0, 0, 0, 1]"),
        ("[5]", "[5, 1]"),
    ],
)
def test_push_adds_behind_items_that_are_not_there(made: str, items: str) -> None:
    with InterpreterStack() as stack, stack.session() as session:
        assert session.eval_sync(f"const all = {made}; all.push(1); all").text == items
        assert session.eval_sync("[all.push(), all.push(2, 3), all.at(-1)]").text in {
            f"[{length}, {length + 2}, 3]" for length in range(2, 5)
        }


def test_random_changes_leave_the_items_that_the_language_says(session: Session) -> None:
    code = """(() => {
        let seed = 7;
        const under = (n) => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) % n;
        // A proxy takes no fast way.
        const changes = [
            (a) => a.push(1), (a) => a.push(2, 3), (a) => a.push(), (a) => a.pop(), (a) => a.shift(),
            (a) => a.unshift(4), (a, n) => a.splice(n, 1), (a, n) => (a.length = n),
            (a, n) => delete a[n], (a) => delete a[a.length - 1], (a, n) => (a[n] = 5),
            (a) => (a[a.length] = 6), (a) => a.reverse(), (a, n) => a.fill(7, n), (a, n) => a.copyWithin(n, 0),
        ];
        const shown = (a) => Array.from(a, (item, i) => (i in a ? item : "-")).join();
        const wrong = [];
        for (let round = 0; round < 400; round++) {
            const start = under(4), plain = new Array(start), slow = new Proxy(new Array(start), {});
            const made = [];
            for (let step = 0; step < 8; step++) {
                const which = under(changes.length), n = under(6);
                made.push(which);
                changes[which](plain, n);
                changes[which](slow, n);
                if (shown(plain) !== shown(slow)) { wrong.push([made.join(), shown(plain), shown(slow)]); break; }
            }
        }
        return JSON.stringify(wrong.slice(0, 2));
    })()"""
    assert session.eval_sync(code).text == "[]"


# -- BigInt ----------------------------------------------------------------------------------

_INTEGERS = some.integers(-(2**140), 2**140) | some.builds(
    lambda exponent, more: 2**exponent + more, some.integers(0, 140), some.integers(-2, 2)
)


@given(some.integers(0, 140), _INTEGERS)
def test_integers_of_a_width(session: Session, bits: int, value: int) -> None:
    for integer in (value, -value):
        unsigned = integer % 2**bits
        signed = unsigned - 2**bits if bits and unsigned >= 2 ** (bits - 1) else unsigned
        both = f"[BigInt.asUintN({bits}, {integer}n), BigInt.asIntN({bits}, {integer}n)].join()"
        assert session.eval_sync(both).text == f"{unsigned},{signed}"


def test_unsigned_integers_take_what_others_take(session: Session) -> None:
    code = """
        const of = (f) => { try { return String(f()) } catch (e) { return e.name } };
        JSON.stringify([
            () => BigInt.asUintN("8", 257n), () => BigInt.asUintN({valueOf: () => 8}, "300"),
            () => BigInt.asUintN(3.9, -1n), () => BigInt.asUintN(undefined, 5n),
            () => BigInt.asUintN(2 ** 53 - 1, 5n), () => BigInt.asUintN(-1, 1n),
            () => BigInt.asUintN(2 ** 53, 1n), () => BigInt.asUintN(64, 1),
            () => BigInt.asUintN(2n, 1n), () => BigInt.asUintN.length, () => BigInt.asUintN.name,
        ].map(of))
    """
    assert json.loads(session.eval_sync(code).text) == [
        *("1", "44", "7", "0", "5", "RangeError", "RangeError"),
        *("TypeError", "TypeError", "2", "asUintN"),
    ]


# -- iterators ---------------------------------------------------------------------------------

_ITERATORS = {
    "find after map": ("[1, 2, 3].values().map((x) => x * 2).find((x) => x > 2)", "4"),
    "taken apart": ("const [f] = new Map([['a', 1]]).entries().filter(([, v]) => v); f", '["a", 1]'),
    "break": ("for (const x of new Set([1]).values().take(5)) { break } 'ok'", "ok"),
    "closed": ("const h = [1, 2].values().drop(1); h.return(); h.next().done", "true"),
    "flat": ("const [q] = [1, 2].values().flatMap((x) => [x, x]); q", "1"),
    "of matches": ("'abc'.matchAll(/./g).map((m) => m[0]).find((x) => x === 'b')", "b"),
    "a generator is closed": (
        "let left; (function* () { try { yield 1 } finally { left = 1 } })().map(String).find((x) => x);"
        " left",
        "1",
    ),
    "an own return is called once": (
        "const log = []; ({ __proto__: Iterator.prototype, next() { return {} }, return() {"
        " log.push('r'); return {} } }).map((x) => 1).find((x) => x); log",
        '["r"]',
    ),
    "a return that comes later": (
        "const it = { __proto__: Iterator.prototype, next() { it.return = () => { it.left = 1; return {} };"
        " return {} } }; it.map((x) => 1).find((x) => x); it.left",
        "1",
    ),
    "faults": (
        "[() => Iterator.prototype.map.call(1, String), () => [].values().map(1), () => [].values()"
        ".take(-1)].map((f) => { try { f() } catch (e) { return e.name } }).join()",
        "TypeError,TypeError,RangeError",
    ),
    "shape": ("const { map } = Iterator.prototype; [map.name, map.length, 'prototype' in map]", '["map", 1, false]'),
}  # fmt: skip


@pytest.mark.parametrize("name", _ITERATORS)
def test_iterators_that_end_early(name: str) -> None:
    code, expected = _ITERATORS[name]
    with InterpreterStack() as stack, stack.session() as session:
        outcome = session.eval_sync(code)
    assert (outcome.error, outcome.text) == (None, expected)


# -- gaps: what no longer holds goes from the engine's page ------------------------------------

_GAPS = {
    "dates: a space": ("Date.parse('2024-06-15 12:00Z')", "NaN"),
    "dates: small letters": ("Date.parse('2024-06-15t12:00:00z')", "NaN"),
    "dates: hours of an offset": ("Date.parse('2024-06-15T12:00+05')", "1718434800000"),
    "dates: an offset of a day": ("Date.parse('2024-06-15+02:00')", "1718402400000"),
    "dates: a day of the year": ("new Date('2024-167').getUTCFullYear()", "167"),
    "dates: as text": ("String(new Date(0))", "Thu Jan 01 1970 00:00:00 GMT+0000"),
    "modifiers": ("new RegExp('(?i:a)')", "SyntaxError"),
    "groups of one name": ("new RegExp('(?<y>a)|(?<y>b)')", "SyntaxError"),
    "sets": ("/\\p{L}/v", "SyntaxError"),
    "sets in an evaluated text": ("eval('/\\\\p{L}/v').test('a')", "false"),
    "case of properties": ("/\\p{Lu}/iu.test('a')", "false"),
    "groups of earlier rounds": ("/((a)|(b))*/.exec('ab')[2]", "a"),
    "weak references": ("new WeakRef({a: 1}).deref()", "undefined"),
    "Intl": ("typeof Intl", "undefined"),
    "a text that is spread": ("({...'ab', x: 1})", "{x: 1}"),
    "the length of a function": ("((a, ...[b]) => 1).length", "2"),
    "an iterator in for await": (
        "let left; try { for await (const x of {[Symbol.asyncIterator]: () => ({next: async () => 1,"
        " return: async () => { left = 1; return {} }})}) x } catch {} left",
        "1",
    ),
}


@pytest.mark.parametrize(("code", "text"), _GAPS.values(), ids=_GAPS)
def test_the_gaps_are_those_of_the_page(session: Session, code: str, text: str) -> None:
    outcome = session.eval_sync(code)
    assert (outcome.text if outcome.error is None else outcome.error.name) == text


# -- the flag `v`, which QuickJS would take without doing what it says -----------------------------


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("let n = 1\nconst r = /[\\p{L}&&[a-z]]/gv", (2, 11)),
        ("await 1; 'é'.match(/\\p{L}/v)", (1, 20)),
        ("const f = (s: string) => /^.$/v.test(s)", (1, 26)),
        ("const t = [" + "12345, " * 40_000 + "1]; /a/v.test('a')", (1, 280_016)),
    ],
    ids=["a literal", "beside await", "beside types", "in a large cell"],
)
def test_a_literal_with_sets_is_refused(
    session: Session, source: str, place: tuple[int, int]
) -> None:
    error = session.eval_sync(source).error
    assert error is not None
    assert (error.name, "Use the flag u" in error.message) == ("SyntaxError", True)
    assert error.place is not None
    assert (error.place.line, error.place.column) == place


@pytest.mark.parametrize(
    "call",
    [
        "new RegExp('a', 'v')",
        "RegExp('a', 'gv')",
        "new RegExp('a', {toString: () => 'v'})",
        "new RegExp('a', 'uv')",
        "new (class extends RegExp {})('a', 'v')",
    ],
)
def test_a_constructed_expression_with_sets_is_refused(session: Session, call: str) -> None:
    code = f"try {{ {call}; 'made' }} catch (e) {{ e instanceof SyntaxError }}"
    assert session.eval_sync(code).text == "true"


def test_the_constructor_of_regular_expressions_is_as_before(session: Session) -> None:
    code = r"""
    class Own extends RegExp { test(s) { return !super.test(s) } }
    const own = new Own("b", "g"), plain = /b/g;
    JSON.stringify([
      RegExp(plain) === plain, new RegExp(plain) === plain, RegExp(plain, "i").flags,
      plain.constructor === RegExp, plain instanceof RegExp, RegExp.name, RegExp.length,
      RegExp[Symbol.species] === RegExp, RegExp.prototype === Object.getPrototypeOf(plain),
      own instanceof Own, own instanceof RegExp, own.test("a"), "abc".replace(own, "x"),
      "abcb".split(own), [..."abcb".matchAll(plain)].length, String(RegExp()), RegExp.escape("b."),
      Reflect.construct(RegExp, ["a"], Array) instanceof Array,
      Object.getOwnPropertyDescriptor(globalThis, "RegExp").enumerable,
    ])
    """
    assert json.loads(session.eval_sync(code).text) == [
        *(True, False, "i", True, True, "RegExp", 2, True, True),
        *(True, True, True, "axc", ["a", "c", ""], 2, "/(?:)/", "\\x62\\.", True, False),
    ]


# -- places ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("    nope()", "1:5"),
        ("#!/usr/bin/env node\n    nope()", "2:5"),
        ("#!/usr/bin/env node\n    await 1; nope()", "2:14"),
        ("\n    nope()", "2:5"),
        ("'é'; nope()", "1:6"),
        ("\n'é'; nope()", "2:6"),
        ("'日本'; nope()", "1:7"),
        ("'😀'; nope()", "1:7"),
        ("const s = '😀😀ü'; nope()", "1:20"),
        ("const s = '😀😀ü'; await 1; nope()", "1:29"),
        ("const ä = 1, ö: number = 2; /* 日 */ nope(ä)", "1:37"),
        ("function f() { return '日' }; f() + nope()", "1:36"),
        ("await 1; function f() { return '日' }; f() + nope()", "1:45"),
        ("const 値 = '" + "日" * 1000 + "'; nope(値)", "1:1015"),
    ],
)
def test_errors_name_columns_in_code_units(session: Session, source: str, place: str) -> None:
    error = session.eval_sync(source).error
    assert error is not None
    assert error.name == "ReferenceError"
    assert f"(cell:{place})" in error.stack


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("const o = {}\n\nconst t = o.p.q", ":3:15"),
        ("const o = {}\n\nawait 1; const t = o.p.q", ":3:24"),
        ("function f(a) {\n  return a.b.c\n}\nf({})", ":2:14"),
        ("[1].map(x => x.y.z)", ":1:18"),
        ("const s = '日本'; const r = s.foo.bar", ":1:33"),
        ("const e = {};\nif (e.list.length > 0) {\n  1\n}", ":2:12"),
        ("const w = {}\nlet text = `${w['user'].name}`", ":2:25"),
        ("const w = {}\nlet text = w.user['name']", ":2:20"),
        ("const o: any = {};\nconst n: number = o.aa.bbb;", ":2:24"),
        ("const k = {}\n\nlet n = k.a.b = 1", ":3:13"),
        ("class A { #p; static t(o) {\n return o.#p } }\nA.t({})", ":2:11"),
        ("1\n\nconst q = [nope]", ":3:12"),
        ("function f() {\n let q\n return nope\n}\nf()", ":3:9"),
        ("function f() {\n let a\n const q = w; let w = 1 }\nf()", ":3:12"),
        # the second of two, behind a place that QuickJS records
        ("const a = {b: {c: 1}}\na.b.c; g = () => 1; g()\nlet d = a.x.c", ":3:13"),
        # several in one line
        ("const n = {}\nn.x; n.x.x", ":2"),
        # one of two lines, the name of a key, an inner text, a constructor, no name at all
        ("const u = {}\nconst a = u.name\n\nconst b = u.other.name", ""),
        ("const k = 'zz'; (void 0)[k]", ""),
        ("const k = 'zz'; let z = '.zz'; (void 0)[k]", ""),
        ("class K { constructor(x) { this.a = x.y.z } }; new K({})", ""),
        ("const k = 1\n\nlet m = (k = 2)", ""),
        ("1\n\nconst {a} = null", ""),
        ("1\n\nfor (const x of 5) 1", ""),
        # the last part of a loop runs behind its body
        (
            "g = () => 1\nfunction f(h) {\n for (let i = 0; i < 3; i = h.next.v) {\n g()\n }\n"
            " h.v }\nf({})",
            "",
        ),
    ],
)
def test_reads_that_fail_name_their_place_or_none(
    session: Session, source: str, place: str
) -> None:
    error = session.eval_sync(source).error
    assert error is not None
    assert error.name in ("TypeError", "ReferenceError")
    assert error.stack.splitlines()[0].endswith(f" (cell{place})"), error.stack


def test_a_read_in_a_text_that_code_evaluates_names_no_place_of_the_cell(session: Session) -> None:
    error = session.eval_sync("eval('1;\\n ({}).a.b')").error
    assert error is not None
    assert error.stack.splitlines() == ["    at eval (<evaluated>)", "    at <cell> (cell:1:1)"]


def test_code_reads_the_place_of_a_read_in_its_stack(session: Session) -> None:
    source = "const o = {}; let seen;\ntry {\n  o.p.q\n} catch (e) { seen = e.stack }\nseen"
    outcome = session.eval_sync(source)
    assert outcome.text.endswith("\n    at <cell> (cell:3:7)"), outcome


class _Near:
    """A plugin with one module."""

    @hookimpl
    def interpstack_resolve_module(self, specifier: str, session: Session) -> ModuleLoader:
        async def load() -> ModuleBundle:
            return ModuleBundle("near", {"near": "export const f = () => { throw new Error('m') }"})

        return load


def test_errors_name_columns_of_the_first_line_of_a_module() -> None:
    with InterpreterStack(plugins=[_Near()]) as stack, stack.session() as session:
        error = session.eval_sync("import {f} from 'near.js'; f()").error
    assert error is not None
    assert "(near:1:36)" in error.stack


# -- closures -----------------------------------------------------------------------------------


def _imported(name: str, source: str, code: str) -> Outcome:
    class Modules:
        @hookimpl
        def interpstack_resolve_module(self, specifier: str, session: Session) -> ModuleLoader:
            async def load() -> ModuleBundle:
                return ModuleBundle(name, {name: source})

            return load

    with InterpreterStack(plugins=[Modules()]) as stack, stack.session() as session:
        return session.eval_sync(code)


@pytest.mark.parametrize("name", ["team:loop", "team:loop.ts"])
def test_closures_of_loops_in_a_module(name: str) -> None:
    loop = "for (let i = 0; i < 3; i++) { made.push(() => i); continue }"
    source = f"export const made = []; {loop}"
    outcome = _imported(name, source, f"(await import('{name}')).made.map((f) => f()).join()")
    assert (outcome.error, outcome.text) == (None, "0,1,2")


@pytest.mark.parametrize("name", ["team:pair", "team:pair.ts"])
def test_loops_side_by_side_in_a_module(name: str) -> None:
    loop = "for await (const x of [1, 2]) {n += x}"
    source = f"export let n = 0; {loop}{loop}"
    outcome = _imported(name, source, f"(await import('{name}')).n")
    assert (outcome.error, outcome.text) == (None, "6")


@pytest.mark.parametrize("name", ["team:late", "team:late.ts"])
def test_a_module_that_would_give_wrong_values_is_refused(name: str) -> None:
    source = "export const n = 1\nexport function late(a, b = () => a) { a = 5; return b() }"
    error = _imported(name, source, f"import {{late}} from '{name}'; late(1)").error
    assert error is not None
    assert error.name == "SyntaxError"
    assert "QuickJS cannot share the parameter 'a'" in error.message
    assert error.message.endswith("(line 2, column 40)")


@pytest.mark.parametrize("name", ["team:sets", "team:sets.ts"])
def test_a_module_with_sets_in_a_literal_is_refused(name: str) -> None:
    source = "export const n = 1\nexport const isLetter = (s) => /^\\p{L}$/v.test(s)"
    error = _imported(name, source, f"import {{isLetter}} from '{name}'; isLetter('a')").error
    assert error is not None
    assert (error.name, "Use the flag u" in error.message) == ("SyntaxError", True)
    assert error.message.endswith("(line 2, column 32)")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("eval('((a, b = () => a) => { a = 5; return b(); })(1)')", "1"),
        (
            "eval('const a = []; for (let i = 0; i < 2; i++) { a.push(() => i); continue } a')"
            "[0]()",
            "2",
        ),
    ],
)
def test_what_the_page_says_of_closures(session: Session, code: str, text: str) -> None:
    assert session.eval_sync(code).text == text
