"""Prompts, and values of answers."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from agent_graphs import message_with_calls
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel

from interpstack_langchain.workflows.agents.answers import NoAnswer, is_state, prompt_of, value_of
from interpstack_workflows.api import AgentCall

_TEXT = AgentCall(prompt="p")
_JSON = AgentCall(prompt="p", schema={"type": "object"})


class _Dated(BaseModel):
    day: date


def test_a_prompt_says_which_schema_is_wanted() -> None:
    assert prompt_of(_TEXT) == "p"
    assert prompt_of(_JSON).startswith("p\n\nAnswer with JSON alone that matches")
    assert prompt_of(_JSON).endswith('{"type": "object"}')
    assert prompt_of(AgentCall(prompt="p", schema={}, correction=True)) == "p"


@pytest.mark.parametrize(
    ("output", "call", "value"),
    [
        ("text", _TEXT, "text"),
        (AIMessage("text"), _TEXT, "text"),
        (AIMessage([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), _TEXT, "ab"),
        ({"messages": [AIMessage("a"), AIMessage("b"), HumanMessage("c")]}, _TEXT, "b"),
        ('```json\n{"a": 1}\n```', _JSON, '```json\n{"a": 1}\n```'),  # the schema decides
        (_Dated(day=date(2020, 1, 2)), _TEXT, {"day": "2020-01-02"}),
        ({"messages": ["no message"]}, _TEXT, {"messages": ["no message"]}),
        ([1, (2, None)], _TEXT, [1, [2, None]]),
        ({1: {date(2020, 1, 2): "a"}}, _TEXT, {"1": {"2020-01-02": "a"}}),
    ],
)
def test_outputs_have_values(output: Any, call: AgentCall, value: Any) -> None:
    assert value_of(output, call) == value


def test_a_structured_response_counts_where_one_is_wanted() -> None:
    state = {
        "messages": [AIMessage("text")],
        "structured_response": _Dated(day=date(2020, 1, 2)),
    }
    assert value_of(state, _JSON) == {"day": "2020-01-02"}
    assert value_of(state, _TEXT) == "text"
    silent = {**state, "messages": [AIMessage("")]}
    assert value_of(silent, _TEXT) == {"day": "2020-01-02"}


def test_an_end_without_an_answer_is_an_error() -> None:
    assert is_state({"messages": [HumanMessage("p")]})
    with pytest.raises(NoAnswer, match="ended without a message of its model"):
        value_of({"messages": [HumanMessage("p")]}, _TEXT)
    with pytest.raises(NoAnswer, match="calls tools, and nothing runs them"):
        value_of(message_with_calls(0, [("t", {})]), _TEXT)
    with pytest.raises(NoAnswer, match="is not JSON"):
        value_of({"a": object()}, _TEXT)


@pytest.mark.parametrize("output", [{1: "a", "1": "b"}, [({None: 1, "None": 2},)]])
def test_an_answer_of_which_json_would_lose_a_part_is_an_error(output: Any) -> None:
    with pytest.raises(NoAnswer, match=r"two keys of a dictionary are '(1|None)' as text"):
        value_of(output, _TEXT)
