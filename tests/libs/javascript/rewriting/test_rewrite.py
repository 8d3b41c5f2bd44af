"""Imports become calls, and declarations `var`; lines and columns stay."""

from __future__ import annotations

import pytest

from interpstack_javascript.rewriting.rewrite import rewrite


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("let a = 1; const b = 2", "var a = 1; var   b = 2"),
        ("{ let a = 1 }", "{ let a = 1 }"),
        ("f(() => { const a = 1 })", "f(() => { const a = 1 })"),
        ("class A {}", "var A = class A {};"),
        ("const m = await import('x')", "var   m = await $mport('x')"),
        ("'let a'; `const b`", "'let a'; `const b`"),
    ],
)
def test_declarations_and_imports_are_rewritten(source: str, expected: str) -> None:
    assert rewrite(source, lambda: None).text == expected


def test_lines_stay() -> None:
    source = 'import {\n a,\n b\n} from "x"\nlet c = 1'
    assert rewrite(source, lambda: None).text.splitlines()[4] == "var c = 1"


def test_typescript_keeps_its_declarations_until_types_are_gone() -> None:
    source = 'import {a} from "x"; let b: number = 1'
    assert rewrite(source, lambda: None, types=True).text.endswith("let b: number = 1")


@pytest.mark.parametrize("shape", ["a:{}", "import('x');", "x=import.meta;", "imports={};"])
def test_typescript_without_import_statements_is_not_scanned_twice(shape: str) -> None:
    pauses: list[None] = []
    source = shape * 1000
    assert rewrite(source, lambda: pauses.append(None), types=True).text == source
    assert pauses == []


@pytest.mark.parametrize("space", ["", " ", "\n", "/**/", "/* ( */ "])
def test_import_statements_of_typescript_are_found_behind_any_space(space: str) -> None:
    source = f"import{space}{{a}}{space}from{space}'x'"
    assert "$mport" in rewrite(source, lambda: None, types=True).text


def test_the_work_can_be_ended() -> None:
    class Enough(Exception):
        pass

    def stop() -> None:
        raise Enough

    with pytest.raises(Enough):
        rewrite("let a = 1;\n" * 100_000, stop)
