"""What a guest cannot do, and what it could not do if it got hold of Node itself."""

from __future__ import annotations

import glob
import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from kernels import take_over

from interpstack import EngineFailure, InterpreterStack, Limits, Session
from interpstack_node.engine import NodeEngine
from interpstack_node.kernels.confine import CONFINES
from interpstack_node.kernels.starting.sandbox import choose_sandbox


@pytest.mark.parametrize(
    "source",
    [
        "await import('node:child_process')",
        "await eval(\"import('node:fs')\")",
        "await new Function(\"return import('node:fs')\")()",
        "await (async () => {}).constructor(\"return await import('node:fs')\")()",
        "await import('data:text/javascript,1')",
        "await import('/etc/passwd')",
        "globalThis.constructor.constructor('return process')()",
        "setTimeout.constructor('return process')()",
        "console.log.constructor('return require')()",
        "eval(\"import('fs')\").constructor.constructor('return process')()",
        "await eval(\"import('fs')\").catch((e) => e.constructor.constructor('return process')())",
        "await import('x').catch((e) => e.constructor.constructor('return process')())",
        "(function f() { return f.caller.caller })().constructor('return process')()",
        "(function () { return arguments.callee.caller.arguments })().length",
        "new Proxy({}, {get(t, k, r) { return r; }}).x.constructor.constructor('return process')()",
        "throw new Proxy(new Error('x'), {get() { throw process; }})",
        "throw {get stack() { return process; }, get name() { return process; }}",
        "$interpstack('begin')",
        "process.exit(3)",
        "globalThis.process.binding('spawn_sync')",
        "new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))",
        "new SharedArrayBuffer(8).byteLength",
        "Atomics.wait(new Int32Array(2), 0, 0)",
        "fetch('http://localhost')",
        "new WebSocket('ws://localhost')",
    ],
)
async def test_ways_out_of_the_context(session: Session, source: str) -> None:
    await session.eval("let n = 1")
    outcome = await session.eval(f"{source}\n; 'out'")
    assert outcome.error is not None, outcome.text
    assert outcome.state == "kept"
    assert (await session.eval("n")).text == "1"


#: Collects errors of the kernel's realm: Node formats stack traces in JavaScript of its own, and
#: the error of a stack that overflows there reaches the guest.
_FOREIGN = """
const foreign = [];
function overflow() {
  try { new Error("x").stack } catch (error) { if (!(error instanceof Error)) foreign.push(error); }
  overflow();
}
function deepen(frames) { return frames === 0 ? overflow() : [deepen(frames - 1)]; }
for (let frames = 0; frames < 40; frames++) try { deepen(frames) } catch {}
const open = [];
for (const error of foreign.slice(0, 1)) {
  const found = [];
  for (let each = error; (each = Object.getPrototypeOf(each)); ) found.push(each, each.constructor);
  const functions = Object.getPrototypeOf(error.constructor.toString), OuterObject = found.at(-1);
  found.push(functions, functions.constructor, Object.getPrototypeOf(OuterObject.keys({})));
  for (const each of found) {
    const changed = Reflect.defineProperty(each, "then", {value: 1});
    if (changed || Reflect.set(each, "prepareStackTrace", 1)) open.push(String(each.name));
  }
}
JSON.stringify({foreign: foreign.length > 0, open})
"""


async def test_a_guest_changes_nothing_of_the_realm_whose_errors_reach_it(session: Session) -> None:
    outcome = await session.eval(_FOREIGN)
    assert outcome.error is None, outcome.error
    assert json.loads(outcome.text)["open"] == []


#: Code with all that the kernel's own program has, and how the system or Node refuses it.
_ATTEMPTS = {
    "read": "return require('node:fs').readFileSync('/etc/passwd', 'utf8').length",
    "write": "require('node:fs').writeFileSync('/tmp/escaped', 'x')",
    "list": "return require('node:fs').readdirSync('/')",
    "spawn": "return require('node:child_process').spawnSync('/bin/true').status",
    "spawn without pipes": (
        "return require('node:child_process').spawnSync('/bin/true', {stdio: 'ignore'}).status"
    ),
    "thread": "return new (require('node:worker_threads').Worker)('1', {eval: true}).threadId",
    "addon": "return process.dlopen({exports: {}}, '/lib/x.node')",
    "signal": "return process.kill(process.ppid, 0)",
    "environment": "const {HOME} = process.env; if (HOME) return HOME; throw new Error('empty')",
    "inspector": "return require('node:inspector').open(0)",
    "code from text": "return Function('return 1')()",
    "connect": (
        "return await new Promise((resolve, reject) => {"
        " const s = require('node:net').connect(PORT, '127.0.0.1');"
        " s.on('connect', () => resolve('net')); s.on('error', reject); })"
    ),
    "listen": (
        "return await new Promise((resolve, reject) => {"
        " const s = require('node:net').createServer().listen(0);"
        " s.on('listening', () => resolve('listening')); s.on('error', reject); })"
    ),
}


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


