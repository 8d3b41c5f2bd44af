"""Attacks on the resolution of modules, permissions, helper objects and the connection.

An attack returns `reached` and more if it gets anything that it must not have. Whatever it does,
the host goes on, the secret stays outside, and the session's next cell works.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernels import take_over

from interpstack import InterpreterStack, Limits, Outcome, Session
from interpstack_node.engine import NodeEngine

SECRET = "hunter2-of-the-host"

_PACKAGES: dict[str, tuple[dict[str, object], str]] = {
    "up-main": ({"main": "../../../outside/secret.js"}, ""),
    "up-exports": ({"exports": "./../../../outside/secret.js"}, ""),
    "up-pattern": ({"exports": {"./*": "./*"}}, ""),
    "up-imports": (
        {"imports": {"#x": "./../../../outside/secret.js"}},
        "module.exports = require('#x')",
    ),
    "abs-main": ({"main": "/OUTSIDE/secret.js"}, ""),
    "requires-up": ({}, "module.exports = require('../../../outside/secret.js')"),
    "requires-abs": ({}, "module.exports = require('/OUTSIDE/secret.js')"),
    "requires-file": ({}, "module.exports = require('file:///OUTSIDE/secret.js')"),
    "creates": ({}, "module.exports = require('module').createRequire('/')('/OUTSIDE/secret.js')"),
    "gives": ({}, "module.exports = {require, module, process, self: this}"),
    "json-bomb": ({"exports": {"a": {"b": {"c": {"d": "./index.js"}}}}}, ""),
    "proto": ({"exports": {"__proto__": "./index.js", "constructor": "./index.js"}}, ""),
}

_MODULES = {
    "parent": "await import('../outside/secret.mjs')",
    "parent of a folder": "await import('./sub/../../outside/secret.mjs')",
    "absolute": "await import('OUTSIDE/secret.mjs')",
    "address": "await import('file://OUTSIDE/secret.mjs')",
    "escaped address": "await import('file://OUTSIDE/%73ecret.mjs')",
    "escaped dots": "await import('./%2e%2e/outside/secret.mjs')",
    "escaped slash": "await import('./..%2foutside%2fsecret.mjs')",
    "backslashes": "await import('.\\\\..\\\\outside\\\\secret.mjs')",
    "link": "await import('./link.mjs')",
    "linked folder": "await import('./linked/secret.mjs')",
    "linked package": "await import('linked/secret.mjs')",
    "manifest leads up": "await import('up-main')",
    "exports lead up": "await import('up-exports')",
    "pattern leads up": "await import('up-pattern/../../../outside/secret.js')",
    "own names lead up": "await import('up-imports')",
    "absolute main": "await import('abs-main')",
    "package requires its parent": "await import('requires-up')",
    "package requires a path": "await import('requires-abs')",
    "package requires an address": "await import('requires-file')",
    "a require of its own": "await import('creates')",
    "prototype as an export": "await import('proto/__proto__').then(() => 'reached')",
    "no walk up": "await import('above')",
    "text as code": "await import('data:text/javascript,export default 1').then(() => 'reached')",
    "query": "await import('./../outside/secret.mjs?x')",
    "resolve tells nothing": "import.meta.resolve('../outside/secret.mjs')",
    "passwd as a module": "await import('/etc/passwd')",
    "device": "await import('/dev/stdin')",
    "promise of evaluated text": (
        "const late = eval(`import('fs')`); late.catch(() => 0); "
        "late.constructor === Promise ? 'own' : 'reached'"
    ),
    "promise of a made function": (
        "const late = new Function(`return import('fs')`)(); late.catch(() => 0); "
        "late instanceof Promise ? 'own' : 'reached'"
    ),
}

_PERMISSIONS = {
    "read": "(await import('fs')).readFileSync('OUTSIDE/secret.txt', 'utf8')",
    "read later": "await (await import('fs/promises')).readFile('OUTSIDE/secret.txt', 'utf8')",
    "stream": (
        "for await (const part of (await "
        "import('fs')).createReadStream('OUTSIDE/secret.txt')) `${part}`"
    ),
    "list": "(await import('fs')).readdirSync('OUTSIDE').join() && 'reached'",
    "sources": (
        "(await import('fs')).readFileSync(import.meta.dirname + '/plain.mjs').length && 'reached'"
    ),
    "environment file": "(await import('fs')).readFileSync('/proc/self/environ', 'utf8')",
    "parent's environment": (
        "(await import('fs')).readFileSync('/proc/1/environ').length && 'reached'"
    ),
    "link from scratch": (
        "const fs = await import('fs'), t = (await import('os')).tmpdir(); "
        "fs.symlinkSync('OUTSIDE', t + '/l'); fs.readFileSync(t + '/l/secret.txt', "
        "'utf8')"
    ),
    "hard link": (
        "const fs = await import('fs'), t = (await import('os')).tmpdir(); "
        "fs.linkSync('OUTSIDE/secret.txt', t + '/h'); fs.readFileSync(t + '/h', 'utf8')"
    ),
    "copy": (
        "const fs = await import('fs'), t = (await import('os')).tmpdir(); "
        "fs.copyFileSync('OUTSIDE/secret.txt', t + '/c'); fs.readFileSync(t + '/c', "
        "'utf8')"
    ),
    "rename": (
        "const fs = await import('fs'), t = (await import('os')).tmpdir(); "
        "fs.renameSync('OUTSIDE/secret.txt', t + '/c'); 'reached'"
    ),
    "dots from scratch": (
        "const fs = await import('fs'), t = (await import('os')).tmpdir(); "
        "fs.readFileSync(t + '/../../OUTSIDE/secret.txt', 'utf8')"
    ),
    "write": "(await import('fs')).writeFileSync('OUTSIDE/new.txt', 'x'); 'reached'",
    "remove": "(await import('fs')).rmSync('OUTSIDE/secret.txt'); 'reached'",
    "machine": (
        "const os = await import('os'); "
        "[os.hostname(), os.userInfo().username, os.homedir()].join() "
        "!== 'localhost,user,/' && 'reached'"
    ),
    "program by a package": (
        "(await import('gives')).require('child_process').execSync('id') && 'reached'"
    ),
    "thread by a package": (
        "new ((await import('gives')).require('worker_threads').Worker)('1', {eval: "
        "true}) && 'reached'"
    ),
    "connection by a package": "(await import('gives')).require('net').connect(80) && 'reached'",
    "descriptor written": (
        "const fs = await import('fs'); for (let fd = 0; fd < 40; fd++) "
        "fs.writeSync(fd, 'x'); 'reached'"
    ),
    "descriptor as a path": (
        "const fs = await import('fs'); for (let fd = 0; fd < 40; fd++) "
        "fs.writeFileSync(fd, 'x'); 'reached'"
    ),
    "descriptor by replaced methods": (
        "Array.prototype.includes = String.prototype.endsWith = () => false;"
        "Array.prototype[Symbol.iterator] = function* () {};"
        "const fs = await import('fs'); fs.writeSync || fs.ReadStream ? 'reached' : 1"
    ),
    "descriptor read": "(await import('fs')).readFileSync(3) && 'reached'",
    "descriptor of a stream": "(await import('fs')).createReadStream(null, {fd: 3}) && 'reached'",
    "handle of a file": "(await (await import('fs/promises')).open(t)).constructor && 'reached'",
    "engine by crypto": "(await import('crypto')).setEngine('OUTSIDE/x.so'); 'reached'",
}

_OBJECTS = {
    "function of Buffer": "Buffer.constructor('return process')() && 'reached'",
    "function of events": (
        "(await import('events')).default.constructor('return process')() && 'reached'"
    ),
    "async function": (
        "(async () => {}).constructor; (await "
        "import('fs/promises')).readFile.constructor('return process')() && 'reached'"
    ),
    "this of an emitter": (
        "const {EventEmitter: E} = await import('events'); let got; E.prototype.emit = "
        "function () { got = this; return true }; setTimeout(() => {}, 1); await new "
        "Promise((r) => setTimeout(r, 5)); got?.binding && 'reached'"
    ),
    "stand-in of process": "(await import('gives')).process.binding('spawn_sync') && 'reached'",
    "exit": "(await import('gives')).process.exit(0); 'reached'",
    "environment": "Object.keys((await import('gives')).process.env).length && 'reached'",
    "main module": "(await import('gives')).require.main?.require && 'reached'",
    "module constructor": "(await import('gives')).module.constructor._load && 'reached'",
    "this of a package": "(await import('gives')).self.process && 'reached'",
    "frozen Buffer": (
        "Buffer.from = () => 1; Buffer.prototype.utf8Slice = () => 'x'; "
        "Buffer.from('ab').toString() !== 'ab' && 'reached'"
    ),
    "replaced JSON": (
        "JSON.parse = () => ({}); JSON.stringify = () => '{}'; await import('fs'); 'fine'"
    ),
    "replaced promise": "Promise.prototype.then = () => {}; 'fine'",
    "polluted prototype": "Object.prototype.code = 'x'; 'fine'",
    "trap in a specifier": (
        "await import({toString() { throw globalThis.process ?? new Error('no') }})"
    ),
    "getter on exports": (
        "Object.defineProperty((await import('gives')).module, 'exports', {get() { "
        "return 'x' }}); 'fine'"
    ),
    "prepareStackTrace": (
        "Error.prepareStackTrace = (e, f) => f; try { (await "
        "import('fs')).readFileSync('/x') } catch (e) { Array.isArray(e.stack) && "
        "e.stack[0].getFunction?.() && 'reached' }"
    ),
    "inspect hook": (
        "(await import('util')).inspect({[Symbol.for('nodejs.util.inspect.custom')](d, "
        "o) { return o.constructor.constructor('return process')() }}) && 'reached'"
    ),
    "async hooks": "(await import('async_hooks')).createHook && 'reached'",
    "call sites": "(await import('util')).getCallSites?.().some((s) => s.getFunction) && 'reached'",
}

#: Code of a kernel whose program the guest has taken over; it runs in place of a cell's beginning.
_TRANSPORT = {
    "an end": 'send(\'Z\', \'{"stopped":false,"seen":0,"heap":1,"external":1}\'); for (;;);',
    "a result": "send('D', '{}'); send('V', '{}'); send('Z', 'x');",
    "a line in pieces": "for (let i = 0; i < 1e5; i++) send('P', 'x');",
    "values": 'send(\'V\', \'{"n": {"$": "nonsense"}}\');',
    "a question for a file": (
        "send('N', '[\"source\", \"\", \"file://OUTSIDE/secret.mjs\"]'); send('P', receive());"
    ),
    "a question by a stranger": (
        'send(\'N\', \'["require", "file://OUTSIDE/secret.js", "./secret.js"]\'); '
        "send('P', receive());"
    ),
    "a question of another kind": "send('N', '[\"write\", \"\", \"x\"]'); send('P', receive());",
    "a malformed question": "send('N', '[1]'); receive();",
    "a question of no end": "send('N', '[\"has\", \"\", \"' + 'x'.repeat(1e6) + '\"]'); receive();",
    "kinds of the host": "send('m', 'x'); send('c', '[]'); send('r', '[]');",
    "no answer": "receive();",
    "an early end": "process.reallyExit(0);",
}

_ALL = {
    f"{family}/{name}": source
    for family, attacks in (
        ("modules", _MODULES),
        ("permissions", _PERMISSIONS),
        ("objects", _OBJECTS),
    )
    for name, source in attacks.items()
}


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("attacked")
    outside, work = root / "outside", root / "work"
    (outside / "sub").mkdir(parents=True)
    (outside / "secret.txt").write_text(SECRET, "utf-8")
    (outside / "secret.mjs").write_text(f"export default '{SECRET}'", "utf-8")
    (outside / "secret.js").write_text(f"module.exports = '{SECRET}'", "utf-8")
    packages = work / "node_modules"
    for name, (about, source) in _PACKAGES.items():
        folder = packages / name
        folder.mkdir(parents=True)
        text = json.dumps(about).replace("/OUTSIDE", str(outside))
        (folder / "package.json").write_text(text, "utf-8")
        (folder / "index.js").write_text(source.replace("/OUTSIDE", str(outside)), "utf-8")
    above = root / "node_modules" / "above"
    above.mkdir(parents=True)
    (above / "index.js").write_text(f"module.exports = '{SECRET}'", "utf-8")
    (work / "plain.mjs").write_text("export default 1", "utf-8")
    (work / "sub").mkdir()
    (work / "link.mjs").symlink_to(outside / "secret.mjs")
    (work / "linked").symlink_to(outside)
    (packages / "linked").symlink_to(outside)
    return outside


@pytest.fixture(scope="module")
def stack(outside: Path) -> Iterator[InterpreterStack]:
    engine = NodeEngine(working_dir=outside.parent / "work", scratch=True, grace_seconds=0.5)
    limits = Limits(cpu_seconds=2, wall_seconds=30)  # a loaded machine starts Node slowly
    with InterpreterStack(engine, ["console"], limits=limits) as opened:
        yield opened


def test_there_are_enough() -> None:
    assert len(_ALL) + len(_TRANSPORT) >= 60


@pytest.mark.parametrize("name", _ALL)
async def test_attack(session: Session, outside: Path, name: str) -> None:
    assert (await session.eval("let n = 1")).error is None
    outcome = await session.eval(_ALL[name].replace("OUTSIDE", str(outside)))
    await _check(session, outside, outcome)


@pytest.mark.parametrize("name", _TRANSPORT)
async def test_attack_on_the_connection(
    monkeypatch: pytest.MonkeyPatch, outside: Path, name: str
) -> None:
    take_over(monkeypatch, _TRANSPORT[name].replace("OUTSIDE", str(outside)))
    engine = NodeEngine(working_dir=outside.parent / "work", grace_seconds=0.5)
    limits = Limits(cpu_seconds=2, wall_seconds=3)
    with InterpreterStack(engine, ["console"], limits=limits) as stack, stack.session() as session:
        await session.eval("let n = 1")
        await _check(session, outside, await session.eval("'attack'"))


async def _check(session: Session, outside: Path, outcome: Outcome) -> None:
    """Nothing was reached, and the session's next cell works."""
    seen = f"{outcome.text} {outcome.console} {outcome.error}"
    assert SECRET not in seen
    assert "reached" not in outcome.text, seen
    after = await session.eval("n + 1")
    if after.error is not None:  # what the attack left behind ended its process
        after = await session.eval("n + 1")
    assert after.text == "2", after.error
    assert (outside / "secret.txt").read_text("utf-8") == SECRET
    assert not (outside / "new.txt").exists()
