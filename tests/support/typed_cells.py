"""Cells whose faults only types show, and cells that are right although their types look odd.

All run after `EARLIER`, with `tools.find({q, limit?})`, `tools.count({q})`, `tools.text({path})`,
`tools.user({id})` and `tools.store({text, size?, rank?, tags?})`, whose answers are declared.
"""

# ruff: noqa: E501 - tables of cells read best unbroken

from __future__ import annotations

from typing import Final, NotRequired, TypedDict

from interpstack import Bridge, bridge

__all__ = ["EARLIER", "TYPED_RIGHT", "TYPED_WRONG", "typed_bridges"]

#: The cell before.
EARLIER: Final = """
const hits = await tools.find({q: 'a'});
const size = await tools.count({q: 'a'});
const text = await tools.text({path: 'a'});
const user = await tools.user({id: 1});
const names = hits.map((hit) => hit.title);
const rows = hits.map((hit, at) => ({at, title: hit.title}));
const load = async (path) => (await tools.text({path})).split('\\n');
const byTitle = new Map(hits.map((hit) => [hit.title, hit]));
let total = 0, best = null, state = {done: false, items: []};
"""


class Author(TypedDict):
    name: str
    mail: NotRequired[str]


class Hit(TypedDict):
    title: str
    score: float
    author: Author


class Address(TypedDict):
    city: str


class User(TypedDict):
    id: int
    name: str
    address: Address


def typed_bridges(noted: list[str]) -> list[Bridge]:
    """The functions; `tools.store` notes its calls."""

    @bridge("tools.find")
    def find(q: str, limit: int = 2) -> list[Hit]:
        return [
            {"title": f"{q} {n}", "score": n / 2, "author": {"name": "Ann"}} for n in range(limit)
        ]

    @bridge("tools.count")
    def count(q: str) -> int:
        return len(q)

    @bridge("tools.text")
    def text(path: str) -> str:
        return f"{path}\nsecond line"

    @bridge("tools.user")
    def user(id: int) -> User:  # noqa: A002 - as tools have it
        return {"id": id, "name": "Ann", "address": {"city": "Bonn"}}

    @bridge("tools.store")
    def store(text: str, size: int = 0, rank: float = 0, tags: list[str] | None = None) -> str:
        noted.append(text)
        return text

    return [find, count, text, user, store]


