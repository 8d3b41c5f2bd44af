"""When a line of JavaScript goes on in the next."""

from __future__ import annotations

import pytest

from interpstack_cli.repl.chunks import is_whole
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