#: Where a kernel may open a scratch file: still out of reach, by the permission model, by the
#: namespaces around the process.
_WITH_SCRATCH = [name for name in _ATTEMPTS if name != "listen"]  # which reaches nobody there


def _sandboxes() -> list[str]:
    try:
        node = NodeEngine().runtime.path
    except EngineFailure:
        return []
    found = []
    for name in ("bubblewrap", "unshare"):
        with suppress(EngineFailure):
            found.append(choose_sandbox(name, node).value)
    return found


@pytest.mark.skipif(not CONFINES, reason="only Linux limits other processes")
@pytest.mark.parametrize("name", _ATTEMPTS)
async def test_the_kernels_own_program_can_do_no_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, listening: int
) -> None:
    (tmp_path / "node_modules").mkdir()
    engine = NodeEngine(sandbox="none", working_dir=tmp_path)
    said = await _attempt(monkeypatch, engine, name, listening)
    assert said.startswith("refused: "), said


@pytest.mark.parametrize("sandbox", _sandboxes())
@pytest.mark.parametrize("name", _WITH_SCRATCH)
async def test_the_kernels_own_program_with_a_scratch_folder_in_a_sandbox(
    monkeypatch: pytest.MonkeyPatch, name: str, listening: int, sandbox: str
) -> None:
    engine = NodeEngine(sandbox=sandbox, scratch=True)
    said = await _attempt(monkeypatch, engine, name, listening)
    assert said.startswith("refused: "), said


