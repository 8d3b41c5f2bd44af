"""Names of a model's calls, also where it gives one id to several."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from interpstack import ConfigurationError
from interpstack_langchain.evals.call_names import SiblingCalls, last_calls, unique_names


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
    for damaged in (None, 5, old):
        with pytest.raises(ConfigurationError, match=r"the messages in .* are not a list"):
            last_calls({"messages": damaged})


def _request(one: dict[str, Any], *calls: dict[str, Any], path: Any = None) -> Any:
    config = {"metadata": {"langgraph_path": path}} if path else {}
    return SimpleNamespace(
        tool_call=one,
        state={"messages": [AIMessage("", id="m", tool_calls=list(calls))]},
        runtime=SimpleNamespace(config=config),
    )


def _name(*calls: Any, **place: Any) -> str:
    return SiblingCalls.of(_request(*calls, **place)).name


def test_two_calls_of_one_id_are_distinguished() -> None:
    first, second = call("a", code="1"), call("a", code="2")
    by_task = [_name(first, first, second, path=("__pregel_push", n)) for n in (0, 1)]
    assert by_task == ["a", "a#2"]
    assert [_name(one, first, second) for one in (first, second)] == ["a", "a#2"]
    assert _name(first, first) == "a"
    number, truth = call("a", code="1", extra=[1]), call("a", code="1", extra=[True])
    assert [_name(one, number, truth) for one in (number, truth)] == ["a", "a#2"]


def test_an_id_may_have_been_answered_in_an_earlier_turn() -> None:
    old = [AIMessage("", id="m1", tool_calls=[call("a")]), ToolMessage("1", tool_call_id="a")]
    _, calls = last_calls({"messages": [*old, AIMessage("", id="m2", tool_calls=[call("a")])]})
    assert [one["id"] for one in calls] == ["a"]


def test_calls_of_some_tools_are_named_if_the_call_is_one_of_them() -> None:
    first, second, other = call("a"), call("b"), {**call("c"), "name": "other"}
    calls = SiblingCalls.of(_request(second, first, second, other))
    assert (calls.message, calls.name, list(calls.names)) == ("m", "b", ["a", "b", "c"])
    assert calls.of_tools(["eval"]) == ["a", "b"]
    assert calls.of_tools(["other"]) == []
