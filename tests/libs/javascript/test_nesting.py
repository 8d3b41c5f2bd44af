"""When a line of JavaScript goes on in the next."""

from __future__ import annotations

import pytest

from interpstack_cli.repl.chunks import chunks, is_whole
from interpstack_javascript.nesting import Nesting


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 + 1",
        "f({a: [1, 2]})",
        "'('",
        '"it\'s ["',
        r"'\'('",
        "`a ${b} c`",
        "`${`${x}`}`",
        "`$ $x {`",
        "// open (",
        "/* ( */ 1",
        "/[({]/.test(x)",
        "return /(/",
        r"x = /\/[/(]/g",
        "a / b / (c)",
        "(a) / 2 + '/('",
        "f(1) ) extra",  # nothing that follows can mend it
        "(]",
        "'unterminated",
        "line1 = {\n a: 1,\n}",
        "s = 'a\\\nb'",
        "const q = 1 1",
        "let x: Map<string, { a: number }> = new Map()",
        "enum E { A }",
        "if (a) {} else /[(]/.test(b)",
        "x = function () {} / (2)",
        "class A { #return = 1; m() { return this.#return / 2 } }",
        "for (const x of /[{]/.exec(y)) z",
        "s = '<div>{'",
        "`<div>{`",
        "await f({ a: 1 })",
        "import x from 'y'",
    ],
)
def test_whole(text):
    assert is_whole(text, Nesting)


@pytest.mark.parametrize(
    "text",
    [
        "f(",
        "if (x) {",
        "[1,\n2",
        "`template",
        "`${",
        "`${a} `  + `",
        "`${ {a: 1} ",
        "/* comment",
        "'a\\",
        "x = {a: ')'",
        "y = [/]/",
        "(a / b",
        "{ // }",
        "interface A {",
        "type T = {\n a: 1",
        "let x: number =",
        "class A { m(): void {",
        "1 +",
        "if (x)",
        "x = '😀' + {\n",
        "function f() {\n  return a\n    .b(",
    ],
)
def test_goes_on(text):
    assert not is_whole(text, Nesting)


def test_line_by_line_is_the_same_as_at_once():
    text = "f(`a ${ {b: '}'}\n} `, /* ( \n */ [\n1])\n"
    nesting = Nesting()
    states = []
    for line in text.splitlines(keepends=True):
        nesting.feed(line)
        states.append(nesting.closed)
    assert states == [False, False, False, True]


@pytest.mark.parametrize(
    ("first", "part", "last"),
    [
        ("function f() {\n", "  g({a: 1})\n", "}\n"),
        ("class A {\n", "  m(a) {\n    return a\n      .b()\n  }\n", "}\n"),
        ("x = [\n", "  {\n    a: 1,\n  },\n", "]\n"),
        ("x = `\n", "  {} ${a}\n", "`\n"),
        ("/*\n", "  ` ) {\n", "*/\n"),
        ("f(async () => {\n", "  if (x) {\n    y()\n  } else {\n    z()\n  }\n", "})\n"),
        ("switch (a) {\n", "  case 1:\n    b()\n    break\n", "}\n"),
    ],
)
def test_a_long_chunk_ends_with_its_last_line(first: str, part: str, last: str) -> None:
    lines = (first + part * 40 + last + "next\n").splitlines(keepends=True)
    assert list(chunks(lines, Nesting)) == ["".join(lines[:-1]), "next\n", ""]
