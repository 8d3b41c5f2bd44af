"""Exceptions of workflows carry what callers act on."""

from __future__ import annotations

import pickle

import pytest

from interpstack import InterpstackError
from interpstack_workflows import errors
from interpstack_workflows.api import MetadataError, WorkflowError, WorkflowModuleError


@pytest.mark.parametrize("name", errors.__all__)
def test_each_is_one_of_the_framework(name: str) -> None:
    cls = getattr(errors, name)
    assert issubclass(cls, WorkflowError)
    assert issubclass(cls, InterpstackError)


def test_errors_name_their_place() -> None:
    error = MetadataError("no name", 3, 7)
    assert (str(error), error.line, error.column) == ("no name", 3, 7)
    failed = WorkflowModuleError("x is not defined", name="ReferenceError", stack="at main")
    assert (failed.name, failed.stack) == ("ReferenceError", "at main")


@pytest.mark.parametrize(
    "error", [MetadataError("m", 1, 2), WorkflowModuleError("m", name="E", stack="s")]
)
def test_errors_survive_another_process(error: WorkflowError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), vars(copy)) == (str(error), vars(error))
