"""What a scan finds in JavaScript, and when it leaves a source to the engine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack_javascript.rewriting.scan import Found, scan

#: Statements that are whole in themselves, whatever stands around them.
BITS = [
    "a = b / c / d",
    "a = /[/'\"`]/g.test(b)",
    "if (a) /'/.test(b)",
    "a = (b) / 2 / '1'",
    "a = b[0] / 2; a = 1. / 2",
    "a = `${`${{}}` + '}'} let x = 1`",
    "a = {class: 1, let: 2, import: 3, const: [/}/]}.class",
    "f(function () { let x; class A {} return /[{]/ })",
    "do { a++ } while (a / 2 > 1)",
    "a = b++ / 2; /* let ' */ // const `",
    "x = class { static #p = 1; import() {} get const() { return 1 / 2 } }",
    "switch (a) { case 'let': { const x = 1 } default: { let y } }",
    "label: { const z = 1 }",
    "a = b ? {c} : /[:]/",
    "for (let i = 0; i < 2; i++) { const x = i / 2 }",
    "x = async () => { for await (const y of z) {} }",
    "a = 'it\\'s' + \"\\\n\"; a = '\\u2028'",
    "\\u{61} = a ? . 5 : 1",
    "if (a) {} else /re'/.exec(b)",
    "x = () => {}\n/'/.exec(y)",
]


DECLARED = ["let x = 1", "const y = 2", "class Z extends f({}) { m() { return `}` } }"]


@given(
    st.lists(st.sampled_from(BITS + DECLARED), max_size=12),
    st.sampled_from([";\n", "\n;", "\n\n;"]),
)
def test_declarations_are_found_between_anything(parts: list[str], between: str) -> None:
    found = scan(between.join(parts), lambda: None)
    assert found is not None
    assert len(found.keywords) == parts.count(DECLARED[0]) + parts.count(DECLARED[1])
    assert len(found.classes) == parts.count(DECLARED[2])
    assert (found.imports, found.calls) == ([], [])


@given(st.lists(st.sampled_from([*BITS, "a = 1", "b()", "c = [1]", "d = `e`"]), max_size=8))
def test_a_line_break_ends_a_statement(parts: list[str]) -> None:
    source = "".join(f"{part}\nlet x = 1\n" for part in parts)
    found = scan(source, lambda: None)
    assert found is not None
    assert len(found.keywords) == len(parts)


def _nothing() -> None: ...


@pytest.mark.parametrize(
    ("source", "keywords"),
    [
        ("let a", ["let"]),
        ("const a = 1; let {b} = a, [c] = b", ["const", "let"]),
        ("const = 1", ["const"]),  # the engine's error stays where it is
        ("let = 1; let in a; let instanceof a", []),
        ("a.let; relet; let$; $let", []),
        ("{ let a } (() => { const b = 1 })", []),
        ("'let a'; `let b`; /let c/; // let d", []),
    ],
)
def test_keywords_of_the_top_level(source: str, keywords: list[str]) -> None:
    found = scan(source, _nothing)
    assert found is not None
    assert [source[start:end] for start, end in found.keywords] == keywords


def test_a_class_is_found_from_its_first_to_its_last_character() -> None:
    source = "1; class A extends f({}) { m() {} } class extends B {}"
    found = scan(source, _nothing)
    assert found is not None
    ((start, end, name),) = found.classes
    assert (source[start:end], name) == ("class A extends f({}) { m() {} }", "A")


def test_imports_are_statements_or_calls() -> None:
    source = "import a from 'x'; import('y'); import.meta; a.import('z'); { import b from 'c' }"
    found = scan(source, _nothing)
    assert found is not None
    assert [call for _, _, call in found.imports] == [
        "var {default: a} = (await $mport('x', [\"default\"]));"
    ]
    called = [source[at : at + 9] for at in sorted(found.calls)]
    assert called == ["import('y", "import.me"]


@pytest.mark.parametrize(
    "source",
    [
        "'a",
        "`a",
        "`${",
        "/* a",
        "(]",
        ")",
        "(",
        "=/[" * 11 + "\n",
        "(" * 20_001 + ")" * 20_001,
    ],
)
def test_what_is_left_to_the_engine(source: str) -> None:
    assert scan(source, _nothing) is None


def test_the_deepest_nesting_that_is_looked_through() -> None:
    assert scan("(" * 20_000 + ")" * 20_000 + "; let a", _nothing) is not None


def test_a_source_without_anything_to_find() -> None:
    assert scan("", _nothing) == Found()


def test_the_caller_is_asked_every_few_thousand_tokens_and_may_end_the_scan() -> None:
    asked: list[None] = []
    scan("a();" * 10_000, lambda: asked.append(None))
    assert 4 <= len(asked) <= 20  # two brackets each

    def stop() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        scan("()", stop)
