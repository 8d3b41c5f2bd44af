"""Errors as code meets them: the stack that it reads, and the reason of a refusal."""

from __future__ import annotations

import pytest
from engines import OnEngine

from interpstack import Bridge, InterpreterStack

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
