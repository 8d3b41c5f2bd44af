"""Cells with the mistakes that models make, and what the answer has to say about each.

The cells have `tools.search({q, limit?})`, which returns two hits `{title, score}`,
`tools.sqlQuery({sql})` with 3,000 rows `{id, name}`, `tools.readFile({path})` with a text,
`tools.getUser({id})` with `{id, name, address: {city}}`, and `tools.save({text})`, which fails: the
disk is full.
"""

# ruff: noqa: E501 - tables of cells and answers read best unbroken

from __future__ import annotations

from typing import Final

import attrs

__all__ = ["MISTAKES", "Mistake"]


@attrs.frozen
class Mistake:
    """A cell, and texts of which the answer has all.

    Attributes:
        kind: The kind of mistake.
        code: The cell.
        tells: Parts of the answer; ` | ` is between two of which one is enough.
    """

    kind: str
    code: str
    tells: tuple[str, ...]


def _group(kind: str, *cells: tuple[str, ...]) -> list[Mistake]:
    return [Mistake(kind, code, tuple(tells)) for code, *tells in cells]


_FULL = "disk quota exceeded"

MISTAKES: Final[tuple[Mistake, ...]] = (
    *_group(
        "a failed call that nobody awaited",
        ("tools.save({text: 'x'}); 'published'", "<notice>", "tools.save", _FULL),
        (
            "for (const t of ['a', 'b']) tools.save({text: t}); 'all saved'",
            "2 calls",
            "tools.save",
            _FULL,
        ),
        ("['a', 'b'].forEach((t) => tools.save({text: t})); 'done'", "2 calls", _FULL),
        (
            "['a', 'b'].forEach(async (t) => { await tools.save({text: t}) }); 'done'",
            "tools.save",
            _FULL,
        ),
        (
            "(async () => { await tools.save({text: 'x'}); return 'ok' })(); 'started'",
            "tools.save",
            _FULL,
        ),
        ("setTimeout(() => tools.save({text: 'x'}), 0); await tools.search({q: 'a'}); 'ok'", _FULL),
        (
            "const p = tools.save({text: 'x'}); await tools.search({q: 'a'}); 'ok'",
            "tools.save",
            _FULL,
        ),
        (
            "async function main() { await tools.save({text: 'x'}) } main(); 'done'",
            "tools.save",
            _FULL,
        ),
        ("Promise.all([tools.save({text: 'a'}), tools.search({q: 'a'})]); 'done'", _FULL),
        ("new Promise((resolve, reject) => reject(new Error('lost'))); 'done'", "<notice>", "lost"),
        (
            "async function load() { throw new TypeError('no such page') } load(); 'ok'",
            "no such page",
        ),
        ("tools.search({q: 'a'}).then((hits) => hits.first.title); 'ok'", "<notice>", "TypeError"),
    ),
    *_group(
        "a call whose value was used unawaited",
        ("`${tools.search({q: 'a'})}`", "Promise of tools.search", "put await before the call"),
        ("'hits: ' + tools.search({q: 'a'})", "Promise of tools.search", "await"),
        ("tools.search({q: 'a'}).length", "(await tools.search(…)).length"),
        (
            "const rows = tools.search({q: 'a'}); if (rows.length) 'yes'; else 'no'",
            "await",
            "length",
        ),
        ("tools.search({q: 'a'})[0].title", "(await tools.search(…))[0]"),
        ("await tools.search({q: 'a'})[0]", "(await tools.search(…))[0]"),
        ("await tools.search({q: 'a'}).length", "(await tools.search(…)).length"),
        ("tools.search({q: 'a'}).map((h) => h.title)", "(await tools.search(…)).map"),
        ("tools.search({q: 'a'}).filter(Boolean)", "(await tools.search(…)).filter"),
        ("JSON.stringify(tools.search({q: 'a'}))", "JSON", "put await before the call"),
        ("JSON.stringify({hits: tools.search({q: 'a'})})", "JSON", "put await before the call"),
        ("JSON.parse(tools.readFile({path: 'a.json'}))", "Promise of tools.readFile", "await"),
        (
            "['a', 'b'].map((q) => tools.search({q}))",
            "2 promises of tools.search",
            "await Promise.all",
        ),
        ("({first: tools.search({q: 'a'})})", "promise of tools.search", "await"),
        ("console.log(tools.search({q: 'a'}))", "promise of tools.search", "await"),
        ("console.log('hits', [tools.search({q: 'a'})])", "promise of tools.search", "await"),
        (
            "for (const h of tools.search({q: 'a'})) console.log(h.title)",
            "cannot be iterated",
            "await",
        ),
        ("const [first] = tools.search({q: 'a'}); first", "cannot be iterated", "await"),
        ("const {length} = tools.search({q: 'a'}); length", "length", "await"),
        ("[...tools.search({q: 'a'}), ...tools.search({q: 'b'})]", "cannot be iterated", "await"),
        ("Array.from(tools.search({q: 'a'}))", "cannot be iterated", "await"),
        ("await Promise.all(tools.search({q: 'a'}), tools.search({q: 'b'}))", "cannot be iterated"),
        (
            "const n = tools.search({q: 'a'}); n > 3 ? 'many' : 'few'",
            "Promise of tools.search",
            "await",
        ),
        ("[3, 1].sort((a, b) => tools.search({q: 'a'}))", "Promise of tools.search", "await"),
        (
            "await tools.save({text: tools.readFile({path: 'a'})})",
            "promise of tools.readFile",
            "await",
        ),
        ("new Set(tools.search({q: 'a'}))", "cannot be iterated", "await"),
        ("Math.max(...tools.search({q: 'a'}))", "cannot be iterated", "await"),
        (
            "const user = tools.getUser({id: 1}); user.address.city",
            "(await tools.getUser(…)).address",
        ),
        ("tools.getUser({id: 1}).name.toUpperCase()", "(await tools.getUser(…)).name"),
        (
            "const s = tools.readFile({path: 'a'}); s.split('\\n').length",
            "(await tools.readFile(…)).split",
        ),
        (
            "[1, 2].map(async (id) => (await tools.getUser({id})).name)",
            "2 promises",
            "await Promise.all",
        ),
        (
            "let text = ''; text += tools.readFile({path: 'a'}); text",
            "Promise of tools.readFile",
            "await",
        ),
    ),
    *_group(
        "a Markdown fence",
        ("```js\n1 + 1\n```", "<result>2</result>"),
        ("```javascript\nawait tools.search({q: 'a'})\n```", "title"),
        ("```ts\nconst n: number = 5; n\n```", "<result>5</result>"),
        ("```\n'plain'\n```", "plain"),
        ("\n```js\n[1, 2].length\n```\n", "<result>2</result>"),
        ("```python\nprint(1)\n```", "python", "JavaScript"),
        ('```json\n{"a": 1}\n```', "JavaScript"),
    ),
    *_group(
        "a top-level return",
        ("return 5", "<result>5</result>"),
        ("const hits = await tools.search({q: 'a'}); return hits.length", "<result>2</result>"),
        ("if (true) return 'early'; 'late'", "early"),
        ("for (const n of [1, 2, 3]) { if (n === 2) return n }", "<result>2</result>"),
        ("try { return await tools.getUser({id: 1}) } catch (e) { return e.message }", "name"),
        ("const n: number = 4; return n * 2", "<result>8</result>"),
        ("return {a: 1, b: 2}", "{a: 1, b: 2}"),
    ),
    *_group(
        "an object as the last statement",
        ("{a: 1, b: 2}", "{a: 1, b: 2}"),
        ("const a = 1, b = 2; ({a, b})", "{a: 1, b: 2}"),
        ("const a = 1, b = 2\n{a, b}", "{a: 1, b: 2}"),
        ("{a: 1}", "{a: 1}"),
        ("{\"title\": 'x', count: 2}", "title", "count"),
        (
            "const hits = await tools.search({q: 'a'})\n{count: hits.length, first: hits[0].title}",
            "count: 2",
        ),
    ),
    *_group(
        "a trailing declaration",
        ("let q = 5", "<result>5</result>"),
        ("const hits = await tools.search({q: 'a'})", "title"),
        ("var total = [1, 2].reduce((a, b) => a + b)", "<result>3</result>"),
        ("const {name} = await tools.getUser({id: 1})", "name"),
        ("const [first, second] = [1, 2]", "1", "2"),
    ),
    *_group(
        "await in a plain callback",
        ("['a'].forEach((q) => { const r = await tools.search({q}); console.log(r) })", "async"),
        ("['a'].map(q => await tools.search({q}))", "async"),
        ("['a', 'b'].filter(q => (await tools.search({q})).length)", "async"),
        ("function load(q) { return await tools.search({q}) } load('a')", "async"),
        (
            "setTimeout(() => { await tools.search({q: 'a'}) }, 0)",
            "nothing waits for the callback of setTimeout",
        ),
        ("[1].reduce((sum, id) => sum + (await tools.getUser({id})).id, 0)", "async"),
    ),
    *_group(
        "another language",
        ("import json\nx = json.dumps({'a': 1})\nprint(x)", "Python", "JavaScript"),
        ("def f(x):\n    return x + 1\nf(2)", "Python", "JavaScript"),
        ("for hit in hits:\n    print(hit)", "Python", "JavaScript"),
        ("hits = [h for h in range(3)]", "Python", "JavaScript"),
        ("if x == 1:\n    print('one')\nelif x == 2:\n    print('two')", "Python", "JavaScript"),
        ("from datetime import datetime\nprint(datetime.now())", "Python", "JavaScript"),
        ("with open('a.txt') as f:\n    text = f.read()", "Python", "JavaScript"),
        ("print('x')", "console.log"),
        ("len([1, 2])", "length"),
        ("str(5)", "str is not defined"),
        ("x = None", "null"),
        ("found = True", "true"),
        ("SELECT * FROM users", "SQL", "JavaScript"),
        ("ls -la", "ls"),
    ),
    *_group(
        "a shell command",
        ("cat notes.txt", "this looks like a shell command"),
        ("ls -la", "there is no shell here", "tools.readFile"),
        ("pip install pandas", "this looks like a shell command"),
        ("cd /tmp && ls", "there is no shell here"),
        ("git log --oneline | head -3", "this looks like a shell command"),
    ),
    *_group(
        "a bare tool name",
        ("await search({q: 'a'})", "tools.search"),
        ("const rows = await sqlQuery({sql: 'select 1'}); rows.length", "tools.sqlQuery"),
        ("await sql_query({sql: 'select 1'})", "tools.sqlQuery"),
        ("await read_file({path: 'a'})", "tools.readFile"),
        ("await getuser({id: 1})", "tools.getUser"),
        ("await functions.search({q: 'a'})", "tools"),
        ("await tool.search({q: 'a'})", "tools"),
    ),
    *_group(
        "a misspelt tool",
        ("await tools.serach({q: 'a'})", "tools.search"),
        ("await tools.sql_query({sql: 'select 1'})", "tools.sqlQuery"),
        ("await tools.SqlQuery({sql: 'select 1'})", "tools.sqlQuery"),
        ("await tools.readfile({path: 'a'})", "tools.readFile"),
        ("await tools.get_user({id: 1})", "tools.getUser"),
        ("await tools.deleteEverything({})", "deleteEverything", "tools.search"),
        ("await tools['search_web']({q: 'a'})", "tools.search"),
    ),
    *_group(
        "what is not here",
        ("await fetch('https://example.com')", "fetch is not defined", "tools"),
        ("const fs = require('fs'); fs.readFileSync('a')", "require"),
        ("process.env.HOME", "process"),
        ("Buffer.from('a').toString('base64')", "Buffer | YQ=="),
        ("document.querySelector('h1')", "document"),
        ("window.location.href", "window"),
        ("localStorage.getItem('a')", "localStorage"),
        ("alert('hi')", "alert", "the value of the last expression"),
        ("new XMLHttpRequest()", "XMLHttpRequest"),
        ("module.exports = {a: 1}", "module"),
        ("__dirname", "__dirname"),
        ("import fs from 'fs'; fs.readFileSync('a')", "fs"),
        ("const axios = await import('axios'); axios.get('x')", "axios"),
        ("export const a = 1", "export"),
    ),
    *_group(
        "a wrong argument",
        ("await tools.search({query: 'a'})", "'query'", "q"),
        ("await tools.search('a')", "tools.search({"),
        ("await tools.search({q: 5})", "q", "string"),
        ("await tools.search({q: 'a', limit: 'ten'})", "limit"),
        ("await tools.search({})", "q"),
        ("await tools.search()", "q"),
        ("await tools.search({q: 'a'}, {limit: 1})", "one argument"),
        ("await tools.search({q: 'a', Limit: 1})", "Limit", "limit"),
        ("await tools.search({q: undefined})", "q"),
        ("await tools.search({q: null})", "q"),
        ("await tools.search(['a'])", "tools.search"),
        ("await tools.search({q: ['a', 'b']})", "q"),
        ("await tools.search({q: () => 'a'})", "function"),
        ("await tools.getUser({id: '1x'})", "id"),
        ("await tools.getUser(1)", "tools.getUser({"),
        ("await tools.sqlQuery(`select 1`)", "more items"),
    ),
    *_group(
        "a property that is not there",
        (
            "const hits = await tools.search({q: 'a'}); hits[0].titel.toUpperCase()",
            "titel",
            "title",
        ),
        ("const hits = await tools.search({q: 'a'}); hits[0].titel", "titel", "title"),
        (
            "const hits = await tools.search({q: 'a'}); hits.results.map((h) => h.title)",
            "results",
            "array",
        ),
        ("const hits = await tools.search({q: 'a'}); hits.data", "data", "array"),
        (
            "const hits = await tools.search({q: 'a'}); hits.map((h) => h.name.length)",
            "name",
            "title",
        ),
        ("const hits = await tools.search({q: 'a'}); hits.map((h) => h.titel)", "titel", "title"),
        ("const hits = await tools.search({q: 'a'}); hits[5].title", "hits"),
        (
            "const hits = await tools.search({q: 'a'}); for (const h of hits) console.log(h.url.host)",
            "url",
            "title",
        ),
        ("const user = await tools.getUser({id: 1}); user.adress.city", "adress", "address"),
        ("const user = await tools.getUser({id: 1}); user.address.town.length", "town", "city"),
        ("const user = await tools.getUser({id: 1}); user.emails[0]", "emails", "name"),
        ("const {titel} = (await tools.search({q: 'a'}))[0]; titel.length", "titel"),
        (
            "const text = await tools.readFile({path: 'a'}); text.lines.map((l) => l)",
            "lines",
            "string",
        ),
        (
            "const text = await tools.readFile({path: 'a'}); text.content.split('x')",
            "content",
            "string",
        ),
        ("const text = await tools.readFile({path: 'a'}); text.map((l) => l)", "map"),
        ("const rows = await tools.sqlQuery({sql: 'x'}); rows[0].Name.trim()", "Name", "name"),
        ("const rows = await tools.sqlQuery({sql: 'x'}); rows.rows.length", "rows", "array"),
        (
            "const rows = await tools.sqlQuery({sql: 'x'}); rows.forEach((r) => console.log(r.title.length))",
            "title",
            "name",
        ),
        ("(await tools.search({q: 'a'})).then((r) => r.length)", "then"),
    ),
    *_group(
        "a misspelt variable",
        ("const rows = [1]; rowz.length", "rowz", "rows"),
        ("const total = 5; Total + 1", "Total", "total"),
        ("const items = [1]; itmes.map((i) => i)", "itmes", "items"),
        ("undefinedName", "undefinedName is not defined"),
    ),
    *_group(
        "a result that is too long",
        ("await tools.sqlQuery({sql: 'x'})", "more items", "2999"),
        ("JSON.stringify(await tools.sqlQuery({sql: 'x'}))", "more items", "2999"),
        ("({rows: await tools.sqlQuery({sql: 'x'}), page: 1})", "more items", "page: 1"),
        ("'x'.repeat(50000)", "truncated"),
        ("({note: 'x'.repeat(50000), next: 2})", "more characters", "next: 2"),
        (
            "for (let i = 0; i < 5000; i++) console.log('line ' + i)",
            "line 0",
            "truncated",
            "line 4999",
        ),
        (
            "console.log(JSON.stringify(await tools.sqlQuery({sql: 'x'}))); 'printed'",
            "truncated",
            "printed",
        ),
        ("new Map((await tools.sqlQuery({sql: 'x'})).map((r) => [r.id, r]))", "more entries"),
        (
            "Object.fromEntries((await tools.sqlQuery({sql: 'x'})).map((r) => ['k' + r.id, r]))",
            "more keys",
        ),
    ),
    *_group(
        "an error that is caught",
        ("try { await tools.save({text: 'x'}) } catch (e) { throw e }", _FULL, "tools.save"),
        (
            "try { await tools.save({text: 'x'}) } catch (e) { throw new Error('upload failed', {cause: e}) }",
            "upload failed",
            _FULL,
        ),
        ("try { await tools.save({text: 'x'}) } catch (e) { e }", _FULL),
        ("await tools.save({text: 'x'}).catch((e) => e.message)", _FULL),
        ("(await Promise.allSettled([tools.save({text: 'x'})]))[0].reason", _FULL),
    ),
    *_group(
        "a loop or a wait without end",
        ("await sleep(10); 1", "await new Promise((resolve) => setTimeout(resolve, ms)) waits"),
        ("setTimeout(() => tools.save({text: 'x'}), 10); 'ok'", "did not fire", "await a promise"),
        ("while (true) {}", "Timeout"),
        ("await new Promise(() => {})", "nothing can settle"),
        ("let s = 'x'; for (;;) s += s", "<error"),
        ("function f() { return f() } f()", "RangeError"),
        ("setTimeout(() => console.log('late'), 60000); 'set'", "still pending"),
    ),
    *_group(
        "values that cannot be shown or sent",
        ("() => tools.search({q: 'a'})", 'kind="handle"'),
        ("tools.search", "<notice>", "was not called: write await tools.search(…)"),
        ("return tools.sqlQuery", "<notice>", "was not called: write await tools.sqlQuery(…)"),
        ("async () => { return await tools.search({q: 'a'}) }", "await (async () => { … })()"),
        ("() => 5", "none of its code has run: call it, as in (() => { … })()"),
        ("const a = {}; a.self = a; JSON.stringify(a)", "TypeError"),
        ("JSON.stringify({big: 10n})", "BigInt"),
        ("await tools.search({q: 'a', limit: 5n})", "<result>"),
        ("await tools.search({q: Symbol('x')})", "symbol"),
        ("JSON.parse(\"{'a': 1}\")", "SyntaxError"),
        ("JSON.parse('<html>')", "SyntaxError", "JSON"),
        ("null.length", "TypeError"),
    ),
    *_group(
        "declarations",
        ("const a = 1; a = 2", "const"),
        ("let a = 1; let a = 2", "already been declared"),
        ("console.log(later); let later = 1", "later"),
        ("const x", "SyntaxError"),
        ("function main() { return 5 }\nmain()", "<result>5</result>"),
        ("const rows = [1, 2, 3\nrows.length", "SyntaxError"),
        ("if (1 = 1) 'x'", "SyntaxError"),
    ),
)
