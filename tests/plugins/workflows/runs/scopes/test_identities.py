"""Each kind of request has a kind, inputs and, where it may have one, a key."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack_commands import ExecSpec
from interpstack_workflows.runs.scopes.identities import identity
from interpstack_workflows.runtime.boundary import (
    AgentRequest,
    AskRequest,
    CheckpointRequest,
    ExecRequest,
    ScriptPath,
    SleepRequest,
    WaitRequest,
    WorkflowRequest,
)


@pytest.mark.parametrize(
    ("request_", "kind", "inputs", "key"),
    [
        (AgentRequest("1", "p"), "agent", {"prompt": "p", "options": {}}, None),
        (
            AgentRequest("1", "p", {"key": "k", "model": "m"}),
            "agent",
            {"prompt": "p", "options": {"model": "m"}},
            "k",
        ),
        (AgentRequest("1", "p", {"key": ""}), "agent", {"prompt": "p", "options": {}}, None),
        (WorkflowRequest("1", "w", 3), "workflow", {"ref": "w", "args": 3}, None),
        (
            WorkflowRequest("1", ScriptPath("a.js")),
            "workflow",
            {"ref": {"scriptPath": "a.js"}, "args": None},
            None,
        ),
        (SleepRequest("1", 5), "sleep", {"durationMs": 5}, None),
        (AskRequest("1", "q", {"key": "k"}), "ask", {"question": "q", "options": {}}, "k"),
        (WaitRequest("1", "s"), "wait", {"signal": "s", "options": {}}, None),
        (CheckpointRequest("1", "l", 4), "checkpoint", {"label": "l"}, None),
    ],
)
def test_requests_are_known_by_what_they_ask(
    request_: Any, kind: str, inputs: dict[str, Any], key: str | None
) -> None:
    assert identity(request_) == (kind, inputs, key)


def test_a_command_is_known_by_all_of_it() -> None:
    kind, inputs, _ = identity(ExecRequest("1", "local/a", ExecSpec("ls", ("-l",), env={"A": "b"})))
    assert kind == "exec"
    assert inputs["request"] == {
        "command": "ls",
        "args": ("-l",),
        "cwd": None,
        "env": {"A": "b"},
        "stdin": None,
    }


def test_anything_else_is_refused() -> None:
    with pytest.raises(TypeError, match="unknown request int"):
        identity(3)
