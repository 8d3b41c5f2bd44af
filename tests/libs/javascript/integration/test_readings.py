"""Programs that are written in another way give what they give as they are."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import suppress

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpstack import InterpreterStack, Outcome
from interpstack_javascript.cells import SourceError, ThreadClock, prepared

#: Statements that no other one needs, and that run.
_STATEMENTS = st.sampled_from(
    [
        "let a = 1;",
        "const b = [1, 2]",
        "var c = {d: '}'};",
        "function f(x) { return x + 1 }",
        "class K { m() { return 2 } }",
        "for (let i = 0; i < 2; i++) { globalThis.n = i }",
        "if (1) { globalThis.e = 3 } else { globalThis.e = 4 }",
        "try { null.x } catch { globalThis.g = 5 } finally { 6 }",
        "await Promise.resolve(7);",
        "for await (const h of [1]) { globalThis.h = h }",
        "// return {",
        "/* ``` */",
        "const t = `\n${'`'}{\n`;",
        "const r = /[{'\"]/;",
        "let u: number = 8;",
        "{ let inner = 9; inner }",
        "'use strict';",
        "null.x;",
        "throw new RangeError('y');",
    ]
)
_EXPRESSIONS = st.sampled_from(
    [
        *("1", "'😀'", "[1, 2]", "{a: 1}", "({b: 2}).b", "`x\n${1}`", "(() => 3)()", "await 4"),
        *("typeof a", "Promise.resolve(5)", "function () { return 6 }()", "/[/]/.source", "null.z"),
        *("1, 2", "7 as number", "undefined", "(function () { return typeof this })()"),
    ]
)  # fmt: skip
_NAMES = st.sampled_from(["a", "b2", "$c", "_d", "async", "get", "of", "if", "let", "ünder"])
_KEYS = st.one_of(
    _NAMES,
    st.sampled_from(["'two words'", '"x"', "1", "1.5", "[`k${1}`]", "['__proto__']", "[1 + 1]"]),
)
_VALUES = st.sampled_from(
    ["1", "'}'", "[{q: 1}]", "`{${2}`", "null", "(() => ({r: 3}))()", "/[{]/.source", "-1", "!0"]
)


def _member(value: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(_KEYS, value).map(": ".join),
        st.sampled_from(["known", "...known", "...[5]", "known, other"]),
    )


_OBJECTS = st.recursive(
    _VALUES,
    lambda inner: st.tuples(
        st.lists(_member(inner), max_size=4),
        st.sampled_from([", ", ",\n  ", ", /* } */ ", ",// {\n"]),
        st.sampled_from(["", ",", "\n", " // }\n"]),
    ).map(lambda parts: "{" + parts[1].join(parts[0]) + (parts[2] if parts[0] else "") + "}"),
    max_leaves=8,
).filter(lambda text: text.startswith("{"))


class _Sessions:
    """Runs each program in a session of its own."""

    def __init__(self, stack: InterpreterStack) -> None:
        self._stack = stack

    def run(self, *cells: str) -> Outcome:
        async def last() -> Outcome:
            async with self._stack.session() as session:
                for cell in cells:
                    outcome = await session.eval(cell)
            return outcome

        return asyncio.run(last())


@pytest.fixture(scope="module")
def sessions() -> Iterator[_Sessions]:
    with InterpreterStack() as stack:
        yield _Sessions(stack)


def _told(outcome: Outcome, lines: int = 0) -> tuple[object, ...]:
    """What an outcome says, with the numbers of lines that are less by some."""
    error = outcome.error
    if error is None:
        return outcome.text, outcome.undefined, outcome.console
    first = re.search(r"cell(?:>\s\(cell)?:(\d+):(\d+)", error.stack)
    place = first and (int(first[1]) - lines, int(first[2]))
    return error.name, error.message, place


@given(st.lists(_STATEMENTS, max_size=4), _EXPRESSIONS, st.sampled_from(["js", "", "javascript"]))
@settings(max_examples=60, deadline=None)
def test_a_program_in_a_fence_gives_what_it_gives(
    sessions: _Sessions, statements: list[str], last: str, word: str
) -> None:
    program = "\n".join([*statements, last])
    fenced = f"\n```{word}\n{program}\n```\n"
    assert _told(sessions.run(fenced), 2) == _told(sessions.run(program))


@given(st.lists(_STATEMENTS, max_size=4), _EXPRESSIONS)
@settings(max_examples=60, deadline=None)
def test_a_program_that_returns_its_last_expression_has_its_value(
    sessions: _Sessions, statements: list[str], last: str
) -> None:
    before = "\n".join(statements)
    expected = _told(sessions.run(f"{before}\n;({last})"))
    for returning in (
        f"{before}\nreturn ({last})",
        f"{before}\nreturn ({last});\nglobalThis.late = 1; throw 1",
        f"{before}\nfor (;;) {{ if (true) {{ return ({last}) }} }}",
        f"{before}\ntry {{ return ({last}) }} finally {{ 2 }}",
    ):
        told = _told(sessions.run(returning))
        if isinstance(expected[-1], tuple):  # an error, whose column is another one
            assert told[:-1] == expected[:-1], returning
        else:
            assert told == expected, returning


@given(st.lists(_STATEMENTS, max_size=3), _OBJECTS)
@settings(max_examples=100, deadline=None)
def test_an_object_at_the_end_is_what_it_is_in_parentheses(
    sessions: _Sessions, statements: list[str], text: str
) -> None:
    before = "\n".join(["const known = {k: 1}, other = 2;", *statements])
    expected = _told(sessions.run(f"{before}\n;({text})"))
    assert _told(sessions.run(f"{before}\n{text}")) == expected


@given(st.lists(_STATEMENTS, max_size=3), st.sampled_from(["let", "const", "var"]), _EXPRESSIONS)
@settings(max_examples=60, deadline=None)
def test_a_declaration_at_the_end_has_the_value_that_its_name_has(
    sessions: _Sessions, statements: list[str], kind: str, value: str
) -> None:
    declared = "\n".join([*statements, f"{kind} last = await ({value})"])
    outcome = sessions.run(declared)
    told = _told(attrs.evolve(outcome, undefined=False))
    named = [sessions.run(f"{declared}; last")]
    if outcome.ok:
        assert outcome.undefined  # for people, who are not shown it
        named.append(sessions.run(declared, "last"))
    for one in named:
        assert _told(attrs.evolve(one, undefined=False)) == told


@given(st.text("{}()[]`'\"/\\*;:,ab1 \n", max_size=30))
@settings(max_examples=300, deadline=None)
def test_no_text_at_the_end_is_read_as_more_than_itself(text: str) -> None:
    """What is put in the place of a block shows in the script as a pair of parentheses at most."""
    source = f"x\n{text}"
    try:
        script = prepared(source).source
    except SourceError:
        return
    if script != source:
        assert script.replace(";(", "", 1).replace(")", "") == source.replace(")", "")


@pytest.mark.parametrize(
    "piece",
    [
        "{\n",
        "}\n",
        ";{",
        "\n",
        "/",
        "/[",
        "=/[",
        "'",
        '"\\"',
        "`",
        "/*",
        "return\n",
        "{a: ",
        "await (",
    ],
)
def test_another_reading_costs_no_time(piece: str) -> None:
    clock = ThreadClock(None, lambda: False)
    with suppress(SourceError):
        prepared(f"const = 1\n{piece * (300_000 // len(piece))}", None, clock)
    assert clock.spent < 10
