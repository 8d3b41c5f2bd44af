"""The interpreter that the arguments of a middleware describe, without a graph."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from langchain_core.tools import tool

from interpstack import ConfigurationError, InterpreterStack
from interpstack_langchain import PRESET, CodeInterpreterMiddleware
from interpstack_langchain.assembly import assembled
from interpstack_langchain.evals.surface import Surface
from interpstack_langchain.interpreter import Interpreter
from interpstack_langchain.options import Options
from interpstack_langchain.stacks import StackArguments

DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(CodeInterpreterMiddleware).parameters.items()
}


@tool
def own() -> str:
    """A tool that only code has."""
    return ""


@pytest.fixture
def make() -> Iterator[Any]:
    stacks: list[InterpreterStack] = []

    def made(surface: Surface | None = None, **given: Any) -> Interpreter:
        arguments = {**DEFAULTS, **given, "every_tool": given.get("ptc") is None}
        own = [{one.name for one in attrs.fields(cls)} for cls in (Options, StackArguments)]
        options, stack, rest = (
            {name: arguments[name] for name in arguments if name in names}
            for names in (*own, {*arguments}.difference(*own))
        )
        surface = surface or Surface(arguments["tool_name"])
        found = assembled(Options(**options), StackArguments(**stack), surface, **rest)
        stacks.append(found.evals.stack)
        return found

    yield made
    for stack in stacks:
        stack.close()


def test_arguments_reach_the_parts_that_they_are_about(make: Any) -> None:
    found = make(
        tool_name="js",
        mode="turn",
        pause_grace=1.5,
        lock_timeout=2.5,
        ptc=["search", own],
        snapshot_signing_key="a key of 16 bytes",
    )
    assert (found.evals.options.tool_name, found.evals.queue._names) == ("js", ("js",))
    assert (found.evals.mode.scope, found.owned) == ("turn", True)
    shared = found.evals.stores.shared
    assert (shared.pause_grace, shared.signing_key) == (1.5, b"a key of 16 bytes")
    assert (found.evals.stores.lock_timeout, found.evals.stores.own_tools) == (2.5, [own])
    assert [made.name for made in found.tools()] == ["js"]
    assert (found.evals.spending, found.background) == (None, None)


@pytest.mark.parametrize(("limit", "expected"), [(None, 64 * 2**20), (2**20, 2**20)])
def test_a_state_may_be_as_large_as_the_memory_unless_another_limit_is_set(
    make: Any, limit: int | None, expected: int
) -> None:
    assert make(max_snapshot_bytes=limit).evals.mode.max_bytes == expected


def test_sessions_on_a_ready_stack_are_this_middleware_s_own(make: Any) -> None:
    with InterpreterStack("quickjs", [*PRESET.plugins]) as stack:
        first, second = make(stack=stack), make(stack=stack)
        assert (first.evals.stack, first.owned) == (stack, False)
        assert first.evals.sessions is not second.evals.sessions
        keys = {one.evals.sessions.keys for one in (first, second, make())}
    assert len(keys) == 3
    assert "" in keys, "nobody else has sessions on a stack of its own"


def test_code_may_call_every_tool_where_the_surface_says_so(make: Any) -> None:
    class Every(Surface):
        calls_every_tool = True

    every = [
        make(Every("eval")).evals.options.every_tool,
        make(tools_only=True).evals.options.every_tool,
        make(Every("eval"), ptc=["search"]).evals.options.every_tool,
        make().evals.options.every_tool,
    ]
    assert every == [True, True, False, False]


def test_evals_that_may_be_suspended_have_two_more_tools(make: Any) -> None:
    found = make(background=True)
    names = ("eval", "wait", "terminate")
    assert tuple(tool.name for tool in found.tools()) == found.own_names == names
    assert found.evals.queue._names == names


WRONG = [
    ({"background": True, "tool_name": "wait"}, "background has the tool 'wait', the name of the"),
    ({"background": True, "durable": False}, "background=True needs durable=True and a plugin"),
    (
        {"interrupt_on": {"pay": True}, "ptc": ["pay"], "durable": False},
        "interrupt_on needs durable=True and a plugin that records evals",
    ),
    ({"interrupt_on": {"pay": True}, "ptc": ["play"]}, "pay"),
    ({"mode": "week"}, "week"),
]


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_arguments_that_do_not_fit_each_other_are_refused(
    make: Any, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make(**given)
