"""Cells with so much data that the tree of their source is read without all of its literals."""

from __future__ import annotations

import pytest
from engines import OnEngine

from interpstack import InterpreterStack
from interpstack_javascript.cells import prepared, strip_types

_TABLE = f"[{', '.join(str(i % 97) for i in range(5000))}]"
_ROWS = f"[{', '.join(f'{{id: {i}, price: {i}.5, ok: true, none: null}}' for i in range(800))}]"

_PROGRAMS = {
    "a number": "let a = 0; a",
    "a constant": "const a = 7; a",
    "true": "let a = true; a",
    "null": "let a = null; a",
    "a BigInt": "let a = 5n; a",
    "some variables": "let a = 1, b, c = 3; [a, b, c]",
    "a variable of a loop": "let s = 0; for (var i = 0; i < 3; i++) s += i; [s, i]",
    "a loop that awaits": "let s = 0; for (var i = 0; i < 3; i++) s += await i; var z = 9; [s, z]",
    "a block": "{ let a = 0; a }",
    "a function": "function f(x = 3) { return 5 } f() + (() => 6)()",
    "a class": "class A { x = 5; static y = 6; 7() { return 8 } } [new A().x, A.y, new A()[7]()]",
    "conditions": "var r = true ? 1 : 2; if (false) r = 3; else r = 4; r",
    "an assignment": "let a = 1; a = 2; a += 3; a",
    "a pattern": "let {a = 1, ...b} = {c: 2}; let [d = 4] = []; [a, b, d]",
    "a switch": "let a = 2; switch (a) { case 1: 'one'; break; case 2: 'two' }",
    "a statement": "5",
    "a value behind await": "await 1; 5",
    "an enum": "enum E { A = 5, B, C = 1 << 3 } [E.A, E.B, E.C]",
    "types": "let a: 5 | null = 5; type T = {n: 1}; (a as number)",
    "a typed class": "class P { constructor(public x: number = 4, readonly y = 2) {} } new P()",
    "a typed function": "function f(a: number, b: 1 = 1): 2 { return 2 } f(1)",
}


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("table", [_TABLE, _ROWS], ids=["numbers", "rows"])
@pytest.mark.parametrize("program", _PROGRAMS.values(), ids=_PROGRAMS)
async def test_a_table_changes_nothing(on_engine: OnEngine, table: str, program: str) -> None:
    with InterpreterStack(on_engine.name) as stack:
        alone = await stack.session("alone").eval(program)
        beside = await stack.session("beside").eval(f"var table = {table};\n{program}")
    assert (alone.error, beside.error) == (None, None)
    assert beside.text == alone.text


@pytest.mark.parametrize("table", [_TABLE, _ROWS], ids=["numbers", "rows"])
@pytest.mark.parametrize("program", _PROGRAMS.values(), ids=_PROGRAMS)
def test_a_table_changes_no_edit(table: str, program: str) -> None:
    for rest in (f"\n;{table};", f"\nf(1, {table}, 2);"):
        with_table = prepared(program + rest).source
        blank = prepared(program + rest.replace(table, "[]")).source
        assert with_table.replace(table, "[]") == blank
    assert strip_types(program + f"\n;{table};").replace(table, "[]") == strip_types(
        program + "\n;[];"
    )


async def test_a_very_long_list_of_arguments_is_read() -> None:
    with InterpreterStack() as stack:
        outcome = await stack.session("one").eval(
            f"let most = 0; most = Math.max({_TABLE[1:-1]}); let next = 1; [most, next]"
        )
    assert outcome.text == "[96, 1]"
