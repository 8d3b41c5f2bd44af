"""Errors as code meets them: the stack that it reads, and the reason of a refusal."""

from __future__ import annotations

import pytest
from engines import OnEngine

from interpstack import Bridge, GuestException, InterpreterStack

_THROWS = {
    "by a statement": "null.x",
    "by a function": "function f() { throw new RangeError('no') } f()",
    "behind await": "await 1; throw new Error('late')",
    "in a callback": "[1].map((n) => { throw new Error('inner') })",
    "of a class": "class Mine extends Error {} throw new Mine('x')",
    "in a method": "class K {\n  m() { undefined.x }\n}\nnew K().m()",
    "of a text": "eval('null.y')",
    "of a text that does not parse": "eval('1 1')",
    "of a tool": "await host.fails(1)",
    "without a module": "await import('nothing')",
    "renamed": "throw Object.assign(new Error('x'), {name: 'Renamed', message: 'y'})",
}


async def _fails(value: int) -> None:
    raise ValueError("no such page")


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("code", _THROWS.values(), ids=_THROWS)
async def test_code_reads_the_stack_that_the_rendered_error_has(
    on_engine: OnEngine, code: str
) -> None:
    bridges = [Bridge(name="host.fails", handler=_fails, raw=True)]
    async with (
        InterpreterStack(on_engine.name, bridges=bridges) as stack,
        stack.session() as session,
    ):
        cell = f"var read; try {{ {code} }} catch (e) {{ read = e.stack; throw e }}"
        error = (await session.eval(cell)).error
        read = (await session.eval("read")).text
        assert error is not None
        title, *frames = read.rstrip("\n").split("\n")
        assert title.startswith(("Error", error.name))
        assert not title.startswith(" ")
        assert frames == [line for line in error.stack.split("\n") if line]
        assert "interpstack:" not in read
        assert "guest:cell" not in read
        assert "eval_script" not in read


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("code", "stack"),
    [
        (
            "const s = AbortSignal.timeout(5);"
            "await new Promise((_, no) => { s.onabort = () => no(s.reason) })",
            "",
        ),
        ("throw Object.assign(new Error('x'), {stack: 'RangeError: x', name: 'Other'})", ""),
        ("throw Object.assign(new Error('x'), {stack: 'my own Error'})", "my own Error"),
    ],
)
async def test_a_stack_without_frames_is_shown_if_it_says_more_than_a_name(
    on_engine: OnEngine, code: str, stack: str
) -> None:
    async with InterpreterStack(on_engine.name) as made, made.session() as session:
        error = (await session.eval(code)).error
        assert error is not None
        lines = [line for line in error.stack.split("\n") if not line.startswith("    ")]
        assert "\n".join(lines) == stack


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    "code",
    [
        "'use strict'; Object.prototype.added = 1",
        "Object.defineProperty(Object.prototype, 'added', {value: 1})",
        "Object.assign(Object.prototype, {added: 1})",
    ],
)
def test_a_property_for_all_objects_is_refused_with_a_reason(
    on_engine: OnEngine, code: str
) -> None:
    with InterpreterStack(on_engine.name) as stack, stack.session() as session:
        error = session.eval_sync(code).error
        assert error is not None
        assert error.name == "TypeError"
        assert "because every object would inherit them" in error.message
        assert session.eval_sync("'added' in {}").text == "false"


@pytest.mark.engines("javascript")
def test_sloppy_code_is_told_that_a_property_for_all_objects_was_not_added(
    on_engine: OnEngine,
) -> None:
    with InterpreterStack(on_engine.name) as stack, stack.session() as session:
        for code in (
            "Object.prototype.added = 1; 2",
            "Object . prototype['added'] ??= 1; 2",
            "await null; Object.prototype.added = function () {}; ({}).added()",
        ):
            outcome = session.eval_sync(code)
            (notice,) = outcome.notices
            assert "because every object would inherit them" in notice
        for code in (
            "Object.prototype.added === 1",
            "Object.prototype.toString = () => 'x'; String({})",
            "Object.prototype.hasOwnProperty.call({}, 'added')",
            "const f = Object.prototype.added => 1",
        ):
            assert session.eval_sync(code).notices == ()


async def _refuses(value: int) -> None:
    raise GuestException("no money", name="PayError", status=402)


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("code", "lines"),
    [
        (
            "throw Object.assign(new Error('x'), {status: 402, code: 'E_PAY'})",
            ['{status: 402, code: "E_PAY"}'],
        ),
        (
            "class Pay extends Error { constructor() { super('x'); this.name = 'Pay'; "
            "this.of = {a: [1]} } } throw new Pay()",
            ["{of: {a: [1]}}"],
        ),
        (
            "var e = Object.assign(new Error('x'), {n: 1, cause: new TypeError('y')}); throw e",
            ["{n: 1}", "[cause]: TypeError: y"],
        ),
        (
            "var c = Object.assign(new Error('y'), {status: 402}); "
            "throw new Error('x', {cause: c})",
            ["[cause]: Error: y {status: 402}"],
        ),
        (
            "throw new AggregateError([Object.assign(new Error('y'), {status: 402})])",
            ["[errors]: Error: y {status: 402}"],
        ),
        (
            "const a = {[Symbol.dispose]() { throw Object.assign(new Error('late'), {n: 1}) }}; "
            "{ using b = a; throw new TypeError('first') }",
            ["[error]: Error: late {n: 1}", "[suppressed]: TypeError: first"],
        ),
        ("throw Object.defineProperty(new Error('x'), 'hidden', {value: 1})", []),
        (
            "throw Object.defineProperty(new Error('x'), 'n', "
            "{enumerable: true, get() { for (;;); }})",
            ["{n: [Getter]}"],
        ),
        ("var e = new Error('x'); e.self = e; throw e", ["{self: [Circular]}"]),
        ("throw Object.assign(new Error('x'), {[Symbol('s')]: 1})", ["{[Symbol(s)]: 1}"]),
        ("await host.refuses(1)", ["{status: 402}"]),
        ("await host.fails(1)", []),
        ("try { await host.fails(1) } catch (e) { e.more = 1; throw e }", ["{more: 1}"]),
    ],
)
async def test_an_error_shows_its_own_fields(
    on_engine: OnEngine, code: str, lines: list[str]
) -> None:
    bridges = [
        Bridge(name="host.fails", handler=_fails, raw=True),
        Bridge(name="host.refuses", handler=_refuses, raw=True),
    ]
    async with (
        InterpreterStack(on_engine.name, bridges=bridges) as stack,
        stack.session() as session,
    ):
        error = (await session.eval(code)).error
        assert error is not None
        told = [line.strip() for line in error.stack.split("\n")]
        assert [line for line in told if line and not line.startswith("at ")] == lines


@pytest.mark.engines("javascript")
async def test_large_fields_of_an_error_are_cut(on_engine: OnEngine) -> None:
    async with InterpreterStack(on_engine.name) as stack, stack.session() as session:
        code = "var e = new Error('x'); for (let i = 0; i < 1e5; i++) e['k' + i] = 'y'; throw e"
        error = (await session.eval(code)).error
        assert error is not None
        fields = error.stack.split("\n")[-1].strip()
        assert fields.startswith('{k0: "y", k1: "y", ')
        assert fields.endswith(", …}")
        assert len(fields) < 1200
        error = (await session.eval("throw Object.assign(Error(), {k: 'y'.repeat(9000)})")).error
        assert error is not None
        assert 900 < len(error.stack) < 1200