#: One fault each.
TYPED_WRONG: Final = (
    # a field that an answer does not have
    "hits[0].titel",
    "hits.map((hit) => hit.name)",
    "hits[0].author.nam",
    "user.adress.city",
    "user.address.town",
    "(await tools.user({id: 2})).fullName",
    "const {titel} = hits[0];\ntitel",
    "const {address: {town}} = user;\ntown",
    "const [first] = await tools.find({q: 'b'});\nfirst.url",
    "for (const hit of hits) console.log(hit.link)",
    "hits.filter((hit) => hit.points > 1)",
    "hits.sort((a, b) => b.rank - a.rank)",
    "hits.reduce((sum, hit) => sum + hit.scor, 0)",
    "hits.find((hit) => hit.title === 'a').autor.name",
    "byTitle.get('a 0').titles",
    "const found = await tools.find({q: 'c'});\nfound.results.map((one) => one.title)",
    "(await tools.find({q: 'c'})).items",
    "const all = await Promise.all([tools.user({id: 1}), tools.user({id: 2})]);\nall.map((one) => one.mail)",
    "await tools.find({q: 'a'}).then((found) => found[0].titel)",
    "const list = hits.map((hit, at) => ({at, title: hit.title}));\nlist[0].titel",
    "const made = {label: 'x', count: 2};\nmade.lable",
    "const pairs = hits.map((hit) => ({key: hit.title}));\npairs.map((pair) => pair.kye)",
    # a member that a value does not have
    "hits.lenght",
    "names.contains('a')",
    "text.trimm()",
    "text.len",
    "size.length",
    "size.toFixd(2)",
    "hits.size",
    "byTitle.length",
    "byTitle.getOrDefault('a')",
    "new Set(names).length",
    "Object.key(user)",
    "JSON.parce(text)",
    "Math.average(1, 2)",
    "(await load('a')).trim()",
    "text.split('\\n').toUpperCase()",
    "user.name.titleCase()",
    "names.join(', ').length()",
    "hits.length()",
    "text.push('x')",
    # a value of a wrong type for a function
    "await tools.store({text: size})",
    "await tools.store({text: hits})",
    "await tools.store({text: user})",
    "await tools.store({text: hits[0].score})",
    "await tools.store({text: hits[0].author})",
    "await tools.store({text, size: names})",
    "await tools.store({text, tags: hits})",
    "await tools.store({text, tags: text})",
    "await tools.store({text, tags: [size]})",
    "await tools.store({text, rank: user})",
    "await tools.user({id: user})",
    "const input = {query: 'a'};\nawait tools.find(input)",
    "const input = {q: 5};\nawait tools.find(input)",
    "const n = 5;\nawait tools.text({path: n})",
    "const paths = [1, 2];\nawait Promise.all(paths.map((path) => tools.text({path})))",
    "for (const hit of hits) await tools.store({text: hit})",
    "const find = tools.find;\nawait find({q: size})",
    "await tools.find({q: text.length})",
    "await tools.store({text: rows[0].at})",
    # a promise that is used as its value
    "const found = tools.find({q: 'a'});\nfound.length",
    "const found = tools.find({q: 'a'});\nfound.map((hit) => hit.title)",
    "tools.count({q: 'a'}) + 1",
    "const n = tools.count({q: 'a'});\nn * 2",
    "const n = tools.count({q: 'a'});\nif (n > 1) console.log(n)",
    "`there are ${tools.count({q: 'a'})}`",
    "'there are ' + tools.count({q: 'a'})",
    "for (const hit of tools.find({q: 'a'})) console.log(hit)",
    "[...tools.find({q: 'a'})].length",
    "JSON.stringify({found: tools.find({q: 'a'})})",
    "JSON.stringify(tools.user({id: 1}))",
    "await tools.store({text: tools.text({path: 'a'})})",
    "const body = tools.text({path: 'a'});\nawait tools.store({text: body})",
    "load('a').length",
    "const lines = load('a');\nlines[0]; lines.map((line) => line.trim())",
    "if (tools.count({q: 'a'}) === 1) 'one'",
    "if (tools.count({q: 'a'})) 'some'",
    "total += tools.count({q: 'a'})",
    "const {city} = tools.user({id: 1}).address;\ncity",
    "const {name} = tools.user({id: 1});\nname",
    "const [one] = tools.find({q: 'a'});\none",
    "hits[tools.count({q: 'a'})]",
    # a name that is not there
    "await tools.store({text: txt})",
    "hitz.length",
    "console.log(userName)",
    "const t = tools;\nawait t.stroe({text})",
    "const {stroe} = tools;\nawait stroe({text})",
    "await tools.store({text: JSON.stringify(hit)})",
    "await fetch('https://a.example')",
    "require('fs').readFileSync('a')",
    "print(text)",
    # a value that cannot be called or gone through
    "for (const n of size) console.log(n)",
    "const [a, b] = size;\na",
    "text()",
    "user.name()",
    "for (const one of user) console.log(one)",
    "[...user].length",
)

