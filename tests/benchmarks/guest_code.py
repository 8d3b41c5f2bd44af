"""The code that all sides run, and how it is built."""

from __future__ import annotations

__all__ = [
    "BY_LANGUAGE",
    "CONSOLE_LINES",
    "PARALLEL_CALLS",
    "ROWS_ARGUMENT",
    "ROWS_RESULT",
    "SEQUENTIAL_CALLS",
    "TIMEOUT_SECONDS",
    "WARM_TIMES",
    "make_rows",
]

#: Of computing, for both sides: a busy machine may take longer than the default of five.
TIMEOUT_SECONDS = 120.0
#: Runs of a short cell in one turn: while the other side runs, caches of the processor go cold.
WARM_TIMES = 15
CONSOLE_LINES = 'for (let i = 0; i < 200; i++) console.log("line " + i); "done"'
PARALLEL_CALLS = (
    "const answers = await Promise.all(Array.from({length: 100},"
    ' (_, i) => tools.echo({text: "call " + i})));\n'
    "answers.length"
)
SEQUENTIAL_CALLS = (
    "let count = 0;\n"
    'for (let i = 0; i < 100; i++) if (await tools.echo({text: "call " + i})) count++;\n'
    "count"
)


ROWS_ARGUMENT = "const counted = await tools.countRows({rows: made}); counted"
ROWS_RESULT = "made"


def make_rows(count: int) -> str:
    """Put rows `{id, name, score, tags[2]}` into the variable `made`, which is not measured."""
    return (
        f"const made = Array.from({{length: {count}}}, (_, i) => "
        '({id: i, name: "row " + i, score: i * 1.5, tags: ["a" + i, "b" + i]}));\n'
        "made.length"
    )


_FIB = "function fib(n) {{ return n < 2 ? n : fib(n - 1) + fib(n - 2) }}; fib({})"
_FIB_PYTHON = "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib({})"
#: What engines are measured with, in both languages; `before` and `make_rows` are not measured.
BY_LANGUAGE = {
    "javascript": {
        "before": "0",
        "one_plus_one": "1 + 1",
        "make_rows": make_rows(1000),
        "rows": ROWS_RESULT,
        "parallel_calls": PARALLEL_CALLS,
        "small": "let n = 1; const label = 'session ' + n",
        "compute": _FIB.format(27),
        "compute_long": _FIB.format(29),
    },
    "python": {
        "before": "0",
        "one_plus_one": "1 + 1",
        "make_rows": (
            "made = [{'id': i, 'name': f'row {i}', 'score': i * 1.5, 'tags': [f'a{i}', f'b{i}']}"
            " for i in range(1000)]\nlen(made)"
        ),
        "rows": ROWS_RESULT,
        "parallel_calls": (
            "import asyncio\n"
            "answers = await asyncio.gather(*[tools.echo(text=f'call {i}') for i in range(100)])\n"
            "len(answers)"
        ),
        "small": "n = 1\nlabel = 'session ' + str(n)\nlabel",
        "compute": _FIB_PYTHON.format(27),
        "compute_long": _FIB_PYTHON.format(29),
    },
}
