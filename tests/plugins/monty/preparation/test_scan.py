"""How the last expression is found, in time that grows with the source and no faster."""

from __future__ import annotations

import ast
import contextlib
import time
from pathlib import Path

import pytest

from interpstack import InterpreterStack, Limits
from interpstack_monty.preparation.cells import RefusedSource, prepare

#: Sources with their last expression marked; those without a mark have none.
VALUES = [
    "a; «b»",
    "import a; «a.b»",
    "a; «b» ; # c",
    "a = 1\r\n«a»\r\n",
    "\ufeff# c\n«a»\n\n# d\n",
    "«lambda x=1, *y: x»",
    "«(x := 1) == a != b <= c»",
    "«f(a=1)[b:c]»",
    "«*[1], 2»",
    "\"'\"; '''\n\"\n'''; «r'\\'' + b'x'»",
    '«f\'{a["\'"]!r:>{w}}{{\' + f"""{x:\'}\n"{y}"""»',
    "«f'{x:=5}{y!=z}\\N{DASH}\\{a}'»",
    "«rf'\\{x}' if'a'else b'\\''»",
    "if x:\n  a\n«b»",
    "if x: a; b",
    "a\nif x:\n  b",
    "a.b += 1",
    "a[1] >>= 1",
    "a := 1",
    "a: b",
    "del a",
    "a = lambda: 1",
    "if x: a = 1",
    "else: a = 1",
    "for a in b: c = 1",
    "with a: b = 1",
    "a = 1; pass",
    "def f():\n  a = 1",
    "x\nif y:\n  a = 1",
    "(a, b) = c",
    "a = 1\nimport b",
    "a for b in c",
    "a = f'{'",
    "a)",
    "a\nb = (]",
]


#: What stands before and behind the last expression, and at the end of the cell.
_BEGIN = "__interpstack_shown__ = await __interpstack_show__("
_END = '\nf"{__interpstack_shown__}"'


@pytest.mark.parametrize("marked", VALUES)
def test_the_last_expression_is_found(marked: str) -> None:
    source = marked.replace("«", "").replace("»", "")
    shown = marked.replace("«", f"{_BEGIN}(").replace("»", "), 10)") + _END
    assert prepare(source, 10) == (f"{source}\nNone" if source == marked else shown)


#: Sources that end with an assignment to names, and these.
ASSIGNED = [
    ("a = 1", "a"),
    ("a = 1  # b = 2", "a"),
    ("b\na = b == c;", "a"),
    ("a += 1", "a"),
    ("a >>= 1", "a"),
    ("a **= 2", "a"),
    ("a: int = 1", "a"),
    ("a: dict[str, list[int]] = {}", "a"),
    ("a, b ,c = d", "(a, b ,c)"),
    ("a = b = c", "a"),
    ("if x:\n  b = 1\na = 2", "a"),
    ("b; a = 2", "a"),
    ("\\\na = 2", "a"),
    ("é = {\n'x': 1\n}\n\n", "é"),
    ("format = lambda_", "format"),
]


@pytest.mark.parametrize(("source", "names"), ASSIGNED)
def test_the_names_of_the_last_assignment_are_found(source: str, names: str) -> None:
    text = 'f"{__interpstack_shown__}"'
    assert prepare(source, 10) == f"{source}\n{_BEGIN}{names}, 10, False); {text}"


def test_every_expression_of_the_standard_library_is_found() -> None:
    looked_at = 0
    for path in sorted(Path(ast.__file__).parent.glob("*.py"))[:40]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr | ast.Call | ast.Lambda | ast.BinOp | ast.Dict):
                text = ast.unparse(node)
                shown = prepare(f"pass\n{text}", 10)
                assert shown == f"pass\n{_BEGIN}({text}), 10){_END}"
                looked_at += 1
    assert looked_at > 1000


SHAPES = {
    "line joints": "\\\n",
    "parentheses": "(",
    "calls": "()",
    "statements": "a;",
    "assignments": "a=1\n",
    "texts": '"" ',
    "texts without end": '"""',
    "texts with fields": 'f"{a}"\n',
    "fields": 'f"{',
    "formats": 'f"{a:',
    "comments": "#\n",
    "returns": "return ",
    "functions": "def f():\n return\n",
    "lambdas": "lambda ",
    "spaces": " \n",
}


class Counter:
    """Counts how often it was asked."""

    asked = 0

    def pause(self) -> None:
        self.asked += 1


@pytest.mark.parametrize("shape", SHAPES)
def test_work_grows_with_the_source_and_no_faster(shape: str) -> None:
    asked, seconds = [], 0.0
    for size in (2**17, 2**20):
        clock = Counter()
        began = time.process_time()
        with contextlib.suppress(RefusedSource):
            prepare(SHAPES[shape] * (size // len(SHAPES[shape])), 10, pause=clock.pause)
        seconds = time.process_time() - began
        asked.append(clock.asked)
    assert asked[1] <= 9 * max(asked[0], 1)
    assert seconds < 10  # it takes less than one; what was quadratic took minutes


@pytest.mark.parametrize("before", ["", "a = 1", "f(", "if a:\n    b"])
def test_lines_of_comments_are_one_token(before: str) -> None:
    clock = Counter()
    prepare(f"{before}\n" + "  # c\n#\n" * 100_000, 10, pause=clock.pause)
    assert clock.asked == 1


async def test_preparation_counts_as_the_cells_own_time() -> None:
    with InterpreterStack("monty", limits=Limits(cpu_seconds=0.01)) as stack:
        session = stack.session("s")
        outcome = await session.eval("a=1\n" * 200_000)
        assert outcome.error is not None
        assert outcome.error.name == "Timeout"
        assert outcome.usage.cpu_seconds >= 0.01
