"""`fetch` of cells with the network: bodies in both directions, signals, and work beside it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from interpstack import Bridge, InterpreterStack, Limits, Session
from interpstack_node.engine import NodeEngine


class _Echo(BaseHTTPRequestHandler):
    """Returns the body that it gets; to `/silent`, nothing until the server is closed."""

    released = threading.Event()

    def do_GET(self) -> None:
        if self.path == "/silent":
            self.released.wait(60)
            return
        self._answer(b'{"ok": 1}')

    def do_POST(self) -> None:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self._answer(body)

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.send_header("x-type", self.headers.get("content-type", "").split(";")[0])
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    limits = Limits(cpu_seconds=30, wall_seconds=120)
    engine = NodeEngine(network=True)
    with InterpreterStack(engine, ["console"], limits=limits) as stack, stack.session() as opened:
        assert opened.eval_sync(f"const U = 'http://127.0.0.1:{server.server_port}'").ok
        assert opened.eval_sync("const post = (body) => fetch(U, {method: 'POST', body})").ok
        yield opened
    _Echo.released.set()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("await (await fetch(U)).text()", '{"ok": 1}'),
        ("(await (await fetch(U)).json()).ok", "1"),
        ("(await (await fetch(U)).arrayBuffer()).byteLength", "9"),
        ("(await (await fetch(U)).blob()).size", "9"),
        ("let n = 0; for await (const part of (await fetch(U)).body) n += part.length; n", "9"),
        ("await (await post('text')).text()", "text"),
        ("await (await post(new Uint8Array([104, 105]))).text()", "hi"),
        ("await (await post(Buffer.from('bytes'))).text()", "bytes"),
        ("await (await post(new Blob(['blob']))).text()", "blob"),
        (
            "const sent = await post(new URLSearchParams({a: '1'})); "
            "[await sent.text(), sent.headers.get('x-type')].join()",
            "a=1,application/x-www-form-urlencoded",
        ),
        (
            "const form = new FormData(); form.append('a', '1'); "
            "const posted = await post(form); "
            "[(await posted.text()).includes('name=\"a\"'), posted.headers.get('x-type')].join()",
            "true,multipart/form-data",
        ),
        (
            "const body = new Blob(['s']).stream(); "
            "await (await fetch(U, {method: 'POST', duplex: 'half', body})).text()",
            "s",
        ),
        ("await new Response('x').text()", "x"),
        ("(await new Response(new URLSearchParams({a: '1'})).formData()).get('a')", "1"),
        ("(await fetch(U)) instanceof Response", "true"),
    ],
)
async def test_bodies_are_sent_and_read(session: Session, source: str, text: str) -> None:
    outcome = await session.eval(source)
    assert outcome.error is None, outcome.error
    assert outcome.text == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            "await fetch(U + '/silent', {signal: AbortSignal.timeout(20)}).catch((e) => e.name)",
            "TimeoutError",
        ),
        (
            "const control = new AbortController(); setTimeout(() => control.abort('why'), 20); "
            "await fetch(U + '/silent', {signal: control.signal}).catch((e) => e)",
            "why",
        ),
        ("await fetch(U, {signal: AbortSignal.abort()}).catch((e) => e.name)", "AbortError"),
        ("(await fetch(U, {signal: new AbortController().signal})).status", "200"),
        (
            "const ended = AbortSignal.any([AbortSignal.timeout(20)]); "
            "await fetch(new Request(U + '/silent', {signal: ended})).catch((e) => e.name)",
            "TimeoutError",
        ),
        (
            "const owner = new AbortController(); const request = new Request(U, "
            "{signal: owner.signal}); owner.abort(); "
            "[request.signal.aborted, request.clone().signal instanceof AbortSignal].join()",
            "true,true",
        ),
        ("await fetch(U, {signal: 5}).catch((e) => e.name)", "TypeError"),
    ],
)
async def test_signals_of_cells_end_a_fetch(session: Session, source: str, text: str) -> None:
    outcome = await session.eval(source)
    assert outcome.error is None, outcome.error
    assert outcome.text == text


@pytest.mark.parametrize(
    "source",
    [
        "(await fetch(U, {signal: AbortSignal.timeout(600000)})).status",
        "setTimeout(() => 0, 600000); (await fetch(U)).status",
    ],
)
async def test_an_answer_arrives_while_a_timer_is_open(session: Session, source: str) -> None:
    outcome = await session.eval(source)
    assert outcome.error is None, outcome.error
    assert outcome.text == "200"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("fetch(U).then((answer) => answer.text())", '{"ok": 1}'),
        ("const answered = fetch(U).then((answer) => answer.json()); answered", "{ok: 1}"),
        ("new Blob(['x']).text()", "x"),
        ("[Response.json(1).json()]", "[Promise {…}]"),
        ("new Proxy(Response.json(1).json(), {})", "Object [Promise] {}"),
    ],
)
async def test_a_promise_of_node_as_last_expression_is_awaited(
    session: Session, source: str, text: str
) -> None:
    outcome = await session.eval(source)
    assert (outcome.error, outcome.text) == (None, text)


async def test_a_rejected_promise_of_node_as_last_expression_is_the_error(session: Session) -> None:
    outcome = await session.eval("fetch('http://127.0.0.1:1')")
    assert outcome.error is not None
    assert (outcome.error.name, outcome.error.message) == ("TypeError", "fetch failed")


async def test_a_promise_of_node_is_not_passed_to_the_host() -> None:
    got: list[Any] = []

    def take(x: Any) -> None:
        got.append(x)

    bridge = Bridge(name="host.take", handler=take)
    with InterpreterStack(NodeEngine(), bridges=[bridge]) as stack, stack.session() as session:
        outcome = await session.eval("await host.take({x: new Blob(['x']).text()})")
    assert outcome.error is not None
    assert outcome.error.message.startswith("a promise cannot be passed to the host; await it")
    assert got == []
