"""Cells with one fault each that can be seen before they run, and cells that are right.

The cells have `tools.search({q, limit?})`, `tools.sqlQuery({sql})`, `tools.readFile({path})`,
`tools.getUser({id})`, `tools.save({text})`, `tools.book({room, seats, tags?})`, where a room is
`"blue"` or `"red"`, `files.read({path})` and `mail.box.send({to, subject?})`.
"""

# ruff: noqa: E501 - tables of cells read best unbroken

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Literal

from mistakes import MISTAKES

from interpstack import Bridge, bridge

__all__ = ["FIRST", "RIGHT", "SEEDED", "UNDECIDED", "bridges_noting"]

#: The effect that a refused cell must not have.
FIRST: Final = "await tools.save({text: 'first'});\n"


def bridges_noting(noted: list[str]) -> list[Bridge]:
    """The functions, which note the calls of `tools.save` and `mail.box.send`."""

    @bridge("tools.search")
    def search(q: str, limit: int = 2) -> list[dict[str, Any]]:
        return [{"title": f"{q} {n}", "score": n / 2} for n in range(limit)]

    @bridge("tools.sqlQuery")
    def sql_query(sql: str) -> list[dict[str, Any]]:
        return [{"id": n, "name": f"name {n}"} for n in range(3)]

    @bridge("tools.readFile")
    def read_file(path: str) -> str:
        return "first line\nsecond line"

    @bridge("tools.getUser")
    def get_user(id: int) -> dict[str, Any]:  # noqa: A002 - as tools have it
        return {"id": id, "name": "Ann", "address": {"city": "Bonn"}}

    @bridge("tools.save")
    def save(text: str) -> None:
        noted.append(text)

    @bridge("tools.book")
    def book(room: Literal["blue", "red"], seats: int, tags: list[str] | None = None) -> str:
        return f"{room} {seats}"

    @bridge("files.read")
    def read(path: str) -> str:
        return path

    @bridge("mail.box.send")
    def send(to: str, subject: str | None = None) -> str:
        noted.append(to)
        return to

    return [search, sql_query, read_file, get_user, save, book, read, send]


# -- cells with a fault ----------------------------------------------------------------------------

#: Mistakes whose faults only the run shows: of a value that code computes, or of no call at all.
_SHOWN_BY_THE_RUN: Final = frozenset({
    "await tools.search({q: () => 'a'})",
    "await tools.deleteEverything({})",  # below, without a name that is near
})  # fmt: skip
#: A member of a call that is not awaited.
_MEMBER: Final = re.compile(r"tools\.\w+\(\{[^}]*\}\)(?:\.|\[)")
_PLACES: Final = (
    "{code}",
    "for (const n of [1, 2]) {{\n{code}\n}}",
    "const run = async () => {{\n{code}\n}};\nawait run()",
)


def _from_mistakes() -> Iterator[str]:
    for one in MISTAKES:
        is_seen = one.kind in ("a misspelt tool", "a wrong argument")
        if one.kind == "a call whose value was used unawaited":
            is_seen = _MEMBER.search(one.code) is not None
        if is_seen and one.code not in _SHOWN_BY_THE_RUN:
            yield from (FIRST + place.format(code=one.code) for place in _PLACES)


