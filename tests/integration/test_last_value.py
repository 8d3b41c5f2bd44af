"""The last value as a variable, and the members of values, on all engines."""

from __future__ import annotations

import pytest
from engines import OnEngine

from interpstack import Cell, EngineFailure, InterpreterStack

#: Code, and the result, in turn.
VALUES = {
    "javascript": [
        ("20 + 1", "21"),
        ("_ * 2", "42"),
        ("function quiet() {}", "undefined"),
        ("_", "42"),
        ("let told = 43", "43"),
        ("_", "43"),
        ("await Promise.resolve('x')", "x"),
        ("_ + 'y'", "xy"),
        ("NaN", "NaN"),
        ("7", "7"),
        ("_", "7"),
        ("null", "null"),
        ("_", "null"),
        ("let _ = 'mine'", "mine"),
        ("8", "8"),
        ("_", "mine"),
    ],
    "python": [
        ("20 + 1", "21"),
        ("_ * 2", "42"),
        ("def quiet(): pass", "None"),
        ("_", "42"),
        ("told = 43", "43"),
        ("_", "43"),
        ("[n for n in range(3)]", "[0, 1, 2]"),
        ("len(_)", "3"),
        ("print('heard')", "None"),
        ("_ + 1", "4"),
    ],
}


@pytest.mark.engines("all")
async def test_the_last_value_is_a_variable(on_engine: OnEngine) -> None:
    with InterpreterStack(on_engine.name, ["console"]) as stack:
        async with stack.session() as session:
            for code, text in VALUES[on_engine.language]:
                outcome = await session.eval(Cell(source=code, value_name="_"))
                assert (outcome.error, outcome.text) == (None, text), code


@pytest.mark.engines("all")
async def test_without_a_name_nothing_is_kept(on_engine: OnEngine) -> None:
    with InterpreterStack(on_engine.name) as stack:
        async with stack.session() as session:
            await session.eval("20 + 1")
            assert await session.names() in ([], ())


MEMBERS = """
class Point { constructor() { this.x = 1 } move() {} get far() { ran = true; return 2 } }
var ran = false, point = new Point(), list = [1], text = "a", none = null, deep = {a: {b: {c: 1}}}
var hangs = new Proxy({}, {ownKeys() { for (;;) {} }})
"""


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("path", "some"),
    [
        (["point"], {"x", "move", "far", "constructor"}),
        (["deep", "a", "b"], {"c", "toString"}),
        (["list"], {"length", "map", "push"}),
        (["text"], {"length", "trim"}),
        (["Math"], {"floor", "PI"}),
        (["point", "far"], set()),
        (["point", "gone"], set()),
        (["none"], set()),
        (["gone"], set()),
    ],
)
async def test_members_are_found_without_running_getters(
    on_engine: OnEngine, path: list[str], some: set[str]
) -> None:
    with InterpreterStack(on_engine.name) as stack:
        async with stack.session() as session:
            await session.eval(MEMBERS)
            found = set(await session.members(path))
            assert found >= some
            assert bool(found) is bool(some)
            assert (await session.eval("ran")).text == "false"


@pytest.mark.engines("javascript")
async def test_a_proxy_that_hangs_is_stopped(on_engine: OnEngine) -> None:
    with InterpreterStack(on_engine.name) as stack:
        async with stack.session() as session:
            await session.eval(MEMBERS)
            with pytest.raises(EngineFailure):
                await session.members(["hangs"])
            assert (await session.eval("deep.a.b.c")).text == "1"
