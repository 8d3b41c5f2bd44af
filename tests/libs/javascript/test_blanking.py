"""TypeScript without its types: the same lines, the same columns, the same behaviour."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from interpstack import InterpreterStack
from interpstack_javascript.errors import TypeScriptError
from interpstack_javascript.parser.parsing import parse, units_of
from interpstack_javascript.typescript import strip_types, type_edits

_BREAK = re.compile(r"\r\n|[\n\r\u2028\u2029]")


def _programs() -> list[tuple[str, str, str]]:
    text = Path(__file__).with_name("typescript_programs.ts").read_text("utf-8")
    found = [part.split("\n", 2) for part in re.split(r"(?m)^//// ", text)[1:]]
    return [(title, shown.removeprefix("//= "), source) for title, shown, source in found]


_PROGRAMS = _programs()


async def test_programs_behave_as_the_compiler_of_typescript_makes_them() -> None:
    """What they show was recorded once from the output of TypeScript's own compiler."""
    wrong = {}
    async with InterpreterStack().session() as session:
        for title, shown, source in _PROGRAMS:
            body = json.dumps(f'"use strict";{strip_types(source)}')
            found = await session.eval(
                f"(() => {{ let out = ''; try {{ new Function('show', {body})((...a) => {{ out += JSON.stringify(a) }}) }} catch (e) {{ out += e }} return out }})()"
            )
            if found.text != shown:
                wrong[title] = (found.text, found.error, shown)
    assert wrong == {}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\u2028"])
def test_the_result_is_javascript_on_the_same_lines(newline: str) -> None:
    for title, _, source in _PROGRAMS:
        written = source.replace("\n", newline)
        made = strip_types(written)
        assert parse(made, name="cell.js").faults == (), title
        assert _BREAK.findall(made) == _BREAK.findall(written), title


def test_edits_do_not_overlap_and_types_keep_columns() -> None:
    for title, _, source in _PROGRAMS:
        units = units_of(source)
        edits = type_edits(parse(source, name="cell.ts").program, units)
        assert all(one[1] <= other[0] for one, other in pairwise(edits)), title
        written = re.search(r"\b(?:enum|namespace|module|constructor|import)\b", source)
        for start, end, text in edits:
            assert written or len(text) == end - start or text == ")", title
            assert written or _BREAK.search(units[start:end]) is None, title


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import type { A } from 'a'; x", "                            x"),
        ("import type B from 'b'; import type * as C from 'c';", ""),
        ("import { type A } from 'd'", ""),
        ("import { type A, B, type C } from 'd'; B", "import {         B,        } from 'd'; B"),
        ("import D, { type A } from 'd'; D()", "import D, {        } from 'd'; D()"),
        ("import D, { A } from 'd'; let x: D = A", "import    { A } from 'd'; let x    = A"),
        ("import D, * as N from 'd'; let x: N.X = D", "import D         from 'd'; let x      = D"),
        ("import { A } from 'a'; let x: A", "                       let x"),
        ("import { A } from 'a'; let x: A; export { A }", "import { A } from 'a'; let x   ; export { A }"),
        ("import { A } from 'a'; let x: typeof A.b", "                       let x"),
        ("import { A } from 'a'; class B implements A {}", "                       class B              {}"),
        ("import { A } from 'a'; class B extends A {}", "import { A } from 'a'; class B extends A {}"),
        ("import { A } from 'a'; import 'side'; import {} from 'e'", "import { A } from 'a'; import 'side'; import {} from 'e'"),
        ("export type { Z } from 'd'; export type * from 'x'; export { type R } from 'r'", ""),
        ("let q = 1; export { type Q, q }", "let q = 1; export {         q }"),
        ("interface X {} const y = 1; export { X, y }; export default X", "               const y = 1; export {    y };"),
        ("import type { T } from 't'; export { T }", "                            export {   }"),
        ("export interface I {} export type U = 1; export declare const q: 1; export default interface J {}", ""),
        ("export abstract class C<T> {}", "export          class C    {}"),
        ("export function f(a: 1): void; export function f(a) {}", "                               export function f(a) {}"),
        ("export default function f(): void; export default function f() {}", "                                   export default function f() {}"),
        ("export default <any>class {}", "export default (    class {})"),
        ("import a = N.B; let x: a.T", "                let x"),
        ("import a = N.B; a()", "var    a = N.B; a()"),
        ("f()\nimport type A from 'a'\n(b)()", "f()\n;                     \n(b)()"),
        ("export enum E { A } export enum E { B = 1 }", 'export var E = (E => { E[E["A"] = 0] = "A"; return E; })({}); void (E => { E[E["B"] = 1] = "B"; })(E);'),
    ],
)  # fmt: skip
def test_imports_and_exports_of_types_vanish(source: str, expected: str) -> None:
    assert strip_types(source).rstrip() == expected


