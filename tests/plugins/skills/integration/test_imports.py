"""Every way in which a cell may import a skill."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import Cell, Session

CODE = """
globalThis.runs = (globalThis.runs ?? 0) + 1;
export default 7;
export const a = 1, b = 2;
export { b as "odd name" };
"""


@pytest.fixture(autouse=True)
def _skill(skill: Any) -> None:
    skill("m", {"index.js": CODE})


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("code", "text"),
    [
        ('import d from "@/skills/m"; d', "7"),
        ("import d from '@/skills/m'; d", "7"),
        ('import {a} from "@/skills/m"; a', "1"),
        ('import {a, b} from "@/skills/m"; a + b', "3"),
        ('import {a,} from "@/skills/m"; a', "1"),
        ('import {a as x} from "@/skills/m"; x', "1"),
        ('import {default as d} from "@/skills/m"; d', "7"),
        ('import {"odd name" as odd} from "@/skills/m"; odd', "2"),
        ('import * as all from "@/skills/m"; all.default + all.b', "9"),
        ('import d, {a as x, b} from "@/skills/m"; d + x + b', "10"),
        ('import d, * as all from "@/skills/m"; d + all.a', "8"),
        ('import "@/skills/m"; runs', "1"),
        ('import {} from "@/skills/m"; runs', "1"),
        ('import x from "@/skills/m"; import {b} from "@/skills/m"; x + b', "9"),
        ('import x from "@/skills/m"\nimport {b} from "@/skills/m"\nx + b', "9"),
        ('import x from "@/skills/m"\n[1, 2].length + x', "9"),
        ('import x from "@/skills/m"\n(() => x)()', "7"),
        ('import x from "@/skills/m"\n`${x}`', "7"),
        ('import x from "@/skills/m"\n/7/.test(x)', "true"),
        ('import/**/x/* from */from/**/"@/skills/m"/**/;x', "7"),
        ('import {a /* as */ as /* x */ y, /* b, */ b} from "@/skills/m"; y + b', "3"),
        ('import x from "@/skills/m" with {}; x', "7"),
        ('(await import("@/skills/m", {with: {}})).a + (await import("@/skills/m", null)).a', "2"),
        ('const y = 1; import x from "@/skills/m"; x + y', "8"),
        ('let a = 5; import {a as other} from "@/skills/m"; a + other', "6"),
        ('(await import("@/skills/m")).a', "1"),
        ("(await import(`@/skills/${'m'}`)).a", "1"),
        ('(await import("@/skills/" + "m")).a', "1"),
        ('const name = "m"; (await import("@/skills/" + name)).a', "1"),
        ('(await import( /* which */ "@/skills/m" )).a', "1"),
        ('import("@/skills/m").then(all => all.a)', "1"),
        ('async function f() { return (await import("@/skills/m")).a } f()', "1"),
        ('const f = async () => (await import("@/skills/m")).a; f()', "1"),
        ('class A { async f() { return (await import("@/skills/m")).a } } new A().f()', "1"),
        ('`${(await import("@/skills/m")).a}`', "1"),
        ('(await Promise.all([1, 2].map(() => import("@/skills/m")))).length', "2"),
        ('(await import("@/skills/m")) === (await import("@/skills/m"))', "true"),
        ('import * as one from "@/skills/m"; one === await import("@/skills/m")', "true"),
    ],
)
async def test_forms(session: Session, code: str, text: str) -> None:
    outcome = await session.eval(code)
    assert outcome.error is None
    assert outcome.text == text
    assert (await session.eval("globalThis.runs")).text == "1"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("""'import("x")' + "import y from 'z'" """, "import(\"x\")import y from 'z'"),
        ("`import('x') ${1} import y from 'z'`", "import('x') 1 import y from 'z'"),
        ("`\nimport x from 'y'\n`.trim()", "import x from 'y'"),
        ("/import\\('x'\\)/.source", "import\\('x'\\)"),
        ("1 // import('x')\n/* import y from 'z' */", "1"),
        ("({import: 1}).import", "1"),
        ("({import(x) { return x }}).import(2)", "2"),
        ("new (class { import(x) { return x } })().import(3)", "3"),
        ("const imports = [4], important = 5; imports[0] + important", "9"),
    ],
)
async def test_what_only_looks_like_an_import_is_left_alone(
    session: Session, code: str, text: str
) -> None:
    outcome = await session.eval(code)
    assert (outcome.error, outcome.text) == (None, text)
    assert (await session.eval("globalThis.runs")).text == "undefined"


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ('import {\n  a,\n  b\n} from "@/skills/m";\nmissing()', "cell:5:1"),
        ('import\n  x\n  from\n  "@/skills/m"\n  missing()', "cell:5:3"),
        ('import x from "@/skills/m" // π\nmissing()', "cell:2:1"),
        ('const x =\n  await import(\n    "@/skills/m"\n  );\n  missing()', "cell:5:3"),
    ],
)
async def test_later_errors_keep_their_lines(session: Session, code: str, place: str) -> None:
    outcome = await session.eval(code)
    assert outcome.error is not None
    assert outcome.error.name == "ReferenceError"
    assert place in outcome.error.stack


@pytest.mark.engines("javascript")
async def test_imports_are_variables_of_the_session(session: Session) -> None:
    await session.eval('import d, {a} from "@/skills/m"; import * as all from "@/skills/m"')
    assert (await session.eval("d + a + all.b")).text == "10"
    await session.eval('import {b as a} from "@/skills/m"')  # declared again
    assert (await session.eval("a")).text == "2"


@pytest.mark.engines("javascript")
async def test_a_missing_export_is_reported_with_those_there_are(session: Session) -> None:
    outcome = await session.eval('import d, {a, nope} from "@/skills/m"; d')
    assert outcome.error is not None
    assert outcome.error.name == "SyntaxError"
    assert "no export 'nope'; it exports: a, b, default, odd name" in outcome.error.message
    assert (await session.eval('"nope" in await import("@/skills/m")')).text == "false"


@pytest.mark.parametrize(
    "code",
    [
        'import x from "@/skills/m" with {type: "json"}; x',
        'import x from "@/skills/m" with {"type": "json"}; x',
        'import "@/skills/m" with {lazy: "true"}',
        'import * as all from "@/skills/m" with {type: "json"}; all',
        'await import("@/skills/m", {with: {type: "json"}})',
    ],
)
async def test_attributes_are_refused_rather_than_ignored(session: Session, code: str) -> None:
    error = (await session.eval(code)).error
    assert error is not None
    assert (error.name, "import attributes" in error.message) == ("SyntaxError", True)
    assert (await session.eval("typeof runs")).text == "undefined"


@pytest.mark.parametrize(
    "code",
    [
        'if (true) { import x from "@/skills/m" }',
        'import x, from "@/skills/m"',
        "import {a} from @/skills/m",
        "import from",
        'export const e = 1; import x from "@/skills/m"',
        "import.meta.url",
    ],
)
async def test_no_syntax_of_a_script(session: Session, code: str) -> None:
    outcome = await session.eval(code)
    assert outcome.error is not None
    assert outcome.error.name == "SyntaxError"
    assert (await session.eval("1 + 1")).text == "2"


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("code", "text"),
    [
        ('import {a} from "@/skills/m"; const x: number = a; x', "1"),
        ('import {type T, b} from "@/skills/m"; b as number', "2"),
        ('import type {T} from "@/skills/m"; 5 as number', "5"),
        ('interface A {\n  x: number\n}\n(await import("@/skills/m")).a satisfies number', "1"),
    ],
)
async def test_imports_in_typescript(session: Session, code: str, text: str) -> None:
    outcome = await session.eval(Cell(source=code, language="typescript"))
    assert (outcome.error, outcome.text) == (None, text)


async def test_typescript_keeps_imports_for_later_cells(session: Session) -> None:
    first = Cell(source='import {a} from "@/skills/m"', language="typescript")
    assert (await session.eval(first)).error is None
    assert (await session.eval(Cell(source="a as number", language="typescript"))).text == "1"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import()", "SyntaxError"),
        ("import(undefined)", "ModuleNotFound"),
        ("import({toString() { throw new RangeError('mine') }})", "RangeError"),
        ("import(Symbol('x'))", "TypeError"),
    ],
)
async def test_odd_specifiers(session: Session, code: str, error: str) -> None:
    outcome = await session.eval(code)
    assert outcome.error is not None
    assert outcome.error.name == error


@pytest.mark.engines("javascript")
async def test_a_failed_import_can_be_caught(session: Session) -> None:
    outcome = await session.eval(
        'try { await import("@/skills/nope") }catch (e) { [e instanceof Error, e.name, e.message] }'
    )
    assert outcome.text == '[true, "ModuleNotFound", "there is no skill \'nope\'; there are: m"]'
