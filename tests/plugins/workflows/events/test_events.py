"""The JSON form of events."""

from __future__ import annotations

import json

import attrs
import pytest

from interpstack_workflows.events import events
from interpstack_workflows.events.events import AgentCompletedEvent, LogEvent, WorkflowEvent


def test_an_event_of_a_child_names_its_place() -> None:
    event = AgentCompletedEvent(
        run_id="run_a",
        scope="root/sig_1",
        step="sig_2",
        elapsed_nanos=5,
        agent="writer",
        session_id="s",
        usage={"output_tokens": 3},
        prompt_preview="Write",
    )
    assert event.to_json() == {
        "type": "workflow.agent_completed",
        "elapsedNanos": 5,
        "metadata": {
            "runId": "run_a",
            "scope": "root/sig_1",
            "stepId": "sig_2",
            "workflowDepth": 1,
            "parentStepId": "sig_1",
            "sessionId": "s",
        },
        "agent": "writer",
        "sessionId": "s",
        "usage": {"output_tokens": 3},
        "replayed": False,
        "promptPreview": "Write",
    }


def test_an_event_of_the_root_has_no_parent() -> None:
    event = LogEvent(run_id="run_a", scope="root", message="hello")
    assert (event.depth, event.parent_step) == (0, None)
    assert "parentStepId" not in event.to_json()["metadata"]


@pytest.mark.parametrize("name", [name for name in events.__all__ if name != "WorkflowEvent"])
def test_each_event_has_a_type_of_its_own_and_is_json(name: str) -> None:
    kind: type[WorkflowEvent] = getattr(events, name)
    values = {"str": "x", "float": 1.0, "bool": True}
    needed = {
        field.name: values.get(str(field.type), {})
        for field in attrs.fields(kind)
        if field.default is attrs.NOTHING
    }
    shown = kind(**needed).to_json()
    assert json.loads(json.dumps(shown)) == shown
    kinds = [getattr(events, other).type for other in events.__all__]
    assert kinds.count(kind.type) == 1