#: Right cells, and faults to be seeded: what is there, and what is put in its place.
_CELLS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "const hits = await tools.search({q: 'tea', limit: 3});\nhits.map((hit) => hit.title).join()": (
        ("tools.search", "tools.find"), ("q: 'tea'", "text: 'tea'"), ("limit: 3", "limit: 'three'"),
        ("limit: 3", "max: 3"), ("q: 'tea', ", ""), ("{q: 'tea', limit: 3}", "'tea', 3"),
    ),
    "const found = (await tools.search({q: `tea`}))[0];\nfound.title": (
        ("(await tools.search({q: `tea`}))[0]", "tools.search({q: `tea`})[0]"),
        ("tools.search", "tools.searchh"), ("q: `tea`", "Q: `tea`"), ("`tea`", "7"),
    ),
    "const count = (await tools.sqlQuery({sql: 'select 1'})).length;\nif (count > 2) console.log(count);\ncount": (
        ("(await tools.sqlQuery({sql: 'select 1'})).length", "tools.sqlQuery({sql: 'select 1'}).length"),
        ("tools.sqlQuery", "tools.sqlquery"), ("sql: 'select 1'", "query: 'select 1'"),
        ("sql: 'select 1'", "sql: ['select 1']"), ("{sql: 'select 1'}", ""),
    ),
    "const users = await Promise.all([1, 2].map((id) => tools.getUser({id})));\nusers.map((user) => user.name)": (
        ("tools.getUser", "tools.get_user"), ("{id}", "{user: id}"), ("{id}", "{id, more: true}"),
        ("{id}", "{id: 'one'}"), ("tools.getUser({id})", "tools.getUser({id}).name"),
    ),
    "async function load(path: string) {\n  const text = await tools.readFile({path});\n  return text.split('\\n');\n}\nconst lines = await load('a.txt');\nlines.length": (
        ("tools.readFile", "tools.readfile"), ("{path}", "{file: path}"), ("{path}", "{path: true}"),
        ("await tools.readFile({path})", "tools.readFile({path}).trim()"),
    ),
    "let booked = '';\nif (booked === '') booked = await tools.book({room: 'blue', seats: 2, tags: ['a']});\nbooked": (
        ("'blue'", "'green'"), ("seats: 2", "seats: 'two'"), ("seats: 2", "seat: 2"), (", seats: 2", ""),
        ("tags: ['a']", "tags: 'a'"), ("tags: ['a']", "tags: [1]"), ("tools.book", "tools.booking"),
        ("room: 'blue'", "room: 1"), ("room: 'blue'", "room: null"),
    ),
    "const notes = ['a', 'b'];\nfor (const text of notes) {\n  await tools.save({text});\n}\nawait mail.box.send({to: 'x', subject: notes.join()})": (
        ("tools.save", "tools.saves"), ("{text}", "{note: text}"), ("{text}", "{text, at: 1}"), ("{text}", "[text]"),
        ("to: 'x'", "to: 1"), ("to: 'x', ", ""), ("subject: notes", "topic: notes"), ("mail.box", "mail.boxes"),
        ("await mail.box.send({to: 'x', subject: notes.join()})", "mail.box.send({to: 'x', subject: notes.join()}).length"),
    ),
    "const desk = {\n  async open(path) { return await files.read({path}); },\n};\ndesk.note = (text) => tools.save({text});\nconst text = await desk.open('a');\nawait desk.note(text)": (
        ("files.read", "files.raed"), ("{path}", "{file: path}"), ("tools.save", "tools.sav"), ("{text}", "{note: text}"),
    ),
    "const ids = [1, 2, 3], names = new Map();\nawait Promise.all(ids.map(async (id) => {\n  const {name} = await tools.getUser({id});\n  names.set(id, name);\n}));\nnames.size": (
        ("tools.getUser", "tools.getUsr"), ("{id})", "{ID: id})"), ("{id})", "{})"), ("{id})", "{id: 'a'})"),
        ("await tools.getUser({id})", "tools.getUser({id}).address"), ("tools.getUser({id})", "tools.getUser(id, {})"),
    ),
    "var seats = 3\nvar answer = await tools.book({room: 'red', seats, tags: ['x', 'y']})\n{answer, seats}": (
        ("'red'", "'Rot'"), ("seats, tags", "'seat': seats, tags"), ("['x', 'y']", "{x: 'y'}"), ("['x', 'y']", "['x', 2]"),
        ("tools.book", "tools.book_room"), ("room: 'red', ", ""), ("tags", "tag"),
    ),
    "const text = await files.read({path: 'a'});\nawait mail.box.send({to: text, subject: 'x'})": (
        ("files.read", "files.readText"), ("path: 'a'", "name: 'a'"), ("mail.box.send", "mail.box.sent"),
        ("mail.box.send", "mail.bax.send"), ("to: text", "too: text"), ("subject: 'x'", "subject: 5"),
        ("await files.read({path: 'a'})", "files.read({path: 'a'}).length"), ("mail.box.send", "mail.send"),
    ),
    "const rows = [];\nfor (const q of ['a', 'b']) {\n  const hits = await tools.search({q, limit: 1});\n  rows.push(...hits);\n}\nrows.length": (
        ("tools.search", "tools.serach"), ("limit: 1", "limit: '1x'"), ("limit: 1", "limt: 1"),
        ("{q, limit: 1}", "{query: q, limit: 1}"), ("{q, limit: 1}", "{limit: 1}"), ("{q, limit: 1}", "q, {limit: 1}"),
    ),
    "const user = await tools.getUser({id: 7});\nawait tools.save({text: JSON.stringify(user)});\nuser.address.city": (
        ("id: 7", "id: 'seven'"), ("id: 7", "id: 7.5"), ("tools.getUser", "tools.fetchUser"),
        ("text: JSON", "content: JSON"), ("tools.save", "tools.store"), ("id: 7", "id: {n: 7}"), ("{id: 7}", "7"),
    ),
    "class Desk {\n  async seat(count) { return await tools.book({room: 'red', seats: count}); }\n}\nawait new Desk().seat(4)": (
        ("'red'", "'Red room'"), ("seats: count", "places: count"), ("tools.book", "tools.bok"), (", seats: count", ""),
    ),
    "const read = (path) => tools.readFile({path});\nconst [a, b] = await Promise.all([read('a'), read('b')]);\na + b": (
        ("tools.readFile", "tools.ReadFile"), ("{path}", "{paths: path}"), ("tools.readFile({path})", "tools.readFile({path}).split('x')"),
    ),
    "switch (2) {\n  case 1: await tools.save({text: 'a'}); break;\n  default: await tools.save({text: 'b'});\n}\n'saved'": (
        ("text: 'b'", "txt: 'b'"), ("text: 'a'", "text: 1"), ("tools.save({text: 'a'})", "tools.sav({text: 'a'})"),
    ),
    "const total = [1, 2, 3].length ? await tools.sqlQuery({sql: `select ${1}`}) : [];\ntotal.length": (
        ("tools.sqlQuery", "tools.sqlQueries"), ("sql:", "statement:"), ("sql:", "'s q l':"),
    ),
    "const options = {limit: 2};\nconst hits = await tools.search({...options, q: 'tea'});\nhits.length": (
        ("q: 'tea'", "q: 5"), ("tools.search", "tools.searh"), ("...options, q", "...options, query"),
    ),
    "const made = {\n  hits: await tools.search({q: 'a'}),\n  user: await tools.getUser({id: 1}),\n};\nmade.user.name": (
        ("tools.getUser", "tools.user"), ("q: 'a'", "q: false"), ("id: 1", "id: '1x'"), ("id: 1", "uid: 1"),
    ),
    "let n = 0;\nwhile (n < 2) {\n  n += (await tools.search({q: 'x', limit: 1})).length;\n}\nn": (
        ("(await tools.search({q: 'x', limit: 1})).length", "tools.search({q: 'x', limit: 1}).length"),
        ("q: 'x'", "g: 'x'"), ("limit: 1", "limit: [1]"),
    ),
    "await tools.search({q: 'a'}).then((hits) => hits.length)": (
        (".then((hits) => hits.length)", ".map((hit) => hit.title)"), ("tools.search", "tools.sarch"),
        (".then(", ".forEach("), ("q: 'a'", "qq: 'a'"),
    ),
    "const {name} = await tools.getUser({id: 3});\nawait mail.box.send({to: name});\nreturn name": (
        ("mail.box.send", "mail.box.post"), ("to: name", "name"), ("id: 3", "id: true"), ("id: 3", "id: '3x'"),
    ),
    "const wanted = ['a', 'b'], texts = [];\nfor (let i = 0; i < wanted.length; i++) texts.push(await files.read({path: wanted[i]}));\ntexts.join()": (
        ("files.read", "files.reed"), ("path:", "pth:"), ("{path: wanted[i]}", "wanted[i], {path: ''}"),
    ),
    "const first = await tools['search']({'q': 'a', \"limit\": 1});\nfirst.length": (
        ("tools['search']", "tools['saerch']"), ("'q'", "'query'"), ("\"limit\": 1", "\"limit\": 'x'"),
    ),
    "label: for (const id of [1, 2]) {\n  const user = await tools.getUser({id: +id});\n  if (user.id === 1) continue label;\n  await tools.save({text: user.name});\n}\n'done'": (
        ("tools.save", "tools.safe"), ("text: user.name", "text: user.name, at: 1"), ("tools.getUser", "tools.getusers"),
    ),
}  # fmt: skip


