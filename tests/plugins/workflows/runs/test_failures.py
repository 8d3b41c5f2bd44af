"""Failures as data."""

from __future__ import annotations

import pytest

from interpstack_workflows.errors import WorkflowModuleError
from interpstack_workflows.runs.failures import ScopeFailed, StepFailed, as_failed, described


def test_exceptions_are_described_by_name_and_message() -> None:
    assert described(ValueError("no")) == {"name": "ValueError", "message": "no"}
    assert described(TimeoutError()) == {"name": "TimeoutError", "message": "TimeoutError"}
    assert described(StepFailed("no", "Odd", {"a": 1})) == {
        "name": "Odd",
        "message": "no",
        "data": {"a": 1},
    }
    assert len(described(ValueError("x" * 100_000))["message"]) == 10_000


def test_scripts_get_the_described_error() -> None:
    error = as_failed(described(StepFailed("no", "Odd", {"a": 1})))
    assert (error.message, error.name, error.data, error.escapes) == ("no", "Odd", {"a": 1}, False)
    assert as_failed({}).message == "workflow request rejected"
    assert as_failed({"name": "UnknownAgent"}).escapes


def test_mistakes_in_a_script_are_not_taken_for_failures_of_an_agent() -> None:
    wrong = StepFailed("agent has no option 'shema'", "TypeError")
    assert as_failed(described(wrong)).escapes
    failed = StepFailed("'NoneType' object is not iterable", "TypeError", {"kind": "agent"})
    assert not as_failed(described(failed)).escapes


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("workflow module rejected: TypeError: x\n    at f", "x"),
        ("failed to declare workflow module: x\n    at f", "failed to declare workflow module: x"),
    ],
)
def test_messages_of_module_errors_repeat_neither_name_nor_stack(message: str, shown: str) -> None:
    error = WorkflowModuleError(message, name="TypeError", stack="    at f")
    failed = ScopeFailed.of_module(error)
    assert failed.to_json() == {"name": "TypeError", "message": shown, "stack": "    at f"}
    assert ScopeFailed("m").to_json() == {"name": "Error", "message": "m"}


@pytest.mark.parametrize(
    ("verb", "module"), [("sleep", "workflow:extra"), ("exec", "workflow:sandbox")]
)
def test_a_verb_that_was_not_imported_is_named_with_its_module(verb: str, module: str) -> None:
    thrown = f"workflow module rejected: ReferenceError: {verb} is not defined"
    failed = ScopeFailed.of_module(WorkflowModuleError(thrown, name="ReferenceError"))
    message = f'{verb} is not defined; import it: import {{ {verb} }} from "{module}"'
    assert failed.to_json()["message"] == message