#: No fault, or one that the code handles.
TYPED_RIGHT: Final = (
    "hits[0].titel ?? hits[0].title",
    "hits[0].titel || 'none'",
    "hits[0]?.titel?.length",
    "if (hits[0].titel) console.log(hits[0].titel.length);\n1",
    "hits.map((hit) => hit.link ? hit.link : hit.title)",
    "'titel' in hits[0] ? hits[0].titel : 1",
    "typeof hits[0].titel",
    "const {titel = 'none'} = hits[0];\ntitel",
    "hits[0].note = 'x';\nhits[0].note",
    "hits.forEach((hit, at) => { hit.rank = at; });\nhits.map((hit) => hit.rank)",
    "for (const hit of hits) Object.assign(hit, {more: 1});\nconst made = {a: 1};\nObject.assign(made, {b: 2});\nmade.b",
    "const made = {};\nmade.a = 1;\nmade.a + 1",
    "const made = {a: 1};\nmade['b'] = 2;\nmade.b",
    "const made = {a: 1}, key = 'c';\nmade[key] = 3;\nmade.c",
    "const made = Object.fromEntries(hits.map((hit) => [hit.title, hit]));\nmade['a 0'].score",
    "let one = 1;\none = 'text';\none.length",
    "let one = [];\none.push({a: 1});\none.push('x');\none[1].length",
    "let found = null;\nfor (const hit of hits) if (!found || hit.score > found.score) found = hit;\nfound.title",
    "best = hits[0];\nbest.title",
    "total = 'text';\ntotal.length",
    "total += size;\ntotal.toFixed(1)",
    "state.items.push(hits[0]);\nstate.items.map((one) => one.title).length",
    "state.extra = 1;\nstate.extra",
    "state = hits;\nstate.length",
    "state.done = 'yes';\nstate.done.length",
    "const mixed = [1, 'a', {b: 2}];\nmixed[1].length + mixed[2].b",
    "const mixed = [1, 'a'];\nmixed.filter((one) => typeof one === 'string').map((one) => one.length)",
    "const f = (n = 1) => n.length ?? n;\nf('text')",
    "function area(shape) { return shape.r ? shape.r * 2 : shape.w * shape.h; }\narea({w: 1, h: 2})",
    "const add = (a, b) => a + (b || 0);\nadd(1)",
    "await tools.store({text: String(size)})",
    "await tools.store({text: `${size}`, size, rank: hits[0].score, tags: names})",
    "await tools.store({text: text || size})",
    "await tools.store({text, tags: new Set(names)})",
    "await tools.store({text, tags: null})",
    "await tools.user({id: Number('7')})",
    "const options = {limit: 1};\noptions.q = 'a';\nawait tools.find(options)",
    "const found = tools.find({q: 'a'});\n(await found).length",
    "const jobs = hits.map((hit) => tools.text({path: hit.title}));\n(await Promise.all(jobs)).join().length",
    "const cache = {};\ncache.a ??= tools.count({q: 'a'});\nawait cache.a",
    "let job;\nif (!job) job = tools.count({q: 'a'});\nawait job",
    "const job = tools.count({q: 'a'});\njob instanceof Promise ? 1 : 2",
    "const both = await Promise.allSettled([tools.count({q: 'a'}), tools.find({q: 'a'})]);\nboth[0].value + both[1].value.length",
    "try { hits[0].titel.length; } catch { 1 }",
    "try { missing(); } catch (error) { error.message }",
    "typeof missing === 'undefined' ? 1 : missing()",
    "const later = () => hits[0].titel.length;\n1",
    "function later() { return missing.value; }\n1",
    "if (false) missing();\n1",
    "const date = new Date('2024-01-31'), other = new Date('2024-02-01');\nother - date",
    "'3' * '4'",
    "[3] * 2",
    "size == '1'",
    "Math.max('3', 4)",
    "parseInt(5)",
    "text.includes(5)",
    "[1, 2].includes('a')",
    "new Map([['a', 1], ['b', 'x']]).get('b').length",
    "Array.prototype.top = function () { return this[0]; };\n[1].top()",
    "String.prototype.shout = function () { return this.toUpperCase(); };\n'a'.shout()",
    "globalThis.extra = 1;\nextra + 1",
    "made2 = 5;\nmade2 + 1",
    "class Desk { constructor(n) { this.n = n; } twice() { return this.n * 2; } }\nnew Desk(2).twice()",
    "class Shelf { books = []; add(book) { this.books.push(book); return this; } }\nnew Shelf().add('a').books[0].length",
    "const point = {x: 1, get twice() { return this.x * 2; }};\npoint.twice",
    "const tree = {value: 1, next: null};\ntree.next = {value: 2, next: null};\ntree.next.value",
    "const groups = {};\nfor (const hit of hits) (groups[hit.author.name] ??= []).push(hit);\ngroups.Ann.length",
    "const sums = hits.reduce((all, hit) => { all[hit.title] = hit.score; return all; }, {});\nsums['a 0']",
    'const parsed = JSON.parse(\'{"a": {"b": 1}}\');\nparsed.a.b',
    "const lines = text.split('\\n'), [head, ...rest] = lines;\nrest[0].trim() + head",
    "const error = new Error('x');\nerror.code = 5;\nerror.code",
    "const counts = new Map();\nfor (const name of names) counts.set(name, (counts.get(name) || 0) + 1);\n[...counts.values()]",
    "for (const [key, value] of Object.entries(user)) console.log(key, value.length);\n1",
    "hits.toSorted((a, b) => b.score - a.score).at(-1).title.at(0)",
    "Object.groupBy(hits, (hit) => hit.author.name).Ann.length",
    "const copy = structuredClone(user);\ncopy.name",
    "const copy = {...user, extra: 1};\ncopy.extra + copy.name.length",
    "const {id, ...others} = user;\nothers.name.length",
    "user.address = null;\nuser.address?.city",
    "const {name: title, address: {city}} = user;\ntitle + city",
    "hits.map(({title, author: {name}}) => title + name)",
    "rows.push({at: 9, title: 'z', extra: 1});\nrows.length",
    "const find = async (q) => (await tools.find({q})).map((hit) => hit.title);\n(await find('x')).join()",
    "const lines = await load('b');\nlines.map((line) => line.length)",
    "type Row = {title: string; missing: number};\nconst list = hits as unknown as Row[];\nlist.length",
    "interface Found { title: string }\nconst one: Found = hits[0];\none.title",
    "const list: number[] = [];\nlist.push(...hits.map((hit) => hit.score));\nlist.length",
    "const pick = <T,>(list: T[], at: number): T => list[at];\npick(hits, 0).title",
    "enum Color { Red, Blue }\nColor.Red",
    "const wide = '😀';\n{wide, b: '😀'}",
)
