"""Workflow modules on the engines that run them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interpstack import InterpreterStack
from interpstack_workflows.runtime.runtime import WorkflowRuntime


@pytest.fixture(scope="module")
def runtimes() -> Iterator[dict[str, WorkflowRuntime]]:
    """Runtimes by engine, each made when it is asked for first."""
    stacks: dict[str, InterpreterStack] = {}

    class Runtimes(dict[str, WorkflowRuntime]):
        def __missing__(self, engine: str) -> WorkflowRuntime:
            stacks[engine] = InterpreterStack(engine)
            self[engine] = WorkflowRuntime(stacks[engine].engine)
            return self[engine]

    yield Runtimes()
    for stack in stacks.values():
        stack.engine.close()


@pytest.fixture(params=["quickjs", "v8", "node"])
def runtime(
    request: pytest.FixtureRequest, runtimes: dict[str, WorkflowRuntime]
) -> WorkflowRuntime:
    """A runtime on each JavaScript engine in turn."""
    return runtimes[request.param]
