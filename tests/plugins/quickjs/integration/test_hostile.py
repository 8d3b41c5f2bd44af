"""Hostile guests beyond the kit: what is QuickJS's own, or takes more than one cell."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from interpstack import Bridge, InterpreterStack, Limits, Session

#: Builtins that run long without polling, beside those of the kit; the host's clock stops them.
_BUILTINS = {
    "includes": "Array.prototype.includes.call({length: 2 ** 53 - 1}, 1)",
    "lastIndexOf": "Array.prototype.lastIndexOf.call({length: 2 ** 53 - 1}, 1)",
    "reverse": "Array.prototype.reverse.call({length: 2 ** 53 - 1})",
    "copyWithin": "Array.prototype.copyWithin.call({length: 2 ** 53 - 1}, 0, 1)",
    "sparse sort": "const a = []; a.length = 2 ** 32 - 1; a.sort()",
    "forEach": "const a = []; a.length = 2 ** 32 - 1; a.forEach(() => {})",
    "shift": "const a = []; a.length = 2 ** 32 - 1; a[1] = 1; for (;;) a.shift()",
    "padEnd": "''.padEnd(2 ** 30 - 1, 'ab')",
    "repeat": "'ab'.repeat(2 ** 29 - 1)",
    "BigInt products": "let b = 3n; for (;;) b = b * b % (2n ** 60000n)",
    "BigInt parse": "BigInt('7'.repeat(1e6)).toString(16).length",
    "apply": "Math.max.apply(null, {length: 2 ** 32 - 1})",
    "concat": "[].concat(Object.assign([], {length: 2 ** 32 - 1}))",
    "indexOf of texts": "const t = 'a'.repeat(2e6); for (;;) t.indexOf('a'.repeat(1e6) + 'b')",
    "lastIndexOf of texts": "const t = 'a'.repeat(2e6); for (;;) t.lastIndexOf('b' + 'a'.repeat(1e6))",
    "typed array sort": "const t = new Float64Array(1e6); for (;;) t.fill(1).sort()",
    "own keys": "Object.keys(new String('x'.repeat(5e6))).length",
    "normalize": "const t = 'é'.repeat(5e5); for (;;) t.normalize('NFD').normalize('NFC')",
}

#: How such a builtin may end, besides with a value.
_ENDS = {"Timeout", "OutOfMemory", "RangeError", "TypeError"}


async def _echo(value: Any) -> Any:
    return value


@pytest.fixture
def limits() -> Limits:
    return Limits(cpu_seconds=10, wall_seconds=60, memory_bytes=16 * 2**20)


@pytest.fixture
def session(limits: Limits) -> Iterator[Session]:
    echo = Bridge(name="host.echo", handler=_echo, raw=True)
    stack = InterpreterStack(plugins=["console"], bridges=[echo], limits=limits)
    with stack, stack.session() as session:
        session.eval_sync("const keep = {n: 41}")
        yield session


def shown(session: Session, source: str) -> str:
    outcome = session.eval_sync(source)
    assert outcome.error is None, outcome.error
    return outcome.text


class TestBuiltins:
    @pytest.fixture
    def limits(self, monkeypatch: pytest.MonkeyPatch) -> Limits:
        monkeypatch.setattr("interpstack_quickjs.webassembly.machine._GRACE_SECONDS", 0.2)
        return Limits(cpu_seconds=0.3, wall_seconds=60, memory_bytes=16 * 2**20)

    @pytest.mark.parametrize("source", _BUILTINS.values(), ids=_BUILTINS)
    def test_long_builtins_end(self, session: Session, source: str) -> None:
        outcome = session.eval_sync(source)
        assert outcome.error is None or outcome.error.name in _ENDS, outcome.error
        assert shown(session, "keep.n + 1") == "42"

    def test_output_so_far_is_kept(self, session: Session) -> None:
        source = "console.log('before'); Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)"
        outcome = session.eval_sync(source)
        assert outcome.error is not None
        assert (outcome.console, outcome.error.name) == ("before", "Timeout")


def test_out_of_memory_says_what_happened(session: Session) -> None:
    error = session.eval_sync("globalThis.a = []; for (;;) a.push(new Uint8Array(1e5))").error
    assert error is not None
    assert (error.name, error.message) == (
        "OutOfMemory",
        "the guest used up its memory limit of 16 MiB; this cell's changes to variables were "
        "undone",
    )
    assert shown(session, "typeof a") == "undefined"


_NORMALIZE = r"'\\ufdfa'.repeat(4e5).normalize('NFKD')"
_WITHOUT_ROOM = {
    "normalize": _NORMALIZE,
    "normalize, caught": f"let got; try {{ {_NORMALIZE} }} catch (e) {{ got = e }} got",
    "normalize, handed on": f"await (async () => {_NORMALIZE})().then(() => 1, e => typeof e)",
    "normalize, passed": f"try {{ {_NORMALIZE} }} catch (e) {{ await host.echo([e]) }}",
    "regex": "/(x|y)*z/.exec('x'.repeat(2e6))",
    "regex made": "new RegExp('x'.repeat(1e7))",
    "no room for the error": "globalThis.s = 'x'.repeat(8e5); [...s].map((c, i) => [c, i])",
    "no room for the message": "globalThis.s = 'x'.repeat(8e5); s.replace(/x/g, () => 'yy')",
}


@pytest.mark.parametrize("source", _WITHOUT_ROOM.values(), ids=_WITHOUT_ROOM)
def test_builtins_that_run_out_of_memory_say_so(session: Session, source: str) -> None:
    """QuickJS throws nothing, `null`, or errors of other kinds."""
    error = session.eval_sync(source).error
    assert error is not None
    assert (error.name, error.message) == (
        "OutOfMemory",
        "the guest used up its memory limit of 16 MiB; this cell's changes to variables were "
        "undone",
    )
    assert shown(session, "await host.echo([keep.n, typeof s])") == '[41, "undefined"]'


@pytest.mark.parametrize("method", ["transfer", "transferToFixedLength"])
def test_no_buffer_reaches_beyond_its_memory(session: Session, method: str) -> None:
    for length in ("2 ** 31", "2 ** 32 + 5", "2 ** 40", "{valueOf() { return 2 ** 32 }}"):
        error = session.eval_sync(f"new ArrayBuffer(8).{method}({length})").error
        assert error is not None
        assert (error.name, error.message) == ("RangeError", "invalid array buffer length")
    source = f"""
    const b = new Uint8Array([1, 2, 3]).buffer, c = b.{method}('5');
    [b.detached, c.byteLength, new Uint8Array(c).join(), c.{method}(undefined).byteLength,
     ArrayBuffer.prototype.{method}.name, Object.keys(ArrayBuffer.prototype).length].join(' ')"""
    assert shown(session, source) == f"true 5 1,2,3,0,0 5 {method} 0"


def test_normalize_is_as_it_was(session: Session) -> None:
    source = "const {normalize} = String.prototype; [normalize.name, normalize.length, 'é'.normalize('NFD').length, Object.keys(String.prototype).length, 'prototype' in normalize]"
    assert shown(session, source) == '["normalize", 0, 2, 0, false]'
    error = session.eval_sync("'x'.normalize('bad')").error
    assert error is not None
    assert (error.name, error.stack) == ("RangeError", "    at <cell> (cell:1:5)")


def test_full_but_not_overfull(session: Session) -> None:
    """Filling what there is over many cells ends in errors, never in a dead session."""
    assert shown(session, "globalThis.hoard = []; 'ok'") == "ok"
    for _ in range(40):
        outcome = session.eval_sync("hoard.push(new Uint8Array(6e5).fill(1)); hoard.length")
    assert outcome.error is not None
    assert outcome.error.name == "OutOfMemory"
    assert shown(session, "await host.echo(keep.n + 1)") == "42"
    assert int(shown(session, "hoard.length")) >= 15
    assert shown(session, "hoard = null; 'freed'") == "freed"
    assert shown(session, "new Uint8Array(5e6).length") == "5000000"


def test_calls_without_an_answer_are_bounded() -> None:
    heard: list[Any] = []

    async def note(value: Any) -> None:
        heard.append(value)

    bridge = Bridge(name="note", handler=note, raw=True, awaited=False)
    with InterpreterStack(bridges=[bridge]) as stack, stack.session() as session:
        error = session.eval_sync("for (let i = 0; i < 1e5; i++) note(i)").error
        assert error is not None
        assert error.message == "note: a cell may make at most 10000 calls without an answer"
        assert heard == list(range(10_000))
        assert shown(session, "note('again'); 1") == "1"
        assert heard[-1] == "again"


async def test_a_cancelled_cell_leaves_no_trace(session: Session) -> None:
    source = (
        "try { await new Promise(go => setTimeout(go, 1e6)); } finally { globalThis.trace = 1; }"
    )
    task = asyncio.ensure_future(session.eval(source))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await session.eval("typeof trace")).text == "undefined"


async def test_bridges_are_no_variables_of_the_guest(session: Session) -> None:
    assert await session.names() == ["keep"]


@pytest.mark.parametrize(
    "sent",
    [
        "{a: 1, b: ['x', null, true, 1.5]}",
        "{a: -0, b: [NaN], c: 2 ** 53}",
        "{a: undefined, b: [, 1]}",
        "Object.defineProperty({a: 1}, 'toJSON', {value: () => 'changed'})",
        "[Object.defineProperty([1], 'toJSON', {value: () => 'changed'})]",
        "{get a() { return [new Date(0)]; }}",
        "new Proxy({a: [1]}, {})",
        "Object.create(null, {a: {value: 1, enumerable: true}})",
    ],
)
async def test_plain_and_tagged_inputs_are_encoded_alike(sent: str) -> None:
    seen: list[Any] = []
    bridge = Bridge(name="host.see", handler=lambda value: seen.append(repr(value)), raw=True)
    stack = InterpreterStack(bridges=[bridge], limits=Limits(cpu_seconds=10))
    async with stack.session("s") as session:
        outcome = await session.eval(
            # What stands beside a value decides which way all of the input goes.
            f"const sent = ({sent}); await host.see({{sent}}); await host.see({{sent, tag: 1n}})"
        )
        assert outcome.error is None, outcome.error
    stack.close()
    assert seen[1] == seen[0].removesuffix("}") + ", 'tag': 1}"
