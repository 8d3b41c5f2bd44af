"""The host's side of a module, fed with what an engine may say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interpstack import Completion, EngineFailure, GuestError, Notification, Progress, Request
from interpstack_workflows.runtime.boundary import (
    AgentRequest,
    ModuleBudget,
    ValueResolution,
    ValueWithBudget,
    WorkflowModuleInput,
)
from interpstack_workflows.runtime.module_run import ModuleRun


def begun(**fields: Any) -> ModuleRun:
    run = ModuleRun(WorkflowModuleInput(source="export default 1", **fields), 10**6)
    asked = [Request(1, "workflow.start", None), Request(2, "module", "@/workflow")]
    assert run.read(Progress(requests=asked)).requests == []
    return run


def test_the_guest_gets_its_input_and_its_module() -> None:
    run = begun(args={"a": 1}, budget=ModuleBudget(5, 1), requests=9)
    assert run.needs_poll
    start, module = run.settlements()
    given = {"args": '{"a": 1}', "budget": [5, 1], "requests": 9, "topLevel": False}
    assert json.loads(start.text) == given
    assert (json.loads(module.text), sorted(module.modules)) == (
        "workflow.js",
        ["workflow.js", "workflow:extra", "workflow:sandbox"],
    )
    assert not run.needs_poll


def test_other_modules_are_refused() -> None:
    run = begun()
    run.settlements()
    run.read(Progress(requests=[Request(3, "module", "@/workflow"), Request(4, "module", 5)]))
    for refused in run.settlements():
        assert refused.error is not None
        assert refused.error.message.startswith("workflow imports are restricted; only ")


def test_requests_are_open_until_they_are_resolved() -> None:
    run = begun()
    run.settlements()
    progress = run.read(Progress(requests=[Request(7, "workflow.agent", ["1", "p", None])]))
    assert (progress.requests, progress.awaiting) == ([AgentRequest("1", "p")], ("1",))
    assert not run.resolve("2", ValueWithBudget(1, ModuleBudget(5, 2)))
    assert run.resolve("1", ValueResolution("v"))
    assert not run.resolve("1", ValueResolution("v"))
    (answer,) = run.settlements()
    assert (answer.id, json.loads(answer.text)) == (7, ["v", [5, 2], False])


def test_a_request_that_cannot_be_read_is_answered() -> None:
    run = begun()
    run.settlements()
    progress = run.read(Progress(requests=[Request(7, "workflow.agent", ["1", "p", "[" * 10**5])]))
    assert progress.requests == []
    (answer,) = run.settlements()
    assert answer.error == GuestError("TypeError", "the value is nested too deeply")


def ending(run: ModuleRun, *calls: Notification, **fields: Any) -> Any:
    run.settlements()
    return run.read(Progress(notifications=calls, **fields))


def test_results() -> None:
    ended = Notification("workflow.result", ['{"a":1}', 2])
    progress = ending(begun(), ended, completion=Completion())
    assert progress.complete is not None
    assert (progress.complete.output.result, progress.complete.output.dropped) == ({"a": 1}, 2)


@pytest.mark.parametrize(
    ("calls", "fields", "message"),
    [
        ([], {"exhausted": True}, "the workflow computed for 5 seconds without waiting"),
        ([], {"failure": GuestError("OutOfMemory", "no room")}, "no room"),
        (
            [Notification("workflow.result", ["{", 0])],
            {"completion": Completion()},
            "failed to convert",
        ),
        ([], {"completion": Completion()}, "failed to convert workflow result: "),
        (
            [Notification("workflow.failed", ["run", 0, "{}"])],
            {"completion": Completion(error=GuestError("Own", "m", "    at f (w.js:1:2)\n"))},
            "workflow module rejected: Own: m\n    at f (w.js:1:2)",
        ),
    ],
)
def test_errors(calls: list[Notification], fields: Any, message: str) -> None:
    progress = ending(begun(), *calls, **fields)
    assert progress.complete is None
    assert str(progress.error).startswith(message)


def test_a_damaged_guest_is_an_engine_failure() -> None:
    with pytest.raises(EngineFailure):
        ending(begun(), Notification("workflow.calls", 5))
