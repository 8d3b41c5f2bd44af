"""Imports of cells: local files, built-in modules, packages, and the host's loaders beside them."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import pytest

from interpstack import InterpreterStack, Limits, ModuleBundle, Session, hookimpl
from interpstack.contracts.modules import ModuleLoader
from interpstack_node.engine import NodeEngine
from interpstack_node.kernels.waiting import KernelWait
from interpstack_node.modules.questions import ModuleQuestions


class _Loader:
    """A module loader of the host."""

    @hookimpl
    def interpstack_resolve_module(self, specifier: str) -> ModuleLoader | None:
        async def load() -> ModuleBundle:
            return ModuleBundle("@/own/a.js", {"@/own/a.js": "export const own = 1"})

        return load if specifier == "@/own" else None


_PACKAGES = {
    "cjs": "exports.named = 1; exports.self = () => require('./index.js') === exports;",
    "wide": "module.exports = {cwd: process.cwd(), env: process.env, dir: __dirname.length > 0};",
    "prints": "process.stdout.write('from a package\\n'); module.exports = 1;",
    "throws": "throw new TypeError('on purpose')",
    "spawns": "exports.run = () => require('child_process').execSync('true')",
    "makes": "exports.r = require('module').createRequire(__filename)",
    "request": "exports.get = () => require('http').get('http://localhost')",
    "cycle": "exports.early = 1; exports.other = require('cycle2').seen; ",
    "cycle2": "exports.seen = require('cycle').early",
    "listed": "module.exports = require('./data.json').list",
    "loops": "for (;;);",
    "esm": "import {named} from 'cjs'; import process from 'node:process'; export default named",
    "bare": "export const platform = typeof process.platform",
    "waits": "export default await 1",
    "requires-esm": "exports.got = require('esm-only'); exports.again = require('esm-only')",
    "esm-only": "import {named} from 'cjs'; export default 7; export const also = named",
    "renamed": "module.exports = require('esm-renamed')",
    "esm-renamed": "export default 1; const whole = {a: 1}; export {whole as 'module.exports'}",
    "round": "module.exports = require('esm-round')",
    "esm-round": "import round from 'round'; export default round",
    "optional": "try { require('missing') } catch (error) { exports.code = error.code }",
    "reads": "exports.read = (path) => require('fs').readFileSync(path, 'utf8'); "
    "exports.own = JSON.parse(exports.read(__dirname + '/package.json')).name; "
    "exports.there = (path) => require('fs').existsSync(path)",
    "lists": "exports.list = (path, options) => require('fs').readdirSync(path, options)",
    # As loaders of addons look for the build of this system, and as they tell that there is none.
    "looks": "const fs = require('fs'), path = require('path');"
    "const folder = path.join(__dirname, 'builds');"
    "const [found] = fs.readdirSync(folder).filter((name) => name.endsWith('.node'));"
    "module.exports = require(path.join(folder, found))",
    "guesses": "const causes = []; for (const name of ['./a.node', './missing.js'])"
    "{ try { require(name) } catch (error) { causes.push(error) } };"
    "const copy = (cause, {message}) => Object.assign(new Error(message), {cause});"
    "const whole = causes.reduce(copy, null);"
    "throw Object.assign(new Error('no build was found; install again'), {cause: whole})",
    "fails": "try { require('./a.node') } catch {} throw new TypeError('another reason')",
    "shared": "exports.has = 'byteLength' in SharedArrayBuffer.prototype; "
    "exports.make = () => new SharedArrayBuffer(8)",
    "both": "import {createRequire} from 'module'; export default createRequire(import.meta.url)",
}
_MODULES = ("esm", "bare", "both", "waits", "esm-only", "esm-renamed", "esm-round")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    for name, source in _PACKAGES.items():
        package = folder / "node_modules" / name
        package.mkdir(parents=True)
        about = {"type": "module"} if name in _MODULES else {}
        (package / "package.json").write_text(json.dumps(about), "utf-8")
        (package / "index.js").write_text(source, "utf-8")
    builds = folder / "node_modules" / "looks" / "builds"
    builds.mkdir()
    for addon in ("guesses/a.node", "fails/a.node", "looks/builds/x.node"):
        (folder / "node_modules" / addon).write_bytes(b"\x7fELF")
    (folder / "node_modules" / "listed" / "data.json").write_text('{"list": [1, 2]}', "utf-8")
    return folder


@pytest.fixture(scope="module")
def stack(work: Path) -> Iterator[InterpreterStack]:
    limits = Limits(cpu_seconds=30, wall_seconds=120)
    engine = NodeEngine(working_dir=work)
    with InterpreterStack(engine, ["console", _Loader()], limits=limits) as opened:
        yield opened


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("import {named} from 'cjs'; named", "1"),
        ("import cjs from 'cjs'; cjs.self()", "true"),
        ("import * as all from 'cjs'; Object.keys(all).sort().join()", "default,named,self"),
        ("import w from 'wide'; [w.cwd === import.meta.dirname, w.env, w.dir]", "[true, {}, true]"),
        ("import listed from 'listed'; listed", "[1, 2]"),
        ("import c from 'cycle'; c.other", "1"),
        ("import esm from 'esm'; esm", "1"),
        ("import {platform} from 'bare'; platform", "string"),
        ("import make from 'both'; make('cjs').named", "1"),
        ("import r from 'makes'; r.r('path').sep", "/"),
        ("import {join} from 'path'; join('a', 'b')", "a/b"),
        ("import {EventEmitter} from 'node:events'; typeof new EventEmitter().on", "function"),
        ("import {Buffer as B} from 'node:buffer'; B.from('x') instanceof Uint8Array", "false"),
        ("import c from 'node:crypto'; c.createHash('md5').update('').digest('hex')", "d41d8cd98f"),
        ("import os from 'os'; [typeof os.EOL, os.hostname()]", '["string", "localhost"]'),
        ("import os from 'os'; os.cpus().length === os.availableParallelism()", "true"),
        (
            "import {got, again} from 'requires-esm'; "
            "[got === again, got.default, got.also, got.__esModule]",
            "[true, 7, 1, true]",
        ),
        ("import {got} from 'requires-esm'; got.also === (await import('esm-only')).also", "true"),
        ("import r from 'renamed'; r", "{a: 1}"),
        ("await import('round').catch((error) => error.code)", "ERR_REQUIRE_CYCLE_MODULE"),
        ("await import('esm-round').catch((error) => error.code)", "ERR_REQUIRE_CYCLE_MODULE"),
        ("import o from 'optional'; o.code", "MODULE_NOT_FOUND"),
        ("import r from 'reads'; [r.there('/etc/passwd'), r.there('/')]", "[false, false]"),
        (
            "import r from 'reads'; try { r.read('/etc/passwd') } catch (error) { error.code }",
            "ENOENT",
        ),
        ("import s from 'shared'; s.has", "true"),
        ("import t from 'timers/promises'; await t.setTimeout(5, 'late')", "late"),
        (
            "import t from 'timers/promises'; const stop = new AbortController(); "
            "const late = t.setTimeout(60_000, 1, {signal: stop.signal}); stop.abort('enough'); "
            "await late.catch((error) => [error.name, error.code, error.cause])",
            '["AbortError", "ABORT_ERR", "enough"]',
        ),
        (
            "import t from 'timers/promises'; "
            "await t.scheduler.wait(60_000, {signal: AbortSignal.abort()}).catch((e) => e.name)",
            "AbortError",
        ),
        (
            "import t from 'timers/promises'; "
            "await t.setTimeout(5, 1, {signal: 1}).catch((error) => error.code)",
            "ERR_INVALID_ARG_TYPE",
        ),
        (
            "import t from 'timers/promises'; let n = 0; "
            "for await (const each of t.setInterval(1, 2)) if ((n += each) > 5) break; n",
            "6",
        ),
        ("import u from 'util'; await u.promisify(setTimeout)(5, 'late')", "late"),
        ("import u from 'util'; await u.promisify(setImmediate)('soon')", "soon"),
        ("structuredClone({a: Buffer.from('abc').subarray(1)}).a", "Uint8Array(2) [98, 99]"),
        (
            "import c from 'crypto'; "
            "structuredClone(await c.subtle.digest('SHA-256', Buffer.from('a'))).byteLength",
            "32",
        ),
        ("import {own} from '@/own'; own", "1"),
        ("import.meta.main && import.meta.filename.endsWith('.mjs')", "true"),
        ("import.meta.url.startsWith('file:///')", "true"),
        ("(await import(import.meta.resolve('cjs'))).named", "1"),
        ("import.meta.resolve('path')", "node:path"),
        ("(await import('cjs')) === (await import('cjs'))", "true"),
    ],
)
async def test_imports(session: Session, source: str, text: str) -> None:
    outcome = await session.eval(source)
    assert outcome.error is None, outcome.error
    assert outcome.text.startswith(text)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import 'process'", 'Importing module "process" is not allowed'),
        ("import 'node:sqlite'", 'Importing module "node:sqlite" is not allowed'),
        ("import 'sqlite'", "there is no module 'sqlite' to import"),
        ("import 'node:nope'", "Module not found: node:nope"),
        ("import 'node:node:fs'", "Module not found: node:node:fs"),
        ("import 'NODE:path'", 'Unsupported import specifier "NODE:path"'),
        ("import.meta.resolve('vm')", 'Importing module "vm" is not allowed'),
        ("await import('node:module')", 'Importing module "node:module" is not allowed'),
        ("import http from 'http'", 'Importing module "http" is not allowed'),
        ("import './missing.js'", "Module not found: ./missing.js"),
        ("import 'throws'", "on purpose"),
        ("import {run} from 'spawns'; run()", 'Using module "node:child_process" is not allowed'),
        ("import {r} from 'makes'; r('vm').runInThisContext('1')", 'Using module "node:vm"'),
        ("import {r} from 'makes'; r('/etc/passwd')", "Cannot find module '/etc/passwd'"),
        ("import {r} from 'makes'; r('waits')", "which awaits at its top level; use import()"),
        ("import {get} from 'request'; get()", 'Using module "node:http" is not allowed'),
        ("import {absent} from 'cjs'", "has no export 'absent'"),
        ("import fs from 'fs'; fs.readFileSync('/etc/passwd')", 'module "fs" is not allowed'),
    ],
)
async def test_refused_imports(session: Session, source: str, message: str) -> None:
    error = (await session.eval(source)).error
    assert error is not None
    assert message in error.message


async def test_a_local_file_is_read_again_by_the_next_cell(session: Session, work: Path) -> None:
    file = work / "edited.mjs"
    file.write_text("export const n = 1; export const {main, filename} = import.meta", "utf-8")
    source = "const [a, b] = [await import('./edited.mjs'), await import('./edited.mjs')];"
    same = await session.eval(f"{source} [a === b, a.n, a.main, a.filename.endsWith('edited.mjs')]")
    assert same.text == "[true, 1, false, true]"
    file.write_text("export const n = ;", "utf-8")
    assert (await session.eval("await import('./edited.mjs')")).error is not None
    file.write_text("export const n = 2", "utf-8")
    assert (await session.eval("(await import('./edited.mjs')).n")).text == "2"


async def test_a_local_file_shares_the_realm(session: Session, work: Path) -> None:
    file = work / "shares.mjs"
    source = "import {named} from 'cjs'; console.log('file', named); export default [secret, Array]"
    file.write_text(source, "utf-8")
    cell = "globalThis.secret = 7; const f = (await import('./shares.mjs')).default;"
    outcome = await session.eval(f"{cell} [f[0], f[1] === Array]")
    assert (outcome.text, outcome.console) == ("[7, true]", "file 1")


async def test_what_a_package_prints_is_console_output(session: Session) -> None:
    outcome = await session.eval("import 'prints'")
    assert outcome.console == "from a package"


async def test_work_of_node_is_waited_for(session: Session) -> None:
    source = "import z from 'zlib'; import {promisify} from 'util';"
    outcome = await session.eval(f"{source} (await promisify(z.gzip)('hello')).length > 0")
    assert outcome.text == "true", outcome.error
    error = (await session.eval("await new Promise(() => {})")).error
    assert error is not None
    assert error.name == "Deadlock"


async def test_an_error_in_a_callback_of_node_is_the_cells(session: Session) -> None:
    source = "import c from 'crypto'; await new Promise(() => c.randomBytes(8, () => { boom(); }))"
    error = (await session.eval(source)).error
    assert error is not None
    assert error.message.startswith("boom is not defined")
    assert (await session.eval("1 + 1")).text == "2"


async def test_a_package_that_never_ends_is_stopped(work: Path) -> None:
    limits = Limits(cpu_seconds=0.5, wall_seconds=60)
    engine = NodeEngine(working_dir=work)
    with InterpreterStack(engine, limits=limits) as stack, stack.session() as session:
        await session.eval("let n = 1")
        error = (await session.eval("n = 2; await import('loops')")).error
        assert error is not None
        assert error.name == "Timeout"
        assert (await session.eval("n")).error is None


@pytest.mark.parametrize(
    "name", ["fs", "./absent.js", "node:net", "http://a.test/", "data:text/javascript,1"]
)
def test_imports_may_be_refused_one_after_the_other(stack: InterpreterStack, name: str) -> None:
    refused = f"for (let i = 0; i < 40; i++) await import('{name}').catch(() => n++); n"
    with stack.session("a") as session:
        assert session.eval_sync("function kept() { return 1 }").error is None
        outcome = session.eval_sync(f"let n = 0; {refused}")
        assert (outcome.text, outcome.error) == ("40", None)
        assert session.eval_sync("kept()").text == "1"


def test_imports_are_refused_after_a_wait_for_node(stack: InterpreterStack) -> None:
    source = (
        "const {gzip} = await import('node:zlib'); let n = 0; for (let i = 0; i < 3; i++) {"
        " await new Promise((done) => gzip('a', done));"
        " for (let j = 0; j < 5; j++) await import('./absent.js').catch(() => n++); } n"
    )
    with stack.session("b") as session:
        assert session.eval_sync(source).text == "15"


async def test_a_package_of_many_files_needs_few_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "node_modules" / "many"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"type": "module", "main": "index.js"}', "utf-8")
    index = ""
    for number in range(100):
        (package / f"m{number}.js").write_text(f"export default {number};", "utf-8")
        index += f"export {{ default as m{number} }} from './m{number}.js';\n"
    (package / "index.js").write_text(index, "utf-8")
    asked: list[str] = []
    original = ModuleQuestions.answer

    def answer(
        self: ModuleQuestions, question: Sequence[str]
    ) -> Generator[KernelWait | None, None, str]:
        asked.append(question[0])
        return original(self, question)

    monkeypatch.setattr(ModuleQuestions, "answer", answer)
    with InterpreterStack(NodeEngine(module_dirs=[tmp_path])) as stack:
        for name in ("one", "two"):
            outcome = await stack.session(name).eval("(await import('many')).m99")
            assert outcome.text == "99"
    assert asked == ["has", "import", "graph"] * 2


async def test_a_native_addon_that_a_loader_looks_for_is_refused(session: Session) -> None:
    for name in ("looks", "guesses"):
        caught = f"try {{ await import('{name}') }} catch (e) {{ [e.name, e.code, e.message] }}"
        text = (await session.eval(caught)).text
        assert text.startswith('["ModuleNotFound", "ERR_DLOPEN_DISABLED", "Native addons are not')
    error = (await session.eval("await import('fails')")).error
    assert error is not None
    assert (error.name, error.message) == ("TypeError", "another reason")


async def test_a_package_lists_folders_of_packages_only(session: Session, work: Path) -> None:
    await session.eval("const {list} = (await import('lists')).default;")
    own = work / "node_modules" / "looks"
    assert (await session.eval(f"list({json.dumps(str(own))}).join()")).text == (
        "builds,index.js,package.json"
    )
    for path in (work, work.parent, "/", "/etc", own / "index.js", own / "...", own / "../../.."):
        error = (await session.eval(f"list({json.dumps(str(path))})")).error
        assert error is not None
        assert error.message.startswith("ENOENT")
    for options in ("{withFileTypes: true}", "{recursive: true}"):
        error = (await session.eval(f"list({json.dumps(str(own))}, {options})")).error
        assert error is not None
        assert error.message == 'Using module "node:fs" is not allowed'