def test_a_caller_may_keep_imports_and_assign_enums() -> None:
    source = "import { A } from 'a'; let x: A; enum E { Q }"
    program = parse(source, name="cell.ts").program
    edits = type_edits(program, source, keyword="", elide=False)
    assert edits[0][0] > source.index("let x")
    assert "E = (E => {" in [text for _, _, text in edits]


@pytest.mark.parametrize(
    ("source", "words", "place"),
    [
        ("let a: string\nlet x: = 1", "but found `=`|Unexpected token", (2, 8)),
        ("let 😀: number", "Invalid Character", (1, 5)),
        ("'😀'; class A {\n  @dec x = 1 }", "write|call the function instead", (2, 3)),
        ("class A { accessor x = 1 }", "write a getter and a setter", (1, 11)),
        ("import x = require('fs')", "write `import x from", (1, 1)),
        ("let x = '😀'; export = x", "write `export default`", (1, 14)),
        ("namespace N { export let a = 1 } namespace N { a++ }", "write N.a", (1, 34)),
        ("let x: string = 'unfinished", "Unterminated", (1, 17)),
    ],
)  # fmt: skip
def test_errors_say_where_they_are(source: str, words: str, place: tuple[int, int]) -> None:
    with pytest.raises(TypeScriptError, match=words) as caught:
        strip_types(source, "file.ts")
    found = caught.value.place
    assert found is not None
    assert (found.line, found.column) == place
    assert f"(line {place[0]}, column {place[1]})" in str(caught.value)
    assert source[caught.value.offset :].startswith(
        source.split("\n")[place[0] - 1][place[1] - 1 :]
    )


def test_lone_surrogates_stay() -> None:
    assert strip_types("let a: string = '\ud800😀\udc00' as string") == (
        "let a         = '\ud800😀\udc00'          "
    )


def test_a_large_source_reads_as_a_small_one() -> None:
    """The tree of a large source leaves out its numbers and regular expressions."""
    source = (
        "class A { readonly 5 = 1; 0x10?: number; 1.5e+3: number = 3 as number; x = <any>\n 7n }\n"
        "var r = /[/]:/gu as RegExp; var b = <boolean>true; f(null!, 1_000 as any)\n"
    )
    assert strip_types(source * 2_000) == strip_types(source) * 2_000


@pytest.mark.parametrize("source", ["(" * 20_000, "[" * 20_000, "{" * 20_000, "a<" * 20_000])
def test_sources_that_are_too_deep_are_refused(source: str) -> None:
    with pytest.raises(TypeScriptError):
        strip_types(source)
    assert strip_types("let a: number = 1").startswith("let a         = 1")


@pytest.mark.parametrize("part", ["{", "<T>", "(x: T): T => ", "if (a as T) ", "namespace N {"])
def test_nesting_is_walked_without_recursion(part: str) -> None:
    depth = 600
    made = strip_types(
        part * depth + ("1" if "{" not in part else "") + "}" * depth * ("{" in part)
    )
    assert parse(made, name="cell.js").faults == ()


def test_the_clock_stops_the_work() -> None:
    with pytest.raises(TypeScriptError, match="takes too long to parse"):
        strip_types("let a: number = 1;\n" * 20_000, seconds=0)
