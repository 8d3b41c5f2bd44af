"""Code that names what is not there: the answer says what is missing, and what is there instead."""

# ruff: noqa: E501 - tables of cells and answers read best unbroken

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engines import OnEngine
from missing_things import SEARCHES, message_of

from interpstack import InterpreterStack, Limits, Session

HITS = (
    "var hits = [{title: 'a', score: 1}, {title: 'b', score: 2}], rows = hits; "
    "var res = {data: {}}, text = '{\"a\": 1}', none = null, table = new Map([['a', 1]]);"
)
TITLE = "hits[0] has no 'titel'; it has title, score"

#: Cells, and how their messages end.
MISSING = [
    # the path of a value, in any form
    ("hits[0].titel.toUpperCase()", TITLE),
    ("1;\n  hits[0]\n .titel\n .toUpperCase()", TITLE),
    ("'é𝒳'; hits[0].titel.toUpperCase()", TITLE),
    ("await null; hits[0].titel.toUpperCase()", TITLE),
    ("const t: string = hits[0].titel.toUpperCase()", TITLE),
    ("hits[0]['titel'].length", TITLE),
    ("hits.at(0).titel.length", TITLE),
    ("hits[0].titel()", TITLE),
    ("hits[0].titel.x = 1", TITLE),
    ("hits[0].titel[0]", TITLE),
    ("Object.keys(hits[0].titel)", TITLE),
    ("new Set(...hits[0].titel)", TITLE),
    ("[...hits[0].titel]", TITLE),
    ("const hit = hits[0]; return hits[0].titel.length", TITLE),
    ("if (hits.length) return hits[0].titel.length", TITLE),
    ("const n = 1\n{n, title: hits[0].titel.length}", TITLE),
    ("for (const one of hits[0].titel) one", TITLE),
    ("for (let i = 0; i < 2; i++) hits[i].titel.length", TITLE),
    # elements of a list
    ("hits.map(r => r.titel.length)", TITLE),
    ("hits.map(function (r) { return r.titel.length })", TITLE),
    ("var big = Array(5000).fill({id: 1}); big.forEach(r => console.log(r.titel.length))", "big[0] has no 'titel'; it has id"),
    ("hits.map(({titel}) => titel.length)", TITLE),
    ("hits.filter(r => r.titel.includes('a'))", TITLE),
    ("hits.slice().filter(r => r).map(r => r.titel.length)", TITLE),
    ("hits.reduce((all, r) => all + r.titel.length, 0)", TITLE),
    ("hits.toSorted((a, b) => a.titel.localeCompare(b.titel))", TITLE),
    ("for (const r of hits) r.titel.length", TITLE),
    ("for (const {titel} of hits) titel.length", TITLE),
    ("await Promise.all(hits.map(async r => r.titel.length))", TITLE),
    ("const f = () => { const r = hits[0]; return r.titel.length }; f()", TITLE),
    # variables that stand for a path
    ("const {titel} = hits[0]; titel.length", f"titel is undefined: {TITLE}"),
    ("const {titel: {length}} = hits[0];", TITLE),
    ("const hit = hits[0]; hit.titel.length", "hit has no 'titel'; it has title, score"),
    ("const found = await tools.search({q: 'x', limit: 2}); found.results.map(x => x)", "found is an array of 2; it has no 'results'"),
    # kinds of values
    ("hits.results.map(x => x)", "hits is an array of 2; it has no 'results'"),
    ("hits[5].title", "hits is an array of 2; it has no [5]"),
    ("hits.mpa(x => x)", "hits is an array of 2; it has no 'mpa'; did you mean map?"),
    ("res.data.items[0]", "res.data has no 'items'; it is an empty object"),
    ("res.map(x => x)", "res is an object, not an array; it has no 'map'; it has data"),
    ("for (const x of res) x", "res is an object, not an array; it has data"),
    ("none.title", "none is null"),
    ("hits[0].title.toUperCase()", "hits[0].title is a string; it has no 'toUperCase'; did you mean toUpperCase?"),
    ("text.a.b", "text is a string; it has no 'a'; JSON.parse(text) reads it"),
    ("table.a.b", "table is a Map of 1; it has no 'a'; table.get(key) reads its entries"),
    ("hits[0].title()", "hits[0].title is a string, not a function"),
    ("Math.flor(1)", "Math has no 'flor'; did you mean floor?"),
    ("console.lgo(1)", "console has no 'lgo'; did you mean log?"),
    # functions on offer
    ("tools.sarch({})", "tools has no 'sarch'; did you mean tools.search?"),
    ("await tools['sarch']({})", "tools has no 'sarch'; did you mean tools.search?"),
    ("const f = tools.sarch; f()", "tools has no 'sarch'; did you mean tools.search?"),
    ("sqlQuery('x')", "sqlQuery is not defined; did you mean tools.sqlQuery?"),
    ("await search({})", "search is not defined; did you mean tools.search?"),
    ("await functions.search({q: 'a'})", "functions is not defined; did you mean tools.search?"),
    ("sql_query('x')", "sql_query is not defined; did you mean tools.sqlQuery?"),
    ("await serch({})", "serch is not defined; did you mean tools.search?"),
    # variables
    ("rowz", "rowz is not defined; did you mean rows?"),
    ("`${rowz.length}`", "rowz is not defined; did you mean rows?"),
    ("const number = 1 + rowz.length", "rowz is not defined; did you mean rows?"),
    # what the tree alone says
    ("(function (h) { return h.titel.length })(hits[0])", "h.titel is undefined or null"),
    ("(await tools.search({q: 'x'})).results.size", "(await tools.search({q: 'x'})).results is undefined or null"),
]  # fmt: skip
#: Cells that fail though all that they name is there, or that fail elsewhere than at the part named.
THERE = [
    "[].reduce((a, b) => a + b)",
    "hits.filter(hit => hit.score > 5).reduce((a, b) => a + b)",
    "(function (h) { return h.reduce((a, b) => a + b) })([])",
    "Object.freeze([3, 1]).sort()",
    "Object.seal([1]).push(1)",
    "[1].map(5)",
    "(function (h) { return h.map(5) })([1])",
    "[1].at(Symbol())",
    "(function (h) { for (const x of h.a) x })({})",
    "(function (h) { return [...h.a] })({})",
    "(function (h) { return new Set(h.a) })({a: 5})",
    "(function (h) { delete h.a.b })({a: null})",
    "(function (h) { return h.get(1) })(Object.create(Map.prototype))",
    "(function (h) { return h.size })(Object.create(Map.prototype))",
    "(function (h) { return 1n + h.a.b })({a: {b: 1}})",
]  # fmt: skip
#: What other hosts and languages have, and what is said.
ELSEWHERE = [
    ("XMLHttpRequest", "there is no network here; on offer: tools.sqlQuery, tools.search"),
    ("require('node:fs')", "there is no file system here; on offer: tools.sqlQuery, tools.search"),
    ("require('lodash')", "modules that are on offer are loaded by await import(name)"),
    ("fs.readFileSync('a')", "there is no file system here; on offer: tools.sqlQuery, tools.search"),
    ("__dirname", "there is no file system here; on offer: tools.sqlQuery, tools.search"),
    ("os.cpus()", "there are no processes here; on offer: tools.sqlQuery, tools.search"),
    ("Deno.cwd()", "there are no processes here; on offer: tools.sqlQuery, tools.search"),
    ("module.exports = 1", "a cell exports nothing; later cells see its variables"),
    ("document.title", "there is no page here; the value of the last expression is the answer"),
    ("window.x", "there is no page here; the value of the last expression is the answer"),
    ("alert(1)", "there is no page here; the value of the last expression is the answer"),
    ("localStorage.x", "nothing is stored here, but variables of the top level stay for later cells"),
    ("print(1)", "console.log(value) prints"),
    ("len(hits)", "in JavaScript: value.length"),
    ("None", "in JavaScript: null"),
    ("x = True", "in JavaScript: true"),
]  # fmt: skip


