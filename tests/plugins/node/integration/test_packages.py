"""Real packages from npm, unchanged, and a native addon that is refused."""

from __future__ import annotations

from collections.abc import Iterator

import npm_packages
import pytest

from interpstack import InterpreterStack, Limits, Session
from interpstack_node.engine import NodeEngine

_ADDON = "@node-rs/crc32-linux-x64-gnu"


@pytest.fixture(scope="module")
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    folder = npm_packages.installed(request.config.cache)
    limits = Limits(cpu_seconds=60, wall_seconds=200)
    engine = NodeEngine(module_dirs=[folder])
    with InterpreterStack(engine, ["console"], limits=limits) as stack, stack.session() as opened:
        yield opened


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("import {chunk} from 'lodash-es'; chunk([1, 2, 3], 2)", "[[1, 2], [3]]"),
        ("(await import('lodash-es/chunk.js')).default([1, 2], 1)", "[[1], [2]]"),
        ("import {z} from 'zod'; z.object({n: z.number()}).parse({n: 1, m: 2})", "{n: 1}"),
        (
            "import {z} from 'zod'; const bad = z.string().safeParse(1);"
            "[bad.success, bad.error instanceof Error]",
            "[false, true]",
        ),
        (
            "import {format, addDays} from 'date-fns';"
            "format(addDays(new Date(2024, 0, 31), 1), 'yyyy-MM-dd')",
            "2024-02-01",
        ),
        ("import * as d from 'date-fns/locale/de'; d.de.code", "de"),
        ("import {load} from 'cheerio'; load('<ul><li>a<li class=b>c</ul>')('.b').text()", "c"),
    ],
)
async def test_packages_run_unchanged(session: Session, source: str, text: str) -> None:
    outcome = await session.eval(source)
    assert outcome.error is None, outcome.error
    assert outcome.text == text


async def test_a_package_with_two_builds_gives_its_import_build(session: Session) -> None:
    outcome = await session.eval("import.meta.resolve('zod')")
    assert outcome.text.endswith("/zod/index.js")
    first = await session.eval("(await import('zod'))[Symbol.toStringTag]")
    assert first.text == "Module"


async def test_a_package_is_loaded_once(session: Session) -> None:
    await session.eval("globalThis.first = await import('zod')")
    assert (await session.eval("first === await import('zod')")).text == "true"


async def test_a_native_addon_is_refused(session: Session) -> None:
    error = (await session.eval(f"await import('{_ADDON}')")).error
    if error is not None and error.message.startswith("there is no module"):
        pytest.skip("npm installs no such addon for this system")
    assert error is not None
    assert error.message == f"Native addons are not allowed: {_ADDON}"
    error = (await session.eval("await import('@node-rs/crc32')")).error
    assert error is not None
    assert error.message == f"Native addons are not allowed: {_ADDON}"


#: Programs that use large packages as their pages show them.
_PROGRAMS = {
    "express": (
        """
        import express from "express";
        const app = express();
        app.use(express.json());
        app.get("/item/:id", (req, res) => res.json({id: req.params.id, q: req.query.q}));
        app.post("/double", (req, res) => res.send(String(req.body.x * 2)));
        const server = app.listen(0, "127.0.0.1");
        await new Promise((done) => server.once("listening", done));
        const at = `http://127.0.0.1:${server.address().port}`;
        const got = await (await fetch(`${at}/item/7?q=z`)).json();
        const headers = {"content-type": "application/json"};
        const posted = await fetch(`${at}/double`, {method: "POST", headers, body: '{"x": 21}'});
        const texts = [got.id, got.q, await posted.text(), (await fetch(`${at}/none`)).status];
        await new Promise((done) => server.close(done));
        texts.join()""",
        "7,z,42,404",
    ),
    "prettier": (
        """
        import * as prettier from "prettier";
        const given = {babel: "const a = {b:1}", typescript: "type A = {b:1}", css: "a{b:c}"};
        const texts = Object.keys(given).map((parser) => prettier.format(given[parser], {parser}));
        (await Promise.all(texts)).join("").replaceAll("\\n", "|")""",
        "const a = { b: 1 };|type A = { b: 1 };|a {|  b: c;|}|",
    ),
    "pino": (
        """
        import pino from "pino";
        const lines = [];
        const stream = {write: (line) => lines.push(line.trim())};
        const log = pino({base: null, timestamp: false}, stream);
        log.info({a: 1}, "hi");
        log.child({m: 2}).warn("w");
        lines.join("|")""",
        '{"level":30,"a":1,"msg":"hi"}|{"level":40,"m":2,"msg":"w"}',
    ),
    "jsdom": (
        """
        import {JSDOM} from "jsdom";
        const {document} = new JSDOM("<p>hi <b>you</b></p>").window;
        document.body.append("!");
        [document.querySelector("b").textContent, document.body.innerHTML].join()""",
        "you,<p>hi <b>you</b></p>!",
    ),
}


@pytest.mark.parametrize("name", _PROGRAMS)
async def test_large_packages_load_and_work(request: pytest.FixtureRequest, name: str) -> None:
    source, text = _PROGRAMS[name]
    folder = npm_packages.installed(request.config.cache)
    limits = Limits(cpu_seconds=60, wall_seconds=200, memory_bytes=2**28)
    engine = NodeEngine(module_dirs=[folder], network=True)
    made = InterpreterStack(engine, ["console"], limits=limits)
    async with made as stack, stack.session() as opened:
        outcome = await opened.eval(source)
    assert outcome.error is None, outcome.error
    assert outcome.text == text
