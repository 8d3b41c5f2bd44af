"""Hostile code with the network: files, sockets of the machine, descriptors, bodies without end."""

from __future__ import annotations

import json
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from interpstack import InterpreterStack, Limits, Session
from interpstack_node.engine import NodeEngine


class _Hostile(BaseHTTPRequestHandler):
    """Answers without end, slowly, packed, or with a link to a file."""

    def do_POST(self) -> None:
        with suppress(OSError):
            while self.rfile.read(65536):
                pass

    def do_GET(self) -> None:
        with suppress(OSError):
            self._answer()

    def _answer(self) -> None:
        if self.path == "/to-file":
            self.send_response(302)
            self.send_header("location", "file:///etc/passwd")
            self.end_headers()
            return
        self.send_response(200)
        if self.path == "/packed":
            self.send_header("content-encoding", "gzip")
        self.end_headers()
        while self.path == "/huge":
            self.wfile.write(b"x" * 2**20)
        while self.path == "/slow":
            self.wfile.write(b"x")
            time.sleep(0.05)
        if self.path == "/packed":
            packing = zlib.compressobj(9, zlib.DEFLATED, 31)
            for _ in range(1000):
                self.wfile.write(packing.compress(bytes(2**20)))
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def hostile() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hostile)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the socket of another program."""
    made = tmp_path_factory.mktemp("s")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(made / "host.sock"))
        listening.listen()
        yield made


@pytest.fixture(scope="module")
def stack() -> Iterator[InterpreterStack]:
    """A stack without namespaces of the system, which would hide files and other programs."""
    engine = NodeEngine(network=True, sandbox="none", grace_seconds=0.5)
    limits = Limits(cpu_seconds=3, wall_seconds=6)
    with InterpreterStack(engine, ["console"], limits=limits) as opened:
        yield opened


@pytest.fixture
def session(stack: InterpreterStack, hostile: str, folder: Path) -> Iterator[Session]:
    with stack.session() as opened:
        names = f"let n = 1; const U = {json.dumps(hostile)}, D = {json.dumps(str(folder))};"
        assert opened.eval_sync(f"{names} import net from 'net'").ok
        yield opened


_ENDED = (
    "await new Promise((yes, no) => {{ {}.on('connect', () => yes('reached')).on('error', no) }})"
)
#: Code, and what its error says.
_REFUSED = {
    "a file": ("await (await fetch('file:///etc/passwd')).text()", "fetch failed"),
    "a link to a file": ("await (await fetch(U + '/to-file')).text()", "fetch failed"),
    "a socket of the machine": (_ENDED.format("net.connect(D + '/host.sock')"), "EACCES"),
    "such a socket for HTTP": (
        "import http from 'http'; await new Promise((yes, no) => "
        "http.get({socketPath: D + '/host.sock'}, () => yes('reached')).on('error', no))",
        "EACCES",
    ),
    "such a socket for TLS": (
        "import tls from 'tls'; " + _ENDED.format("tls.connect({path: D + '/host.sock'})"),
        "EACCES",
    ),
    "a socket that is made": (
        "await new Promise((yes, no) => net.createServer().on('error', no)"
        ".listen(D + '/made.sock', () => yes('reached')))",
        "EACCES",
    ),
    "a socket without a file": (
        "await new Promise((yes, no) => net.createServer().on('error', no)"
        ".listen('\\0interpstack-attack', () => yes('reached')))",
        "EACCES",
    ),
    "code of Node's realm": (
        "Object.getPrototypeOf(Request).constructor('return process')() && 'reached'",
        "Code generation from strings disallowed",
    ),
    "code by an answer": (
        "(await fetch(U)).constructor.constructor('return process')() && 'reached'",
        "Code generation from strings disallowed",
    ),
    "code by a dispatcher": (
        "let got; await fetch(U, {dispatcher: {dispatch(options, handler) "
        "{ got = handler; throw 1 }}}).catch(() => 0); "
        "got.constructor.constructor('return process')() && 'reached'",
        "Code generation from strings disallowed",
    ),
    "a thread": (
        "const {Worker} = await import('worker_threads'); new Worker('1', {eval: true})",
        'Importing module "worker_threads" is not allowed',
    ),
}
#: Code that goes on; no result says that anything was reached.
_HARMLESS = {
    "descriptors of sockets": (
        "for (let fd = 0; fd < 40; fd++) try { const s = new net.Socket({fd}); "
        "s.on('error', () => 0); s.write('Vforged') } catch {} "
        "await new Promise((done) => setTimeout(done, 50)); 'fine'"
    ),
    "descriptors of servers": (
        "let heard = 0; for (let fd = 0; fd < 40; fd++) await new Promise((done) => "
        "net.createServer().on('error', done).listen({fd}, () => { heard++; done() })); "
        "heard ? 'reached' : 'fine'"
    ),
    "descriptors of handles": (
        "const TCP = net.connect(+U.split(':')[2], '127.0.0.1').on('error', () => 0)._handle"
        ".constructor; let opened = 0; for (let fd = 0; fd < 40; fd++) "
        "if (new TCP(0).open(fd) === 0) opened++; opened ? 'reached' : 'fine'"
    ),
    "a handle mended": (
        "const {prototype} = net.connect(+U.split(':')[2], '127.0.0.1').on('error', () => 0)"
        "._handle.constructor; Reflect.defineProperty(prototype, 'open', {value: () => 0}) || "
        "Reflect.deleteProperty(prototype, 'open') ? 'reached' : 'fine'"
    ),
    "frames of Node": (
        "Error.prepareStackTrace = (error, frames) => frames; const {stack} = await new Promise("
        "(done) => net.connect(1, '127.0.0.1').on('error', done)); [...stack].some((frame) => "
        "frame.getThis?.() !== undefined || frame.getFunction?.() !== undefined) "
        "? 'reached' : 'fine'"
    ),
    "a signal that throws": (
        "await fetch(U, {signal: new Proxy(new AbortController().signal, "
        "{get() { throw globalThis.process ?? 'fine' }})}).catch((error) => error.name ?? error)"
    ),
    "polluted prototypes": (
        "for (const {prototype} of [Array, String, Promise, Uint8Array, URL, Map]) "
        "for (const name of ['toJSON', 'get', 'value', 'error', 'v', '$']) "
        "Object.defineProperty(prototype, name, {value: () => 'forged', configurable: true}); "
        "await fetch(U); 'fine'"
    ),
    "prototypes of Node": (
        "const node = Object.getPrototypeOf(Object.getPrototypeOf(Request).prototype); "
        "Reflect.defineProperty(node, 'toJSON', {value: () => 'forged'}) ? 'reached' : 'fine'"
    ),
    "aborts in flight": (
        "for (let i = 0; i < 40; i++) { const c = new AbortController(); "
        "const slow = fetch(U + '/slow', {signal: c.signal}).then((r) => r.text())"
        ".catch(() => 0); c.abort(); await slow } 'fine'"
    ),
    "answers that nobody reads": (
        "globalThis.kept = []; "
        "for (let i = 0; i < 20; i++) kept.push(await fetch(U + '/huge')); 'fine'"
    ),
    "a server that is left": (
        "globalThis.left = net.createServer((s) => s.end()).listen(0, '127.0.0.1'); 'fine'"
    ),
}
#: Bodies without end, and how their cells end.
_ENDLESS = {
    "huge": ("(await (await fetch(U + '/huge')).text()).length", ("OutOfMemory", "Timeout")),
    "packed": ("(await (await fetch(U + '/packed')).text()).length", ("OutOfMemory", "Timeout")),
    "slow": ("(await (await fetch(U + '/slow')).text()).length", ("Timeout",)),
    "sent": (
        "await fetch(U, {method: 'POST', duplex: 'half', body: new ReadableStream("
        "{pull(c) { c.enqueue(new Uint8Array(1e6)) }})})",
        ("OutOfMemory", "Timeout"),
    ),
    "never sent": (
        "await fetch(U, {method: 'POST', duplex: 'half', body: new ReadableStream("
        "{pull: () => new Promise(() => 0)})})",
        ("Timeout",),
    ),
    "many": (
        "await Promise.allSettled(Array.from({length: 2000}, () => "
        "fetch(U + '/slow').then((answer) => answer.text())))",
        ("Timeout", "OutOfMemory"),
    ),
}


async def _goes_on(session: Session) -> None:
    """The session's next cell works, at the second attempt if the process is lost."""
    after = await session.eval("n + 1")
    if after.error is not None:
        after = await session.eval("n + 1")
    assert after.text == "2", after.error


@pytest.mark.parametrize("name", _REFUSED)
async def test_what_is_no_network_is_refused(session: Session, folder: Path, name: str) -> None:
    source, found = _REFUSED[name]
    outcome = await session.eval(source)
    assert outcome.error is not None, outcome.text
    assert found in outcome.error.message
    assert not (folder / "made.sock").exists()
    await _goes_on(session)


@pytest.mark.parametrize("name", _HARMLESS)
async def test_nothing_of_the_process_is_reached(session: Session, name: str) -> None:
    outcome = await session.eval(_HARMLESS[name])
    assert outcome.text in ("fine", "TypeError"), outcome.error
    assert outcome.state == "kept"
    await _goes_on(session)


@pytest.mark.parametrize("name", _ENDLESS)
async def test_bodies_without_end_are_limited_like_all_work(session: Session, name: str) -> None:
    source, ends = _ENDLESS[name]
    outcome = await session.eval(source)
    assert outcome.error is not None
    assert outcome.error.name in ends, outcome.error
    await _goes_on(session)
