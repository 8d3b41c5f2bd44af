"""Tests of interpstack_testing.script."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpstack_testing.script import ScriptGlobals, describe, result_text, run_script


def given(**names: Any) -> ScriptGlobals:
    made = ScriptGlobals()
    made.offer(names)
    return made


async def _seven() -> int:
    await asyncio.sleep(0)
    return 7


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("6 * 7", 42),
        ("x = 6\nx * 7", 42),
        ("x = 6", None),
        ("", None),
        ("# nothing", None),
        ("await seven()", 7),
        ("seven()", 7),
        ("x = await seven()\nx + 1", 8),
        ("async def f(): return await seven()\nf()", 7),
        ("[await seven() for _ in range(2)]", [7, 7]),
    ],
)
async def test_the_last_expression_is_the_value(source: str, value: Any) -> None:
    namespace = given(seven=_seven, range=range)
    assert await run_script(source, "cell", namespace) == value
    assert "<result>" not in namespace


async def test_variables_outlive_a_cell_that_raises() -> None:
    namespace = given()
    with pytest.raises(ZeroDivisionError):
        await run_script("x = 5\n1 / 0", "cell", namespace)
    assert namespace.own() == {"x": 5}
    assert await run_script("x + 1", "cell", namespace) == 6


async def test_a_guest_has_the_builtins_it_is_offered_and_no_others() -> None:
    namespace = given(len=len)
    await run_script("def size(x): return len(x)", "cell", namespace)
    assert await run_script("size('ab')", "cell", namespace) == 2
    with pytest.raises(NameError, match="print"):
        await run_script("print(1)", "cell", namespace)
    namespace.offer({"len": lambda x: -1})
    assert await run_script("size('ab')", "cell", namespace) == -1, "functions of earlier cells too"
    assert "__builtins__" not in namespace.own()


async def test_a_value_that_was_lost_says_why() -> None:
    namespace = given()
    namespace.lost["gone"] = "it is a socket"
    with pytest.raises(ReferenceError, match="'gone' was not restored because it is a socket"):
        await run_script("gone", "cell", namespace)
    with pytest.raises(NameError, match="never"):
        await run_script("never", "cell", namespace)
    await run_script("gone = 1", "cell", namespace)
    assert namespace["gone"] == 1


@pytest.mark.parametrize(
    ("value", "limit", "shown"),
    [
        ("text", 10, ("text", 0)),
        ([1, "a"], 10, ("[1, 'a']", 0)),
        ("abcdef", 4, ("abcd", 2)),
        (None, 10, ("None", 0)),
    ],
)
def test_values_are_shown_up_to_a_limit(value: Any, limit: int, shown: tuple[str, int]) -> None:
    assert result_text(value, limit) == shown


async def test_errors_are_described_with_the_lines_of_cells_alone() -> None:
    namespace = given(seven=_seven, calls=lambda function: function())
    await run_script("def inner():\n    return 1 / 0", "cell-1", namespace)
    with pytest.raises(ZeroDivisionError) as caught:
        await run_script("x = 1\ncalls(inner)", "cell-2", namespace)
    found = describe(caught.value, namespace)
    assert (found.name, found.message) == ("ZeroDivisionError", "division by zero")
    assert found.stack.splitlines() == ["  at cell-2:2 in <module>", "  at cell-1:2 in inner"]


def test_messages_of_errors_are_bounded_and_need_not_be_texts() -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert describe(Odd(), given()).message == "<its message cannot be shown>"
    assert len(describe(ValueError("x" * 100_000), given()).message) == 2**16
