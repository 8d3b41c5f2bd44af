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
    ],
)
def test_what_is_none_is_left_to_the_engine(source: str) -> None:
    assert static_import(source, 0) is None
