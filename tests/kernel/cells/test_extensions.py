"""Tests of interpstack.cells.extensions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import pytest

from interpstack import (
    Bridge,
    CellGuard,
    ConfigurationError,
    GuestError,
    GuestException,
    InterpreterStack,
    Limits,
    Outcome,
    hookimpl,
)

MakeStack = Callable[..., InterpreterStack]


class Guard(CellGuard):
    """Notes what it is asked, under its name."""

    def __init__(self, name: str, log: list[str], refuses: str = "") -> None:
        self.name, self.log, self.refuses = name, log, refuses

    def begin(self, cell: Any, record: Any, *, resumed: bool) -> None:
        assert (cell.seed is not None, record.repeats, resumed) == (True, False, False)
        self.log.append(f"{self.name} begin")
        if self.refuses == "cell":
            raise GuestException("not now", name="Busy")

    @contextmanager
    def running(self) -> Iterator[None]:
        self.log.append(f"{self.name} in")
        yield
        self.log.append(f"{self.name} out")

    def admit(self, bridge: Bridge, request: Any) -> GuestError | None:
        self.log.append(f"{self.name} admit")
        return GuestError("No", self.name) if self.refuses == "request" else None

    async def before_call(self) -> None:
        self.log.append(f"{self.name} call")

    def finish(self, outcome: Outcome, limits: Limits) -> Outcome:
        return attrs.evolve(outcome, notices=(*outcome.notices, self.name))


class Opens:
    def __init__(self, name: str, extension: Any) -> None:
        self.name, self.extension = name, extension

    @hookimpl
    def interpstack_open_cell(self) -> Any:
        return self.extension


def _stack(make: MakeStack, *guards: Any) -> InterpreterStack:
    handler = Bridge(name="kit.f", handler=lambda: 1)
    return make(handler, plugins=[Opens(f"p{n}", one) for n, one in enumerate(guards)])


async def test_guards_are_asked_in_the_order_of_their_plugins(make_stack: MakeStack) -> None:
    log: list[str] = []
    stack = _stack(make_stack, Guard("a", log), None, CellGuard(), Guard("b", log))
    outcome = await stack.session("s").eval("await kit.f()")
    assert (outcome.text, outcome.notices) == ("1", ("a", "b"))
    assert log == [
        *("a begin", "b begin", "a in", "b in", "a admit", "b admit", "a call", "b call"),
        *("b out", "a out"),
    ]


async def test_one_refusal_is_enough(make_stack: MakeStack) -> None:
    log: list[str] = []
    stack = _stack(make_stack, Guard("a", log, "request"), Guard("b", log))
    outcome = await stack.session("s").eval("await kit.f()")
    assert outcome.error is not None
    assert (outcome.error.name, outcome.error.message) == ("No", "a")
    assert "b admit" not in log
    assert "a call" not in log


async def test_a_cell_that_may_not_begin_does_not_run(make_stack: MakeStack) -> None:
    log: list[str] = []
    stack = _stack(make_stack, Guard("a", log, "cell"), Guard("b", log))
    outcome = await stack.session("s").eval("await kit.f()")
    assert outcome.error is not None
    assert (outcome.error.name, log) == ("Busy", ["a begin"])


async def test_anything_else_is_refused_by_name(make_stack: MakeStack) -> None:
    with pytest.raises(ConfigurationError, match=r"returns a CellGuard.*got 'guard'"):
        await _stack(make_stack, "guard").session("s").eval("1")
