"""When a line of Python goes on in the next."""

from __future__ import annotations

import pytest

from interpstack_cli.repl.chunks import chunks, is_whole
from interpstack_python.blocks import Blocks


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 + 1",
        "f({'a': [1, 2]})",
        "'('",
        '"it\'s ["',
        r"'\'('",
        "'''a\nb'''",
        '"""\'\'\'"""',
        r'r"\"("',
        "f'{a[\"b\"]}'",
        'f"{a["b"]}"',  # as newer versions of Python take it
        "# open (",
        "x = [\n  1,  # (\n]",
        "x = 1 + \\\n  2",
        "f(1) ) extra",  # nothing that follows can mend it
        "(]",
        "'unterminated",
        "iffy = 3",
        "match = 3",
        "match(x)",
        "else",
        "x: int = 3",
        "f = lambda: 3",
        "for x in y:\n    pass\n",
        "for x in y:\n    pass\n    ",
        "if a: b\n",
        "if a:\n  b\nelse:\n  c\n",
        "@x\ndef f():\n\n    return 1\n",
        "def f():\n    return 1\nf()",
        "  indented",
    ],
)
def test_whole(text):
    assert is_whole(text, Blocks)


@pytest.mark.parametrize(
    "text",
    [
        "f(",
        "[1,\n2",
        "'''text",
        'f"""{a}\n',
        "'a\\",
        "x = 1 + \\",
        "x = {'a': '}'",
        "if x:",
        "if x:  # why",
        "if x: y",
        "for x in y:\n    pass",
        "for x in y:\n    pass\n# comment",
        "def f():\n",
        "def f(a,\n  b):\n    return a",
        "async def f():\n    pass",
        "@x",
        "@x\ndef f(): pass",
        "try:\n  a\nexcept B:\n  c\nfinally:\n  d",
        "match x:\n    case 1:\n        y",
        "match (x,\n  y):",
        "a = 1\nwhile a:\n    a = 0",
        "def f():\n    a\n\n    b",
        "def f():\n    '''a\n\n",
    ],
)
def test_goes_on(text):
    assert not is_whole(text, Blocks)


@pytest.mark.parametrize(
    "expected",
    [
        ["a = 1\n", "a\n", ""],
        ["for x in y:\n    a\n    b\n", "c\n", ""],
        ["for x in y:\n    a\n\n", "c\n", ""],
        ["if x:\n  a\nelif y: b\nelse:\n  c\n", "if z: d\n"],
        ["try:\n  a\nexcept B:\n  c\nelse:\n  d\nfinally:\n  e\n", "f\n", ""],
        ["@a\n@b\ndef f():\n  c\n", "class A:\n\n  x: int\n"],
        ["def f():\n  a\n# comment\n", "f()\n", ""],
        ["def f():\n  '''a\n\nb\n'''\n  return [\n1\n]\n", "f()\n", ""],
        ["def f():\n  return g(\n1)\n", ".save a.py\n", ""],
        ["if x:\r\n  a\r\n", "b\r\n", ""],
        ["if x:\na\n", "b\n", ""],  # an error, told once
        ["'open\n", "b\n", ""],
        ["match x:\n  case 1: a\n  case _: b\n", "match = 2\n", "match\n", ""],
        ["def f():\n  return 1\n", "f()"],
        ["if x:\n  a"],
    ],
)
def test_a_pipe_is_cut_where_a_block_ends(expected):
    lines = "".join(expected).splitlines(keepends=True)
    found = list(chunks(lines, Blocks))
    assert found[: len(expected)] == expected
    assert found[len(expected) :] in ([], [""])


def test_a_whole_is_not_held_back():
    taken = []

    def lines():
        for line in ("a = 1\n", "if a:\n", "  b\n", "\n", "c\n"):
            taken.append(line)
            yield line

    cut = chunks(lines(), Blocks)
    assert next(cut) == "a = 1\n"
    assert len(taken) == 1
    assert next(cut) == "if a:\n  b\n\n"
    assert len(taken) == 4
