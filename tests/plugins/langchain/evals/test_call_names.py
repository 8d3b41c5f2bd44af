"""Names of a model's calls, also where it gives one id to several."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from interpstack_langchain.evals.call_names import call_name, last_calls, unique_names


def call(call_id: str, **args: Any) -> dict[str, Any]:
    return {"name": "eval", "args": args, "id": call_id, "type": "tool_call"}


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        ([], []),
        (["a", "b"], ["a", "b"]),
        (["a", "a", "a"], ["a", "a#2", "a#3"]),
        (["a", "a", "a#2"], ["a", "a#2#", "a#2"]),
    ],
)
def test_names_are_unique_and_begin_with_the_id(ids: list[str], names: list[str]) -> None:
    assert unique_names(ids) == names
    assert len(set(unique_names(ids))) == len(ids)


def test_calls_without_an_answer_of_the_last_message() -> None:
    old = AIMessage("", id="m1", tool_calls=[call("x")])
    new = AIMessage("", id="m2", tool_calls=[call("a"), call("b")])
    state = {"messages": [old, new, ToolMessage("done", tool_call_id="a")]}
    message, calls = last_calls(state)
    assert (message, [one["id"] for one in calls]) == ("m2", ["b"])
    assert last_calls({"messages": [HumanMessage("hi")]}) == ("", [])
    assert last_calls(object()) == ("", [])


def _request(one: dict[str, Any], *calls: dict[str, Any], path: Any = None) -> Any:
    config = {"metadata": {"langgraph_path": path}} if path else {}
    return SimpleNamespace(
        tool_call=one,
        state={"messages": [AIMessage("", id="m", tool_calls=list(calls))]},
        runtime=SimpleNamespace(config=config),
    )


def test_two_calls_of_one_id_are_told_apart() -> None:
    first, second = call("a", code="1"), call("a", code="2")
    by_task = [call_name(_request(first, first, second, path=("__pregel_push", n))) for n in (0, 1)]
    assert by_task == ["a", "a#2"]
    assert [call_name(_request(one, first, second)) for one in (first, second)] == ["a", "a#2"]
    assert call_name(_request(first, first)) == "a"
