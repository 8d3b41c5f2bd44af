"""Events of streams, as the demos read them."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from interpstack_demo.streams import is_call, messages_of


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"type": "tool", "phase": "start"}, True),
        ({"type": "tool", "phase": "complete"}, False),
        ({"type": "subagent", "phase": "start"}, False),
        ("text", False),
    ],
)
def test_calls(event: Any, expected: bool) -> None:
    assert is_call(event) is expected


def test_messages() -> None:
    message = AIMessage("x")
    update = {
        "a": {"messages": [message]},
        "b": None,
        "c": {"other": 1},
        "d": {"messages": message},
    }
    assert list(messages_of(update)) == [message]
    assert list(messages_of(("not", "an update"))) == []