def _seeded() -> Iterator[str]:
    for cell, faults in _CELLS.items():
        for old, new in faults:
            assert cell.count(old) >= 1, (cell, old)
            yield FIRST + cell.replace(old, new, 1)


#: Cells with one fault each, which tree and bridges tell.
SEEDED: Final = tuple(dict.fromkeys((*_from_mistakes(), *_seeded())))

#: Cells that are wrong, or may be, in ways that only the run shows.
UNDECIDED: Final = (
    "const name = 'serch'; await tools[name]({q: 'a'})",
    "const t = tools; await t.serch({q: 'a'})",
    "const input = {query: 'a'}; await tools.search(input)",
    "const input = ['a']; await tools.search(...input)",
    "await tools.search({q: 'a', limit: Number('x')})",
    "const hits = tools.search({q: 'a'}); hits.length",
    "const {serch} = tools; await serch({q: 'a'})",
    "const [read] = [tools.reed]; await read({path: 'a'})",
)

# -- cells that are right --------------------------------------------------------------------------

#: Cells that could be taken for wrong ones.
_TRICKY: Final = (
    # another meaning of a name
    "const run = async (tools) => tools.serch({a: 1});\nawait run({serch: () => 5})",
    "function f() { const tools = {go: () => 1}; return tools.go(2, 3); }\nf()",
    "{ let files = {open: () => 1}; files.open(1, 2); }\n1",
    "[{go: () => 1}].map((tools) => tools.go('x', 'y'))",
    "[{tools: {go: () => 1}}].map(({tools}) => tools.go('x', 'y'))",
    "for (const mail of [{send: () => 1}]) mail.send(1);\n1",
    "try { throw {go: () => 1}; } catch (tools) { tools.go(1, 2); }\n1",
    "const one = {tools: {any: () => 1}};\none.tools.any({x: 1})",
    "class A { tools = {go: () => 1}; go() { return this.tools.go(1, 2); } }\nnew A().go()",
    "const api = {tools() { return {go: () => 1}; }};\napi.tools().go(1, 2)",
    "function tools2() { return {length: 1}; }\ntools2().length",
    "(function tools(n) { return n ? tools(n - 1) : 0; })(2)",
    # asked about first
    "if (tools.render) await tools.render({page: 1});\n1",
    "typeof tools.render === 'function' ? await tools.render({page: 1}) : 0",
    "await tools.render?.({page: 1});\n1",
    "tools.render && (await tools.render({page: 1}));\n1",
    "if ('render' in tools) await tools.render({page: 1});\n1",
    "if (Object.keys(tools).includes('render')) await tools.render({});\n1",
    "const has = (name) => name in tools;\nif (has('render')) await tools.render({});\n1",
    "for (const name of Object.keys(tools)) if (name === 'render') await tools[name]({});\n1",
    "if (Object.hasOwn(tools, 'render')) tools.render({});\n1",
    "const {render} = tools;\nif (render) await tools.render({});\n1",
    "(tools.render ?? (() => 1))()",
    "const draw = tools.render || (() => 1);\ndraw()",
    "tools?.render?.({a: 1});\n1",
    "const known = Object.keys(tools);\nif (known.length > 100) await tools.other({});\n1",
    "const all = new Set(Object.keys(tools));\nif (all.has('print')) tools.print({a: 1}).length;\n1",
    # never run
    "const later = () => tools.notYet({a: 1});\n1",
    "function later() { return tools.notYet({a: 1}); }\n1",
    "const api = {later: () => tools.notYet(1, 2), more: {deep() { return tools.no(); }}};\n1",
    "class Later { go() { return tools.notYet({a: 1}); } }\n1",
    "const api = {now: () => 1};\napi.later = () => tools.notYet({a: 1});\napi.now()",
    "globalThis.later2 = async () => { await tools.search({}); };\n1",
    "class A { now = () => 1; later = () => tools.notYet({a: 1}); }\nnew A().now()",
    "class A { now() { return 1; } later() { return tools.notYet({a: 1}); } }\nnew A().now()",
    "const api = {now: () => 1, later: () => tools.notYet({a: 1})};\napi.now()",
    "Object.keys({later: () => tools.notYet({a: 1}), 'more': [() => tools.no()]})",
    "function A() {}\nA.prototype.later = function () { return tools.notYet({a: 1}); };\nnew A() instanceof A",
    "if (false) tools.notYet({a: 1});\n1",
    "if (true) 1; else tools.notYet({a: 1});\n1",
    "false && tools.notYet({a: 1});\ntrue || tools.notYet();\n1",
    "while (false) tools.notYet();\n1",
    "const f = () => { return 1; tools.notYet({a: 1}); };\nf()",
    "for (const a of [1]) { continue; tools.notYet({a}); }\n1",
    "true ? 1 : tools.notYet({a: 1})",
    # meant to fail
    "try { await tools.notHere({a: 1}); } catch { 'caught' }",
    "try { await tools.search({query: 'a'}); } catch (error) { error.name }",
    "try { tools.search({q: 'a'}).length; } catch (error) { error.name }",
    "const go = async () => tools.notHere();\nawait go().catch(() => 1)",
    "const go = async () => { await tools.search({}); };\nawait go().catch(() => 1)",
    "await tools.search({query: 'a'}).catch((error) => error.message)",
    "await tools.search({q: 5}).then(() => 1, () => 2)",
    "(await Promise.allSettled([tools.search({}), tools.search({q: 'a'})])).length",
    "const one = tools.search({q: 1});\nawait one.catch(() => 0)",
    "await Promise.any([tools.search({}), tools.search({q: 'a'})])",
    "const f = async () => { await tools.search({}); };\ntry { await f(); } catch { 1 }",
    "try { try { await tools.notHere(); } finally { 1; } } catch { 2 }",
    "(async () => { try { return await tools.notHere(); } finally { return 3; } })()",
    "const safe = async (go) => { try { return await go(); } catch { return 0; } };\nawait safe(() => tools.notHere({a: 1}))",
    # right arguments in unusual forms
    "await tools.search({'q': 'a'})",
    "await tools.search({['q']: 'a'})",
    "const q = 'a', limit = 1;\nawait tools.search({q, limit})",
    "const rest = {q: 'a'};\nawait tools.search({...rest})",
    "const rest = {q: 'a'};\nawait tools.search({limit: 'x', ...{...rest, limit: 1}})",
    "await tools.search({q: 'a', limit: undefined})",
    "await tools.search(Object.assign({}, {q: 'a'}))",
    "await tools.search.call(null, {q: 'a'})",
    "await Reflect.apply(tools.search, null, [{q: 'a'}])",
    "await Promise.all([{q: 'a'}, {q: 'b'}].map(tools.search))",
    "await tools.search({q: 'a', get limit() { return 1; }})",
    "await tools.search({q: String(5), limit: 1 + 1})",
    "await tools.search({q: 'a', limit: 2.0})",
    "await tools.search({q: 'a', limit: 1e0})",
    "await tools.search({q: 'a' + 'b', limit: -(-1)})",
    "await tools.search({q: true ? 'a' : 5})",
    "await tools.book({room: ['blue', 'red'][0], seats: 1, tags: [...'ab']})",
    "await tools.book({room: 'blue', seats: 1, tags: new Set(['a'])})",
    "await tools.book({room: 'blue', seats: 1, tags: null})",
    "await tools.search({q: 'x', toString: undefined})",
    "await mail.box.send({to: 'a', subject: null})",
    "await tools.search({q: 'first', q: 'a'})",
    "await tools.search({q: `\n`})",
    "await tools.search({q: 'a'}, undefined)",
    "await tools.search({__proto__: null, q: 'a'})",
    "await tools.getUser({id: Number('7')})",
    # members of promises
    "await tools.search({q: 'a'}).then((hits) => hits.length)",
    "await tools.search({q: 'a'}).finally(() => 1)",
    "tools.search({q: 'a'}).constructor === Promise",
    "tools.search({q: 'a'}).toString()",
    "tools.search({q: 'a'}) instanceof Promise",
    "const p = tools.search({q: 'a'});\n(await p).length",
    "'length' in tools.search({q: 'a'})",
    "tools.search({q: 'a'}).note = 1;\n1",
    "delete tools.search({q: 'a'}).note;\n1",
    "tools.search({q: 'a'})?.then((hits) => hits.length)",
    "(await tools.search({q: 'a'}))\n  .map((hit) => hit.title)",
    "await (tools.search({q: 'a'}))",
    # text that only looks like code
    "'tools.serch({q: 1}).length'",
    "// tools.serch({q: 1})\n1",
    "/tools.serch({q: 1})/.test('x')",
    "`tools.serch({q: 1}) ${1}`",
    "({tools: 1, files: 2}).tools",
    "const text = `${(await tools.search({q: 'a'})).length} of tools.serch()`;\ntext",
    # types
    "type Tools = typeof tools.notHere;\nconst n: number = 1;\nn",
    "interface Files { open(path: string): void }\nconst n: number = 1;\nn",
    "const hits = (await tools.search({q: 'a'} as {q: string}))!;\nhits.length",
    "const all = tools as any;\nif (all.notHere) (tools as any).notHere(1);\n1",
    "with ({tools: {go: () => 1}}) tools.go({a: 1})",
    "(0, eval)('1') + eval('var tools2 = 1; tools2')",
)  # fmt: skip
_FORMS: Final = (
    "{code}",
    "\n\n{code}\n",
    "'use strict';\n{code}",
    "const before = [1, 2].map((n) => n * 2);\n{code}",
    "/* tools.serch({{}}) */ {code}",
    "await Promise.resolve();\n{code}",
    "if (1) {{\n{code}\n}}",
    "for (const each of [1]) {{\n{code}\n}}",
    "await (async () => {{\n{code}\n}})();\n1",
    "try {{\n{code}\n}} finally {{ 1; }}",
)


def _right() -> Iterator[str]:
    for cell in (*_CELLS, *_TRICKY):
        for form in _FORMS:
            is_sloppy = "with (" in cell
            if is_sloppy and ("strict" in form or "await" in form):
                continue
            yield form.format(code=cell)


#: Cells that run without an error.
RIGHT: Final = tuple(dict.fromkeys(_right()))
