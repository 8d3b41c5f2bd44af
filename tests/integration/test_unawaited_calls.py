"""Code takes the promise of a call for the value of the call."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from engines import OnEngine

from interpstack import Bridge, InterpreterStack, Outcome

pytestmark = pytest.mark.engines("javascript")

_USES = {
    "a property": ("tools.rows(1).length", 'no "length"; write (await tools.rows(…)).length'),
    "an item": ("tools.rows(1)[0]", 'no "0"; write (await tools.rows(…))[0]'),
    "await in the wrong place": (
        "await tools.rows(1).length",
        'no "length"; write (await tools.rows(…)).length',
    ),
    "a condition": ("var r = tools.rows(1); if (r.length) 'yes'; else 'no'", 'no "length"'),
    "a method": ("tools.rows(1).map((n) => n)", 'no "map"; write (await tools.rows(…)).map'),
    "destructuring": ("var {title} = tools.rows(1)", 'no "title"'),
    "a template": ("`${tools.rows(1)}`", "is no text or number; put await before the call"),
    "a sum": ("tools.rows(1) + 1", "is no text or number; put await before the call"),
    "a comparison": ("tools.rows(1) > 1", "is no text or number"),
    "a text": ("String(tools.rows(1))", "is no text or number"),
    "a list as text": ("`${[tools.rows(1)]}`", "is no text or number"),
    "JSON": ("JSON.stringify(tools.rows(1))", "cannot be turned into JSON; put await before"),
    "JSON of an object": ("JSON.stringify({a: [tools.rows(1)]})", "cannot be turned into JSON"),
    "a loop": ("for (const r of tools.rows(1)) r", "cannot be iterated; put await before"),
    "an asynchronous loop": ("for await (const r of tools.rows(1)) r", "cannot be iterated"),
    "a list's pattern": ("var [first] = tools.rows(1)", "cannot be iterated"),
    "a spread list": ("[...tools.rows(1)]", "cannot be iterated"),
    "arguments": ("Math.max(...tools.rows(1))", "cannot be iterated"),
    "calls that are no list": (
        "await Promise.all(tools.rows(1), tools.rows(2))",
        "cannot be iterated",
    ),
    "sorting": ("[2, 1].sort((a, b) => tools.rows(a))", "is no text or number"),
}


def _rows(value: Any) -> list[int]:
    return [1, 2, 3]


def _fails(value: Any) -> None:
    raise ValueError("no rows")


async def _outcome(engine: str, *cells: str, check: Literal["names", "off"] = "names") -> Outcome:
    bridges = [
        Bridge(name="tools.rows", handler=_rows, raw=True),
        Bridge(name="tools.fails", handler=_fails, raw=True),
    ]
    async with (
        InterpreterStack(engine, ["console"], bridges=bridges, check=check) as stack,
        stack.session() as session,
    ):
        for cell in cells[:-1]:
            assert (await session.eval(cell)).ok
        return await session.eval(cells[-1])


@pytest.mark.parametrize(("code", "message"), _USES.values(), ids=_USES)
async def test_a_promise_in_place_of_a_value_is_an_error(
    on_engine: OnEngine, code: str, message: str
) -> None:
    error = (await _outcome(on_engine.name, code, check="off")).error
    assert error is not None
    assert error.name == "TypeError"
    assert error.message.startswith("a Promise of tools.rows ")
    assert message in error.message
    assert "undefined or null" not in error.message


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("var p = tools.rows(1); [p instanceof Promise, p.constructor === Promise]",
         "[true, true]"),
        ("Object.prototype.toString.call(tools.rows(1))", "[object Promise]"),
        ("[typeof tools.rows(1).then, 'length' in tools.rows(1)]", '["function", false]'),
        ("Object.keys(tools.rows(1))", "[]"),
        ("var p = tools.rows(1); [p == null, p === 1, !p, typeof p]",
         '[false, false, false, "object"]'),
        ("var p = tools.rows(1); p.note = 'mine'; p.note", "mine"),
        ("var p = Object.create(tools.rows(1)); typeof p.note", "undefined"),
        ("tools.rows(1)", "[1, 2, 3]"),
        ("tools.rows(1).then((rows) => rows.length)", "3"),
        ("(await tools.rows(1).finally(() => 1)).length", "3"),
        ("await tools.fails(1).catch((e) => e.message)", "no rows"),
        ("(await Promise.all([1, 2].map(tools.rows))).length", "2"),
        ("(await Promise.allSettled([tools.rows(1), tools.fails(1)])).map((s) => s.status)",
         '["fulfilled", "rejected"]'),
        ("await Promise.race([tools.rows(1), new Promise(() => {})])", "[1, 2, 3]"),
        ("(async () => tools.rows(1))()", "[1, 2, 3]"),
        ("class Mine extends Promise {}; (await Mine.resolve(tools.rows(1))).length", "3"),
        ("Promise.prototype.rows = 7; tools.rows(1).rows", "7"),
        ("Promise.prototype.then = null; await tools.rows(1)", "[1, 2, 3]"),
        ("var above = Object.getPrototypeOf(Object.getPrototypeOf(tools.rows(1)));"
         "Reflect.setPrototypeOf(above, null) || (await tools.rows(1)).length", "3"),
        ("var own = Object.getPrototypeOf(tools.rows(1)); own.then = 1; own.constructor = 1;"
         "(await tools.rows(1)).length", "3"),
    ],
)  # fmt: skip
async def test_the_promise_of_a_call_is_a_promise(
    on_engine: OnEngine, code: str, text: str
) -> None:
    outcome = await _outcome(on_engine.name, code)
    assert (outcome.error, outcome.text, outcome.notices) == (None, text, ())


@pytest.mark.parametrize(
    ("code", "notice"),
    [
        ("[1, 2].map(tools.rows)", "2 promises of tools.rows are shown, not their values"),
        ("({a: tools.rows(1)})", "A promise of tools.rows is shown, not its value"),
        ("new Map([[1, tools.rows(1)]])", "A promise of tools.rows is shown, not its value"),
        ("console.log(tools.rows(1)); 1", "A promise of tools.rows is shown, not its value"),
        ("[1, 2].map(async (n) => n)", "2 promises are shown, not their values"),
        ("[tools.rows(1), (async () => 1)()]", "2 promises, 1 of tools.rows, are shown"),
        ("console.log(tools.rows(1)); [tools.rows(2)]", "2 promises of tools.rows are shown"),
    ],
)
async def test_a_promise_that_is_shown_is_told(on_engine: OnEngine, code: str, notice: str) -> None:
    outcome = await _outcome(on_engine.name, code)
    assert outcome.ok
    assert len(outcome.notices) == 1
    assert outcome.notices[0].startswith(notice)
    assert "await" in outcome.notices[0]


async def test_the_next_cell_is_told_nothing_of_it(on_engine: OnEngine) -> None:
    assert (await _outcome(on_engine.name, "[tools.rows(1)]", "1")).notices == ()


async def test_a_promise_in_the_arguments_of_a_call_is_named(on_engine: OnEngine) -> None:
    error = (await _outcome(on_engine.name, "tools.rows({of: [tools.rows(1)]})")).error
    assert error is not None
    assert error.message.startswith("a promise of tools.rows cannot be passed to the host")


async def test_very_many_promises_are_counted(on_engine: OnEngine) -> None:
    outcome = await _outcome(on_engine.name, "Array.from({length: 100}, () => tools.rows(1))")
    assert outcome.notices[0].startswith("100 promises of tools.rows are shown")
