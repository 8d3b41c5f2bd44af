"""Cells marked as TypeScript."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import pytest

from interpstack import Cell, ConfigurationError, InterpreterStack


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("const x: number = 1; x", "1"),
        ("enum E { A, B }\nE.B", "1"),
        ("interface I { x: string }\nconst a: I = {x: 'v'}; a.x", "v"),
        ("type T = {a: number}; ({a: 1} as T).a", "1"),
        (
            "class C { constructor(private z: number) {} get() { return this.z; } }; new C(5).get()",
            "5",
        ),
        ("const f = <T,>(x: T): T => x; f<number>(2)", "2"),
        ("abstract class A { abstract m(): void; n = 1 }; (class extends A { m() {} }).name", ""),
        ("const o = {a: 1} satisfies object; o!.a", "1"),
        ("function f(this: any, a?: string): asserts a is 'x' {}; typeof f", "function"),
        ("let m: typeof import('fs') | import('a').B; 4", "4"),
        ("const m: any = import('nothing'); await m.catch(() => 5)", "5"),
        ("const g = async (x?: number): Promise<number> => 3; await g()", "3"),
        ("import type {A} from 'x'; 4", "4"),
        ("let t: [number, string?] = [1]; t", "[1]"),
        ("'é😀' as string", "é😀"),
        ("('\ud800' as string).charCodeAt(0) === 0xd800", "true"),
        ("1 + 1", "2"),
    ],
)
async def test_types_are_stripped(source: str, expected: str) -> None:
    async with InterpreterStack().session() as session:
        outcome = await session.eval(Cell(source=source, language="typescript"))
        assert (outcome.error, outcome.text) == (None, expected)


async def test_declarations_persist_across_languages() -> None:
    async with InterpreterStack().session() as session:
        await session.eval(
            Cell(source="let n: number = 1; class P { v: number = 2 }", language="typescript")
        )
        await session.eval(Cell(source="let n: number = 5", language="typescript"))
        assert (await session.eval("n + new P().v")).text == "7"


@pytest.mark.parametrize(
    "source",
    ["let x: = 1", "abc def", "return 5 6", "enum {", "'unfinished", "enum E { A = 'x', B }"],
)
async def test_what_does_not_parse_is_a_syntax_error(source: str) -> None:
    async with InterpreterStack().session() as session:
        await session.eval("const keep = 1")
        outcome = await session.eval(Cell(source=source, language="typescript"))
        assert outcome.error is not None
        assert outcome.error.name == "SyntaxError"
        assert outcome.error.message
        assert (await session.eval("keep")).text == "1"


@pytest.mark.parametrize("language", ["typescript", None])
@pytest.mark.parametrize(
    "source",
    [
        "const id = <T>(x: T): T => x; await (Promise.resolve(id(5)))",
        "const later = async <T>(x: T) => x; let n: number = 0; for await (const v of [later(5)]) n = v; n",
        "const p: any = [Promise.resolve(5)]; await [<any>p[0]][0]",
    ],
)
async def test_a_cell_awaits_beside_type_parameters_and_casts(
    source: str, language: str | None
) -> None:
    async with InterpreterStack().session() as session:
        outcome = await session.eval(Cell(source=source, language=language))
        assert (outcome.error, outcome.text) == (None, "5")


async def test_types_in_a_javascript_cell_are_taken_out() -> None:
    async with InterpreterStack().session() as session:
        assert (await session.eval("const x: number = 1; x")).text == "1"


async def test_other_languages_are_refused() -> None:
    async with InterpreterStack().session() as session:
        with pytest.raises(
            ConfigurationError, match="runs javascript and typescript, not 'python'"
        ):
            await session.eval(Cell(source="1", language="python"))