@pytest.fixture
def session(on_engine: OnEngine) -> Iterator[Session]:
    with InterpreterStack(on_engine.name, ["console"], bridges=SEARCHES) as stack:
        session = stack.session("one")
        assert session.eval_sync(HITS).error is None
        yield session


@pytest.mark.engines("javascript")
async def test_javascript_names_what_is_missing(session: Session) -> None:
    message = await message_of(session, "zebra + 1")
    assert message.endswith("; the variables are hits, rows, res, text, none, table")
    for source, said in MISSING:
        message = await message_of(session, source)
        assert message.endswith(said), (source, message)
    assert (await session.eval("hits.length")).text == "2"


@pytest.mark.engines("javascript")
async def test_nothing_is_called_missing_that_is_there(session: Session) -> None:
    for source in THERE:
        message = await message_of(session, source)
        assert "is undefined or null" not in message, (source, message)
        assert "has no function" not in message, (source, message)
    message = await message_of(session, "(function (h) { h.a.b++ })({})")
    assert not message.endswith(": h is undefined or null")
    message = await message_of(session, "new Map().set(1).gett(2)")
    assert message.endswith(": new Map().set(1) has no function 'gett'")


@pytest.mark.engines("javascript")
async def test_javascript_says_what_is_here_instead(session: Session) -> None:
    for source, said in ELSEWHERE:
        message = await message_of(session, source)
        assert message.endswith(f"is not defined; {said}"), (source, message)


