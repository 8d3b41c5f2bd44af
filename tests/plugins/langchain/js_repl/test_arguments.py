"""Arguments that are passed on: known to type checkers, and refused by name when unknown."""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

import pytest

from interpstack import ConfigurationError, InterpreterStack
from interpstack_langchain import CodeInterpreterMiddleware, JsReplMiddleware
from interpstack_langchain.js_repl.arguments import InterpreterArguments


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
        ("namespaces", "CodeInterpreterMiddleware. Did you mean 'namespace'?"),
        ("max_results_chars", "CodeInterpreterMiddleware. Did you mean 'max_result_chars'?"),
    ],
)
def test_an_unknown_one_is_named_with_the_nearest(name: str, hint: str) -> None:
    given: dict[str, Any] = {name: 1}
    with pytest.raises(TypeError) as caught:
        JsReplMiddleware(**given)
    assert str(caught.value) == (
        f"JsReplMiddleware has no argument {name!r}; it takes its own and those of {hint}"
    )


def test_a_ready_stack_is_refused_with_the_reason() -> None:
    reason = "plugins cannot be added to a ready stack"
    with InterpreterStack() as stack, pytest.raises(ConfigurationError, match=reason):
        JsReplMiddleware(stack=stack)  # type: ignore[call-arg]
