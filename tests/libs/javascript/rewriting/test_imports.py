"""Import statements, read without a parser."""

from __future__ import annotations

import pytest

from interpstack_javascript.rewriting.imports import static_import


@pytest.mark.parametrize(
    ("source", "call"),
    [
        ('import "x"', 'await $mport("x");'),
        ("import a from 'x';", "var {default: a} = (await $mport('x', [\"default\"]));"),
        ('import * as all from "x"', 'var all = (await $mport("x"));'),
        (
            'import a, {b as c, "d e" as f,} from "x"',
            'var {default: a, b: c, "d e": f} = (await $mport("x", ["default", "b", "d e"]));',
        ),
        ("import{a}from'x'", "var {a: a} = (await $mport('x', [\"a\"]));"),
        ("import*as as from'x'", "var as = (await $mport('x'));"),
        ("import from, {} from 'x'", "var {default: from} = (await $mport('x', [\"default\"]));"),
        (
            "import {as as as, from} from 'x';",
            'var {as: as, from: from} = (await $mport(\'x\', ["as", "from"]));',
        ),
        ("import {/* b, */ a // c\n} from 'x'", "var {a: a} = (await $mport('x', [\"a\"]));"),
        ('import {a} from "x" with {type: "json"};', 'var {a: a} = (await $mport("x", ["a"]));'),
    ],
)
def test_statements_become_calls(source: str, call: str) -> None:
    found = static_import(source, 0)
    assert found is not None
    assert found.as_call(checked=True) == call
    assert source[found.start : found.end] == source


def test_names_need_not_be_checked() -> None:
    found = static_import('import {a} from "x"', 0)
    assert found is not None
    assert found.as_call(checked=False) == 'var {a: a} = (await $mport("x"));'


@pytest.mark.parametrize(
    "source",
    [
        "import",
        "import(x)",
        "import a 'x'",
        "import {a from 'x'",
        "import * from 'x'",
        "import 'x' y",
        "import from 'x'",
        "import afrom 'x'",
        "import a fromm 'x'",
        "import a, from 'x'",
        "import {as as} from 'x'",
        "import {'a'} from 'x'",
        "import {,} from 'x'",
        "import {a b} from 'x'",
        "import * as a {b} from 'x'",
    ],
)
def test_what_is_none_is_left_to_the_engine(source: str) -> None:
    assert static_import(source, 0) is None