@pytest.mark.engines("javascript")
async def test_what_an_engine_has_is_not_missing(session: Session) -> None:
    for name in ("Buffer", "fetch", "process", "setImmediate"):
        outcome = await session.eval(f"typeof {name}")
        used = await session.eval(f"{name}.name")
        assert (used.error is None) is (outcome.text != "undefined")
        if used.error is not None:
            assert "is not defined; " in used.error.message


@pytest.mark.engines("javascript")
async def test_a_module_that_other_hosts_have(session: Session) -> None:
    for source in ("import fs from 'node:fs/promises'", "1\nconst x = await import('axios')"):
        message = await message_of(session, source)
        assert "on offer: tools.sqlQuery, tools.search" in message


@pytest.mark.engines("javascript")
async def test_a_value_that_is_undefined_for_a_missing_property_has_a_notice(
    session: Session,
) -> None:
    for source in (
        "hits[0].titel",
        "hits[0].titel;",
        "hits[0]?.titel",
        "(hits[0].titel)",
        "await null; hits[0].titel",
        "const hit = hits[0].titel; hit",
        "hits.map(r => r.titel)",
        "hits.map((r) => { return r.titel; });",
        "hits.map(({titel}) => titel)",
    ):
        assert list((await session.eval(source)).notices) == [TITLE], source
    assert list((await session.eval("hits?.results?.x")).notices) == [
        "hits is an array of 2; it has no 'results'"
    ]


@pytest.mark.engines("javascript")
async def test_a_value_that_is_meant_to_be_undefined_has_no_notice(session: Session) -> None:
    for source in (
        "({titel: undefined}).titel",
        "hits[0].note = undefined; hits[0].note",
        "[{}, {a: 1}].map(r => r.a)",
        "hits[1].only = 1; hits.map(r => r.only)",
        "console.log(hits[0].titel)",
        "undefined",
        "void hits[0].titel",
        "[undefined]",
        "let nothing; nothing",
    ):
        outcome = await session.eval(source)
        assert outcome.error is None
        assert not outcome.notices, source


@pytest.mark.engines("javascript")
async def test_errors_of_the_code_itself_stay(session: Session) -> None:
    for source in (
        "throw new TypeError('x')",
        "throw new TypeError('no ' + hits[0].titel)",
        "if (!hits[0].titel) throw new TypeError('x')",
        "const e = new TypeError('x'); e.stack = '    at f (cell:9:9)'; throw e",
        "const e = new TypeError('x'); e.stack = '    at f (cell:99999999999:1)'; throw e",
        "const e = new TypeError('x'); e.stack = '(cell:1'.repeat(5000); throw e",
        "class TypeError2 extends TypeError {}; throw new TypeError2('x')",
        "throw Object.assign(new TypeError('x'), {stack: 'at cell:1:1'})",
    ):
        assert await message_of(session, source) in ("x", "no undefined"), source


@pytest.mark.engines("javascript")
async def test_a_stack_that_lies_leads_to_nothing_but_the_truth(session: Session) -> None:
    stack = "e.stack = '    at f (cell:2:9)'; throw e;\n"
    lie = f"const e = new TypeError('x'); {stack}"
    for source in ("hits[0].title.length", "hits[0].titel.length"):
        assert await message_of(session, lie + source) == "x"
    said = "cannot read property 'length' of undefined"
    lie = f'const e = new TypeError("{said}"); {stack}'
    assert await message_of(session, lie + "hits[0].title.length") == said
    assert await message_of(session, lie + "hits[0].titel.length") == f"{said}: {TITLE}"


