"""The bridges and modules behind the verbs."""

from __future__ import annotations

import pytest

from interpstack_workflows.runtime.boundary import WorkflowModuleInput
from interpstack_workflows.runtime.sources import bridge_set, module_sources


def test_no_verb_has_a_bridge_that_code_sees() -> None:
    bridges = list(bridge_set())
    assert all(bridge.hidden and bridge.raw for bridge in bridges)
    assert {bridge.name for bridge in bridges if not bridge.awaited} == {
        "workflow.calls",
        "workflow.failed",
        "workflow.result",
    }


def test_nobody_calls_the_handlers() -> None:
    bridge = next(iter(bridge_set()))
    with pytest.raises(NotImplementedError, match="takes the messages of its guest itself"):
        bridge.handler(None)


def test_modules_of_a_workflow() -> None:
    start = WorkflowModuleInput(source="1", source_name="a.ts", modules={"team:x": "2"})
    sources = module_sources(start)
    assert list(sources) == ["a.ts", "workflow:extra", "workflow:sandbox", "team:x"]
    assert (sources["a.ts"], sources["team:x"]) == ("1", "2")
