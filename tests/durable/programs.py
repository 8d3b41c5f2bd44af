"""Random guest programs, as trees that are rendered for each guest language.

A program is a list of statements. What it computes goes to three globals: `n` counts, `log` lists
what happened in order, and `seen` holds what was drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from hypothesis import strategies as st

__all__ = ["LANGUAGES", "Language", "programs"]

Tree = Any  # a tuple: the kind of a statement or expression, and its parts


def _calls() -> st.SearchStrategy[Tree]:
    return st.tuples(st.just("call"), st.sampled_from(["free", "gated"]), st.integers(0, 9))


def _expressions() -> st.SearchStrategy[Tree]:
    call = _calls()
    several = st.lists(call, min_size=1, max_size=4)
    return st.one_of(
        call,
        st.tuples(st.just("all"), several),
        st.tuples(st.just("settled"), several),
        st.tuples(st.just("race"), several),
    )


def _statements() -> st.SearchStrategy[Tree]:
    simple = st.one_of(
        st.tuples(st.just("await"), _expressions()),
        st.tuples(st.just("forget"), _calls()),
        st.just(("count",)),
        st.just(("draw",)),
    )
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            st.tuples(st.just("loop"), st.integers(1, 3), st.lists(inner, max_size=3)),
            st.tuples(
                st.just("try"),
                st.lists(inner, min_size=1, max_size=3),
                st.lists(inner, max_size=2),
                st.lists(inner, max_size=2),
            ),
        ),
        max_leaves=6,
    )


def programs() -> st.SearchStrategy[list[Tree]]:
    """Programs of a few statements."""
    return st.lists(_statements(), min_size=1, max_size=5)


@attrs.frozen
class Language:
    """How trees become source.

    Attributes:
        before: A cell that runs first, and defines `before`.
        render: Gives the source of a program.
    """

    before: str
    render: Callable[[list[Tree]], str]


# -- JavaScript ------------------------------------------------------------------------------


def _javascript(program: list[Tree]) -> str:
    body = "\n".join(_js_statement(statement) for statement in program)
    head = "var n = globalThis.n ?? 0, log = globalThis.log ?? [], seen = globalThis.seen ?? [];"
    return f"{head}\nconsole.log('start', n);\n{body}\nconsole.log('end', n);\n[n, log, seen]"


def _js_statement(tree: Tree) -> str:
    match tree:
        case ("await", expression):
            return f"n += 1; log.push(await {_js_expression(expression)}); n += 1;"
        case ("forget", call):
            return f"{_js_expression(call)}.catch(e => log.push('late ' + e.message));"
        case ("count",):
            return "n += 1;"
        case ("draw",):
            return "seen.push(Math.random());"
        case ("loop", times, inner):
            return f"for (let i = 0; i < {times}; i++) {{ {_js_block(inner)} }}"
        case ("try", inner, caught, at_last):
            return (
                f"try {{ {_js_block(inner)} }} catch (e) {{ log.push(e.message); "
                f"{_js_block(caught)} }} finally {{ n += 10; {_js_block(at_last)} }}"
            )
    raise AssertionError(tree)


def _js_block(statements: list[Tree]) -> str:
    return " ".join(_js_statement(statement) for statement in statements)


def _js_expression(tree: Tree) -> str:
    match tree:
        case ("call", name, value):
            return f"kit.{name}({{value: {value}}})"
        case ("all", calls):
            return f"Promise.all([{', '.join(map(_js_expression, calls))}])"
        case ("settled", calls):
            settled = f"Promise.allSettled([{', '.join(map(_js_expression, calls))}])"
            return f"{settled}.then(all => all.map(one => one.value ?? one.reason.message))"
        case ("race", calls):
            return f"Promise.race([{', '.join(map(_js_expression, calls))}])"
    raise AssertionError(tree)


# -- Python ----------------------------------------------------------------------------------

_PYTHON_HEAD = """
n, log, seen = 0, [], []

async def settled(call):
    try:
        return await call
    except FAILED as error:
        return str(error)

print("start", n)
"""
#: What stands for what: the guests differ in where these come from.
_FAKE = {"FAILED": "ToolError", "GATHER": "gather", "RANDOM": "random"}
_MONTY = {"FAILED": "RuntimeError", "GATHER": "asyncio.gather", "RANDOM": "random.random"}


def _python(program: list[Tree]) -> str:
    body = "\n".join(line for tree in program for line in _py_statement(tree))
    return f"{_PYTHON_HEAD}{body}\nprint('end', n)\n[n, log, seen]"


def _fake(program: list[Tree]) -> str:
    return _worded(_python(program), _FAKE)


def _monty(program: list[Tree]) -> str:
    return "import asyncio, random\n" + _worded(_python(program), _MONTY)


def _worded(source: str, words: dict[str, str]) -> str:
    for word, stands_for in words.items():
        source = source.replace(word, stands_for)
    return source


def _py_statement(tree: Tree) -> list[str]:
    match tree:
        case ("await", expression):
            return ["n += 1", f"log.append(await {_py_expression(expression)})", "n += 1"]
        case ("forget", call):
            return [_py_expression(call)]
        case ("count",):
            return ["n += 1"]
        case ("draw",):
            return ["seen.append(RANDOM())"]
        case ("loop", times, inner):
            return [f"for _ in range({times}):", *_py_block(inner)]
        case ("try", inner, caught, at_last):
            return [
                "try:",
                *_py_block(inner),
                "except FAILED as error:",
                "    log.append(str(error))",
                *_py_block(caught),
                "finally:",
                "    n += 10",
                *_py_block(at_last),
            ]
    raise AssertionError(tree)


def _py_block(statements: list[Tree]) -> list[str]:
    return ["    " + line for tree in statements for line in _py_statement(tree)] or ["    pass"]


def _py_expression(tree: Tree) -> str:
    match tree:
        case ("call", name, value):
            return f"kit.{name}(value={value})"
        case ("all" | "race", calls):  # this guest knows no race
            return f"GATHER({', '.join(map(_py_expression, calls))})"
        case ("settled", calls):
            return f"GATHER({', '.join(f'settled({_py_expression(call)})' for call in calls)})"
    raise AssertionError(tree)


_JAVASCRIPT = Language("var before = 1; before", _javascript)
#: Every engine here that declares `determinism`, which is what a replay needs.
LANGUAGES = {
    "quickjs": _JAVASCRIPT,
    "process:quickjs": _JAVASCRIPT,
    "v8": _JAVASCRIPT,
    "fake": Language("before = 1", _fake),
    "monty": Language("before = 1", _monty),
}