@pytest.mark.engines("javascript")
async def test_an_error_in_a_function_of_an_earlier_cell_is_not_put_down_to_this_cell(
    session: Session,
) -> None:
    earlier = (
        "var cfg = {}; function total(h) { return h.items.length }\n"
        "function own(h) { throw new TypeError('no total') }\n"
        "function old(h) { return h.sum() }"
    )
    assert (await session.eval(earlier)).error is None
    for source in (
        "if (cfg.debug) { cfg.debug.level.x } total({})",
        "[total({items: null}), cfg.other?.deep.y]",
        "const g = () => cfg.debug.level; total({})",
        "1;\nif (cfg.debug) { cfg.debug.level.x } own({})",
        "1;\n2;\nif (cfg.debug) { cfg.debug.level.x } old({})",
    ):
        assert "cfg" not in await message_of(session, source), source


@pytest.mark.engines("javascript")
async def test_no_code_of_the_guest_runs_for_an_advice(session: Session) -> None:
    watched = """
    var ran = 0;
    var sly = {get titel() { ran++; return undefined; }, other: 1};
    Object.defineProperty(Object.prototype.constructor, 'sly', {value: 1});
    var heir = Object.create(sly), list = [sly];
    var keyed = {toString() { ran++; return 'a'; }, toJSON() { ran++; return {}; }};
    """
    assert (await session.eval(watched)).error is None
    for source in ("sly.titel.x", "heir.titel.x", "list.map(r => r.titel.x)", "keyed.titel.x"):
        assert (await session.eval("ran = 0")).error is None
        before = await session.eval(f"try {{ {source} }} catch {{}} ran")
        assert (await session.eval("ran = 0")).error is None
        assert (await session.eval(source)).error is not None
        assert (await session.eval("ran")).text == before.text, source
    assert (await session.eval("sly.titel")).notices == ()


@pytest.mark.engines("javascript")
async def test_a_proxy_does_not_use_up_the_time_of_the_cell(on_engine: OnEngine) -> None:
    limits = Limits(cpu_seconds=5.0)
    with InterpreterStack(on_engine.name, limits=limits) as stack:
        session = stack.session("one")
        proxy = "new Proxy({}, {getOwnPropertyDescriptor() { for (;;); }, getPrototypeOf() { for (;;); }})"
        assert (await session.eval(f"var sly = {proxy}, kept = 7;")).error is None
        outcome = await session.eval("sly.titel.length")
        assert outcome.error is not None
        assert outcome.error.name == "TypeError"
        assert (await session.eval("kept")).text == "7"


@pytest.mark.engines("javascript")
async def test_huge_values_and_names_are_cut(session: Session) -> None:
    made = "var huge = {}; for (let i = 0; i < 50000; i++) huge['k' + i] = i; huge.title = 1; "
    made += "var long = {}; long['n'.repeat(10000)] = 1; var many = new Array(1e6).fill({a: 1});"
    assert (await session.eval(made)).error is None
    message = await message_of(session, "huge.titel.x")
    assert message.endswith("huge has no 'titel'; did you mean title?")
    name = "m" * 10_000
    assert len(await message_of(session, f"long.{name}.x")) < 300
    assert len(await message_of(session, f"long['{name}'].x")) < 300
    assert len(await message_of(session, f"{name} + 1")) < 10_500  # the engine's own part
    assert (await message_of(session, "many.map(r => r.b.c)")).endswith(
        "many[0] has no 'b'; it has a"
    )
    deep = "hits" + ".x" * 3000
    assert (await message_of(session, deep)).endswith("hits is an array of 2; it has no 'x'")


@pytest.mark.engines("javascript")
async def test_changed_builtins_mislead_nothing(session: Session) -> None:
    hostile = """
    Array.prototype.toJSON = () => 'lie'; String.prototype.toJSON = () => 'lie';
    Reflect.ownKeys = () => { throw 1 }; Object.keys = () => ['lie'];
    Reflect.getOwnPropertyDescriptor = () => { throw 1 }; Array.isArray = () => false;
    Map.prototype.get = () => 'lie'; JSON.stringify = () => 'lie';
    """
    assert (await session.eval(hostile)).error is None
    assert (await message_of(session, "hits[0].titel.length")).endswith(TITLE)
    assert (await message_of(session, "hits.results[0]")).endswith(
        "hits is an array of 2; it has no 'results'"
    )
