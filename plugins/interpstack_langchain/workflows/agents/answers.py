"""Prompts of agents, and the values that their answers have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from pydantic_core import PydanticSerializationError, to_jsonable_python

from interpstack import UnsupportedValue
from interpstack_agents import json_object
from interpstack_workflows.api import AgentCall

__all__ = ["NoAnswer", "is_state", "prompt_of", "value_of"]


class NoAnswer(Exception):
    """An agent has ended without an answer that a script can use."""


def prompt_of(call: AgentCall) -> str:
    """Return the text that the agent gets: the prompt, and the schema for its answer."""
    if call.schema is None or call.correction:  # a correction says it itself
        return call.prompt
    schema = json.dumps(call.schema, ensure_ascii=False)
    return f"{call.prompt}\n\nAnswer with JSON alone that matches this JSON Schema:\n{schema}"


def value_of(output: Any, call: AgentCall) -> Any:
    """Return the value of what an agent returned, as plain JSON.

    Args:
        output: The state of a graph with messages, a message, or any other value. Of a state, a
            structured response counts where the script wants one, or there is no text.
        call: The call.

    Raises:
        NoAnswer: There is no answer, or it is not JSON.
    """
    if isinstance(output, BaseMessage):
        if not (text := str(output.text)) and getattr(output, "tool_calls", None):
            raise NoAnswer("the model calls tools, and nothing runs them; make an agent of it")
        return text
    if not is_state(output):
        return _plain(output)
    written = [one for one in output["messages"] if isinstance(one, AIMessage)]
    text = str(written[-1].text) if written else ""
    structured = output.get("structured_response")
    if structured is not None and (call.schema is not None or not text):
        return _plain(structured)
    if not written:
        raise NoAnswer("the agent ended without a message of its model")
    return text


def is_state(output: Any) -> bool:
    """Return whether an output is the state of a graph with messages."""
    messages = output.get("messages") if isinstance(output, Mapping) else None
    return isinstance(messages, list) and any(isinstance(one, BaseMessage) for one in messages)


def _plain(value: Any) -> Any:
    try:
        return _json(value)
    except (PydanticSerializationError, RecursionError, UnsupportedValue, ValueError) as error:
        raise NoAnswer(f"the agent's answer is not JSON: {error}") from error


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return json_object(value, _key_text, _json)
    if isinstance(value, (list, tuple)):
        return [_json(item) for item in value]
    return to_jsonable_python(value)


def _key_text(key: Any) -> str:
    (name,) = to_jsonable_python({key: None})
    return str(name)
