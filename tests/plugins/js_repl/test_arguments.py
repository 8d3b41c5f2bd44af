"""Arguments that are passed on: known to type checkers, and refused by name when unknown."""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

import pytest

from interpstack import ConfigurationError, InterpreterStack
from interpstack_js_repl import JsReplMiddleware
from interpstack_js_repl.arguments import InterpreterArguments
from interpstack_langchain import PRESET, CodeInterpreterMiddleware

#: Plugins that a ready stack needs beside the helpers.
ALL = ["langchain", "persistence", "durable", "console", "display"]


def test_they_are_those_of_the_other_middleware_with_their_types() -> None:
    all_of_them = get_type_hints(CodeInterpreterMiddleware.__init__)
    own = inspect.signature(JsReplMiddleware.__init__).parameters
    passed_on = {
        name: kind
        for name, kind in all_of_them.items()
        if name not in own and name not in ("return", "stack")
    }
    assert get_type_hints(InterpreterArguments) == passed_on


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("bogus", "CodeInterpreterMiddleware"),
        ("namespaces", "CodeInterpreterMiddleware; did you mean 'namespace'?"),
        ("max_results_chars", "CodeInterpreterMiddleware; did you mean 'max_result_chars'?"),
    ],
)
def test_an_unknown_one_is_named_with_the_nearest(name: str, hint: str) -> None:
    given: dict[str, Any] = {name: 1}
    with pytest.raises(TypeError) as caught:
        JsReplMiddleware(**given)
    assert str(caught.value) == (
        f"JsReplMiddleware has no argument {name!r}; it takes its own and those of {hint}"
    )


def test_a_ready_stack_needs_the_helpers() -> None:
    reason = r"no helpers named 'codex'; make it with plugins=\[…, JsReplMiddleware\.plugin\("
    with InterpreterStack() as stack, pytest.raises(ConfigurationError, match=reason):
        JsReplMiddleware(stack=stack)
    plugins = [*ALL, JsReplMiddleware.plugin(namespace="agent")]
    with InterpreterStack("quickjs", plugins) as stack:
        with pytest.raises(ConfigurationError, match="no helpers named 'codex'"):
            JsReplMiddleware(stack=stack)
        assert JsReplMiddleware(stack=stack, namespace="agent").stack is stack


def test_a_ready_stack_is_a_stack_for_javascript() -> None:
    with pytest.raises(TypeError, match="stack takes an InterpreterStack; got 'node'"):
        JsReplMiddleware(stack="node")  # type: ignore[arg-type]
    with (
        InterpreterStack("monty", [*ALL, JsReplMiddleware.plugin()]) as stack,
        pytest.raises(ConfigurationError, match="needs an engine for JavaScript"),
    ):
        JsReplMiddleware(stack=stack)


@pytest.mark.parametrize(
    ("name", "value", "place"),
    [
        ("engine", "quickjs", "InterpreterStack(engine)"),
        ("preset", PRESET.without("skills"), "InterpreterStack(plugins=[…])"),
        ("timeout", 5.0, "InterpreterStack(limits=Limits(cpu_seconds=…))"),
        ("cwd", "/a", "JsReplMiddleware.plugin(cwd=…)"),
        ("home_dir", "", "JsReplMiddleware.plugin(home_dir=…)"),
        ("tmp_dir", "/t", "JsReplMiddleware.plugin(tmp_dir=…)"),
        ("wall_timeout", 5.0, "InterpreterStack(limits=Limits(wall_seconds=…))"),
        ("bridges", [print], "InterpreterStack(bridges)"),
    ],
)
def test_what_belongs_to_a_ready_stack_is_set_there(name: str, value: Any, place: str) -> None:
    given: dict[str, Any] = {name: value}
    with (
        InterpreterStack("quickjs", [*ALL, JsReplMiddleware.plugin()]) as stack,
        pytest.raises(ConfigurationError) as caught,
    ):
        JsReplMiddleware(stack=stack, **given)
    said = f"{name} belongs to the stack when stack= is given: {place}"
    assert str(caught.value) == said
