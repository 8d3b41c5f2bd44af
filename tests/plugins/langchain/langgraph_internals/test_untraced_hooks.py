"""While LangSmith traces nothing, it begins and ends spans on the event loop."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterator
from typing import Any

import langsmith
import pytest
from langsmith._runtime_overrides import get_runtime_overrides

from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_langchain.langgraph_internals import untraced_hooks
from interpstack_langchain.langgraph_internals.untraced_hooks import run_untraced_hooks_in_place


@pytest.fixture(autouse=True)
def _own_overrides() -> Iterator[None]:
    before = get_runtime_overrides().aio_to_thread
    langsmith.set_runtime_overrides()
    yield
    langsmith.set_runtime_overrides(aio_to_thread=before)


async def _spans(enabled: bool) -> list[bool]:
    """For the begin and the end of a span, whether each was on this thread."""
    here, seen = threading.get_ident(), list[bool]()

    async def noted(default: Any, context: Any, function: Any, /, *given: Any, **named: Any) -> Any:
        def note(*given: Any, **named: Any) -> Any:
            seen.append(threading.get_ident() == here)
            return function(*given, **named)

        return await inner(default, context, note, *given, **named)

    inner: Any = get_runtime_overrides().aio_to_thread
    langsmith.set_runtime_overrides(aio_to_thread=noted)

    @langsmith.traceable
    async def traced() -> int:
        return 1

    with langsmith.tracing_context(enabled="local" if enabled else False):
        assert await traced() == 1
    langsmith.set_runtime_overrides(aio_to_thread=inner)
    return seen


async def test_spans_need_no_thread_while_nothing_is_traced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LANGSMITH_API_KEY", "none")  # "local" sends nothing
    CodeInterpreterMiddleware()
    assert await _spans(enabled=False) == [True, True]
    assert await _spans(enabled=True) == [False, False]


async def test_the_override_of_a_program_stays() -> None:
    async def own(default: Any, context: Any, function: Any, /, *given: Any, **named: Any) -> Any:
        return context.run(function, *given, **named)

    langsmith.set_runtime_overrides(aio_to_thread=own)
    assert not run_untraced_hooks_in_place()
    CodeInterpreterMiddleware()
    assert get_runtime_overrides().aio_to_thread is own


async def test_changes_of_the_context_are_seen() -> None:
    assert run_untraced_hooks_in_place()
    assert run_untraced_hooks_in_place(), "a second middleware changes nothing"
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)
    context = contextvars.copy_context()
    override: Any = get_runtime_overrides().aio_to_thread
    await override(None, context, variable.set, 5)
    assert (context[variable], variable.get()) == (5, 0)


def test_a_release_that_does_not_say_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untraced_hooks, "get_runtime_overrides", None)
    assert not run_untraced_hooks_in_place()
    assert get_runtime_overrides().aio_to_thread is None