async def test_a_scratch_folder_and_a_readable_folder(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("hello", "utf-8")
    engine = NodeEngine(readable=[tmp_path], scratch=True)
    limits = Limits(cpu_seconds=30, wall_seconds=60)
    use = "import fs from 'fs'; import os from 'os'; const own = os.tmpdir() + '/own.txt';"
    with InterpreterStack(engine, limits=limits) as stack, stack.session() as session:
        outcome = await session.eval(
            f"{use} fs.writeFileSync(own, 'x'); fs.readFileSync(own, 'utf8')"
        )
        assert outcome.text == "x", outcome.error
        outcome = await session.eval(f"fs.readFileSync('{tmp_path}/data.txt', 'utf8')")
        assert outcome.text == "hello", outcome.error
        folder = Path((await session.eval("os.tmpdir()")).text)
        assert (folder / "own.txt").read_text("utf-8") == "x"
        outcome = await session.eval("(await fs.promises.readFile(own)).length")
        assert outcome.text == "1", outcome.error
        for refused in (
            f"fs.writeFileSync('{tmp_path}/new.txt', 'x')",
            "fs.readFileSync('/etc/passwd')",
            "fs.symlinkSync('/etc/passwd', own + '.link'); fs.readFileSync(own + '.link')",
            "fs.readFileSync(own + '/../../../etc/passwd')",
        ):
            assert (await session.eval(refused)).error is not None, refused
    assert not glob.glob(str(folder))  # noqa: PTH207


_READS = (
    "fs.readFileSync(PATH, 'utf8')",
    "await fs.promises.readFile(PATH, 'utf8')",
    "await new Promise((y, n) => fs.readFile(PATH, 'utf8', (e, text) => e ? n(e) : y(text)))",
)


@pytest.mark.parametrize("read", _READS)
async def test_a_refused_path_names_the_readable_ones(tmp_path: Path, read: str) -> None:
    engine = NodeEngine(readable=[tmp_path], scratch=True)
    limits = Limits(cpu_seconds=30, wall_seconds=60)
    with InterpreterStack(engine, limits=limits) as stack, stack.session() as session:
        await session.eval("import fs from 'fs'")
        for path, more in (("/etc/passwd", ""), ("data.txt", '; relative paths start at "/", ')):
            error = (await session.eval(read.replace("PATH", repr(path)))).error
            text = f'reading "{path}" is not allowed; code may read: {tmp_path}, os.tmpdir(){more}'
            assert error is not None
            assert error.message.startswith(text), error.message
        error = (await session.eval("fs.writeFileSync('/x.txt', '')")).error
        assert error is not None
        assert error.message == 'writing "/x.txt" is not allowed; code may write: os.tmpdir()'
        kept = await session.eval("try { fs.statSync('/x') } catch (e) { [e.code, e.stack] }")
        assert kept.text.startswith('["ERR_ACCESS_DENIED", "Error: reading \\"/x\\" is not allowed')


@pytest.mark.parametrize("read", _READS)
async def test_relative_paths_start_at_the_working_folder(tmp_path: Path, read: str) -> None:
    (tmp_path / "data.txt").write_text("hello", "utf-8")
    engine = NodeEngine(readable=[tmp_path], working_dir=tmp_path, scratch=True)
    limits = Limits(cpu_seconds=30, wall_seconds=60)
    with InterpreterStack(engine, limits=limits) as stack, stack.session() as session:
        await session.eval("import fs from 'fs'; import os from 'os'")
        outcome = await session.eval(read.replace("PATH", "'./data.txt'"))
        assert outcome.text == "hello", outcome.error
        copied = "const to = os.tmpdir() + '/to.txt'; fs.copyFileSync('data.txt', to)"
        outcome = await session.eval(f"{copied}; fs.readFileSync(to, 'utf8')")
        assert outcome.text == "hello", outcome.error
        outcome = await session.eval("fs.renameSync(to, 'to.txt')")
        assert outcome.error is not None
        assert f"{tmp_path}/to.txt" in outcome.error.message


async def test_a_caught_failure_of_node_lets_its_cell_go_on() -> None:
    """However soon the event loop has no more work."""
    limits = Limits(cpu_seconds=30, wall_seconds=60)
    engine = NodeEngine(network=True)
    with InterpreterStack(engine, limits=limits) as stack, stack.session() as session:
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            fetched = f"fetch('http://127.0.0.1:{deaf.getsockname()[1]}')"
            for _ in range(20):
                outcome = await session.eval(f"await {fetched}.catch((error) => error.cause.code)")
                assert outcome.text == "ECONNREFUSED", outcome.error
        outcome = await session.eval("await new Promise(() => 1)")
        assert outcome.error is not None
        assert outcome.error.name == "Deadlock"


async def test_the_network_is_an_option(listening: int) -> None:
    source = f"""
      import net from 'net';
      await new Promise((resolve, reject) => {{
        const s = net.connect({listening}, '127.0.0.1');
        s.on('connect', () => {{ s.destroy(); resolve('connected'); }});
        s.on('error', reject);
      }})"""
    limits = Limits(cpu_seconds=30, wall_seconds=60)
    engine = NodeEngine(network=True)
    with InterpreterStack(engine, limits=limits) as stack, stack.session() as session:
        outcome = await session.eval(source)
        assert outcome.text == "connected", outcome.error
        assert (await session.eval("typeof fetch + typeof Request")).text == "functionfunction"
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            fetched = f"fetch('http://127.0.0.1:{deaf.getsockname()[1]}')"
            outcome = await session.eval(f"await {fetched}")
            code = await session.eval(f"await {fetched}.catch((error) => error.cause.code)")
        assert outcome.error is not None
        assert "[cause]: Error: connect ECONNREFUSED" in (outcome.error.stack or "")
        assert code.text == "ECONNREFUSED"


async def _attempt(
    monkeypatch: pytest.MonkeyPatch, engine: NodeEngine, name: str, listening: int
) -> str:
    """Run an attempt in the kernel's program, as if a guest had taken it over."""
    body = _ATTEMPTS[name].replace("PORT", str(listening))
    take_over(
        monkeypatch,
        f"""
        let said;
        try {{ said = "reached " + await (async () => {{ {body} }})(); }}
        catch (error) {{ said = "refused: " + (error.code ?? error.message); }}
        send("P", said);
        """,
    )
    heard: list[str] = []
    limits = Limits(cpu_seconds=30, wall_seconds=60)
    with InterpreterStack(engine, ["console"], limits=limits) as stack, stack.session() as session:
        await session.eval("1")
        outcome = await session.eval("'attack'", on_console=heard.append)
    return "".join(heard) or str(outcome.error)
