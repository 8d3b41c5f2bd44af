"""Tests of interpstack_langchain.tools.sync_tools."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.callbacks import (
    AsyncCallbackManagerForToolRun,
    BaseCallbackHandler,
    CallbackManagerForToolRun,
)
from langchain_core.tools import BaseTool, StructuredTool

from interpstack_langchain.tools.native_calls import NativeCall
from interpstack_langchain.tools.sync_tools import run_blocking


def _blocking() -> str:
    """Answer."""
    return "blocking"


async def _awaited() -> str:
    """Answer."""
    return f"on {id(asyncio.get_running_loop())}"


class Tells(BaseTool):
    """Has both forms."""

    name: str = "tells"
    description: str = "Tell."

    def _run(self, **kwargs: Any) -> Any:
        return "blocking"

    async def _arun(self, **kwargs: Any) -> Any:
        return ["awaited", kwargs]


class Refuses(Tells):
    """Has the async form alone."""

    def _run(self, **kwargs: Any) -> Any:
        raise NotImplementedError("use ainvoke")


class Deeper(Tells):
    """Fails below its blocking form, when something may have been done."""

    def _run(self, **kwargs: Any) -> Any:
        return self._deeper()

    def _deeper(self) -> Any:
        raise NotImplementedError("in the middle")


class Neither(BaseTool):
    """Has no form."""

    name: str = "neither"
    description: str = "Nothing."

    def _run(self) -> Any:
        raise NotImplementedError("nothing here")


def run(made: BaseTool, **kwargs: Any) -> Any:
    return run_blocking(made, type(made), (), kwargs, NativeCall().stoppable)


def test_the_blocking_form_is_used_where_there_is_one() -> None:
    assert run(Tells()) == "blocking"
    both = StructuredTool.from_function(_blocking, _awaited)
    assert run(both, config={}) == "blocking"


def test_coroutines_run_on_one_loop() -> None:
    made = StructuredTool.from_function(coroutine=_awaited)
    first = run(made, config={})
    assert first.startswith("on ")
    assert run(made, config={}) == first


def test_a_tool_that_refuses_is_awaited() -> None:
    assert run(Refuses(), a=1) == ["awaited", {"a": 1}]


def test_a_tool_that_fails_inside_runs_once() -> None:
    with pytest.raises(NotImplementedError, match="in the middle"):
        run(Deeper())


def test_a_tool_without_an_async_form_says_what_it_says() -> None:
    with pytest.raises(NotImplementedError, match="nothing here"):
        run(Neither())


def test_an_awaited_tool_has_the_callbacks_of_its_run() -> None:
    handler = BaseCallbackHandler()
    manager = CallbackManagerForToolRun(
        run_id=uuid4(),
        handlers=[handler],
        inheritable_handlers=[handler],
        parent_run_id=uuid4(),
        tags=["a"],
        inheritable_tags=["b"],
        metadata={"c": 1},
        inheritable_metadata={"d": 2},
    )
    _, kwargs = run(Refuses(), run_manager=manager)
    passed = kwargs["run_manager"]
    assert isinstance(passed, AsyncCallbackManagerForToolRun)
    assert vars(passed).items() >= vars(manager).items()
