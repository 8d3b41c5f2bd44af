"""Top-level `await` costs linear time, under the cell's own limits, out of reach of guests."""

from __future__ import annotations

import pytest

from interpstack import InterpreterStack, Limits
from interpstack_javascript.cells import Clock


def _wrapped(source: str) -> str | None:
    from interpstack_v8.parsers import wrap_awaiting

    return wrap_awaiting(source, None).source


@pytest.mark.parametrize(
    "shape",
    ["a;", "var a=1;", "f();", "`${1}`;", "class A{m(){}};", "await a;", "/a/;", "1+", "// x\n"],
)
def test_large_sources_are_wrapped_in_time(shape: str) -> None:
    from interpstack_v8.parsers import wrap_awaiting

    source = "await 1;" + shape * (2**19 // len(shape)) + "1"
    wrapped = wrap_awaiting(source, 60)
    assert wrapped.source is not None
    assert wrapped.source.startswith(("(async", "var a"))
    assert wrapped.cpu_seconds < 20  # it takes less than one


def test_many_names_are_no_trouble() -> None:
    source = "await 1;" + "".join(f"var a{n};" for n in range(50_000))
    wrapped = _wrapped(source)
    assert wrapped is not None
    assert wrapped.startswith("var a0, a1, a2,")


@pytest.mark.parametrize(("opens", "closes"), [("[", "]"), ("(", ")"), ("f(", ")"), ("{", "}")])
def test_what_nests_too_deep_is_a_range_error(opens: str, closes: str) -> None:
    deep = f"await 1;{opens * 15_000}{closes * 15_000}"
    assert _wrapped(deep) == 'throw new RangeError("Maximum call stack size exceeded")'
    assert _wrapped(f"await 1;{'[' * 200}{']' * 200}") is not None


async def test_long_chains_of_operators_are_not_nested() -> None:
    with InterpreterStack("v8") as stack:
        session = stack.session("s")
        outcome = await session.eval("await null; " + "1 + " * 20_000 + "1")
        assert (outcome.error, outcome.text) == (None, "20001")


def test_expressions_whose_value_is_replaced_stay_as_they_are() -> None:
    wrapped = _wrapped("a\nb; if (c) d; await e\nvar f = 1")
    assert wrapped is not None
    assert "{ let $cellValue; a\nb; if (c) $cellValue = (d); $cellValue = (await e);\n" in wrapped


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("'use strict'\n'x'; await 0; (function () { return this })()", "undefined"),
        ("0; 'use strict'; await 0; typeof (function () { return this })()", "object"),
        ("('use strict'); await 0; typeof (function () { return this })()", "object"),
        ("1; await 2; for (const x of [3, 4]) x; var y = 5", "4"),
        ("await 1; 2\n{ 3 }", "3"),
        ("await 1; 2\n;[3].map(x => x + 1)[0]; function f() {}", "4"),
    ],
)
async def test_the_value_is_that_of_the_last_expression_that_ran(source: str, text: str) -> None:
    with InterpreterStack("v8") as stack:
        outcome = await stack.session("s").eval(source)
        assert (outcome.error, outcome.text) == (None, text)


async def test_preparation_counts_as_the_cells_own_time() -> None:
    with InterpreterStack("v8", limits=Limits(cpu_seconds=0.05)) as stack:
        session = stack.session("s")
        outcome = await session.eval("var a = 1; await 1;" + "a = 2;" * 120_000)
        assert outcome.error is not None
        assert outcome.error.name == "Timeout"
        assert outcome.usage.cpu_seconds >= 0.05
        assert (await session.eval("typeof a + (await 1)")).text == "undefined1"


async def test_a_guest_cannot_change_how_cells_are_read() -> None:
    ruin = (
        "String.prototype.charCodeAt = String.prototype.slice = RegExp.prototype.exec = "
        "Array.prototype.push = Array.prototype.pop = Map.prototype.get = () => 7; "
        "Object.prototype.type = 'AwaitExpression'; 1"
    )
    with InterpreterStack("v8") as stack:
        session = stack.session("s")
        assert (await session.eval(ruin)).error is None
        outcome = await session.eval("var a = await 40; a + (await 2)")
        assert (outcome.error, outcome.text) == (None, "42")


def test_a_clock_adds_what_v8_computed() -> None:
    from interpstack_v8.cells import CellClock
    from interpstack_v8.isolates.failures import OutOfTime

    clock = CellClock(10.0, lambda: False)
    assert isinstance(clock, Clock)
    clock.pause()
    clock.computed(20.0)
    assert (clock.left() or 0) < 0
    with pytest.raises(OutOfTime):
        clock.pause()
    with pytest.raises(OutOfTime):
        CellClock(None, lambda: True).pause()
