"""The tool that takes the code: its input, its copies, and whom it runs for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import pytest
from graph_tasks import tool_request
from langchain_core.callbacks import BaseCallbackHandler

from interpstack import InterpreterStack, Outcome
from interpstack_langchain.evals.call_names import SiblingCalls
from interpstack_langchain.evals.eval_call import EvalCall, running_eval
from interpstack_langchain.evals.eval_tool import EvalTool, eval_schema

SEEN: list[Any] = []


class Evals:
    """Evals that only note what they are to run."""

    async def run(self, code: str, running: EvalCall) -> str:
        SEEN.append(running)
        return f"ran {code}"


def eval_tool(name: str, language: Any) -> EvalTool:
    schema: Any = eval_schema(language.title)
    evals: Any = Evals()
    return EvalTool.of(evals, language, name=name, description="Run code.", args_schema=schema)


@pytest.fixture(scope="module")
def language() -> Iterator[Any]:
    with InterpreterStack("quickjs", plugins=[]) as stack:
        yield stack.language


@pytest.fixture
def tool(language: Any) -> EvalTool:
    SEEN.clear()
    return eval_tool("eval", language)


@contextmanager
def inside(*names: str) -> Iterator[EvalCall]:
    """Run in an eval of the last of these tools, which code of those before it calls."""
    outer: EvalCall | None = None
    for name in names:
        request = tool_request("c", name)
        made = EvalCall(request, SiblingCalls.of(request), None)  # type: ignore[arg-type]
        made.outer, outer = outer, made
    assert outer is not None
    token = running_eval.set(outer)
    try:
        yield outer
    finally:
        running_eval.reset(token)


async def test_code_runs_for_the_eval_that_is_under_way(tool: EvalTool) -> None:
    with inside("eval") as running:
        assert await tool.ainvoke({"code": "1"}) == "ran 1"
        assert tool.invoke({"code": "2"}) == "ran 2"
    assert [running, running] == SEEN


def test_the_model_reads_the_language(tool: EvalTool, language: Any) -> None:
    schema = tool.args_schema.model_json_schema()
    assert list(schema["properties"]) == ["code"]
    assert schema["properties"]["code"]["description"].startswith("JavaScript to run.")
    assert tool.metadata == {"ls_code_input_language": "javascript"}


def test_tools_of_one_language_share_their_schema(tool: EvalTool, language: Any) -> None:
    other = eval_tool("js", language)
    assert other.args_schema is tool.args_schema


async def test_a_copy_runs_code_in_the_same_interpreter(tool: EvalTool) -> None:
    copied = deepcopy(tool)
    assert copied is not tool
    with inside("eval") as running:
        assert await copied.ainvoke({"code": "1"}) == "ran 1"
    assert [running] == SEEN
    assert copied.metadata is not None
    copied.metadata["own"] = 1
    assert tool.metadata is not None
    assert "own" not in tool.metadata


async def test_calls_of_the_eval_are_traced_below_it(tool: EvalTool) -> None:
    with inside("eval") as running:
        await tool.ainvoke({"code": "1"}, {"callbacks": [BaseCallbackHandler()]})
        assert running.callbacks.parent_run_id is not None


async def test_a_field_that_has_no_effect_is_named_in_the_answer(tool: EvalTool) -> None:
    given = {"code": "1", "timeout": 5, **{f"x{n}" * 40: n for n in range(9)}}
    with inside("eval") as running:
        running.request.tool_call["args"] = given
        await tool.ainvoke(given)
    (notice,) = running.with_notices(Outcome()).notices
    assert notice.startswith("Ignored arguments: 'timeout', 'x0x0")
    assert notice.endswith(" and 5 more. eval takes: code.")
    assert len(notice) < 400


def test_code_of_the_wrong_type_is_refused_before_it_runs(tool: EvalTool) -> None:
    with inside("eval"), pytest.raises(ValueError, match="code"):
        tool.invoke({"code": ["1"]})
    assert SEEN == []


async def test_outside_of_an_agent_the_error_says_what_to_pass(tool: EvalTool) -> None:
    with pytest.raises(RuntimeError, match="eval runs inside an agent: pass its CodeInterpreterM"):
        await tool.ainvoke({"code": "1"})


async def test_another_interpreter_s_code_cannot_call_it_without_its_middleware(
    tool: EvalTool,
) -> None:
    with inside("other"), pytest.raises(RuntimeError, match="cannot be called from code of other"):
        await tool.ainvoke({"code": "1"})


async def test_its_own_code_cannot_call_it_through_others_either(tool: EvalTool) -> None:
    with (
        inside("eval", "other", "eval"),
        pytest.raises(RuntimeError, match="eval cannot be called from its own code"),
    ):
        await tool.ainvoke({"code": "1"})
    assert SEEN == []
