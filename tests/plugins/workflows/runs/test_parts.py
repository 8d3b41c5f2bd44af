"""Arguments of runners."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from workflow_runs import MemoryRuns

from interpstack import ConfigurationError
from interpstack_workflows.api import Scheduler, WorkflowRunner


async def _hears_later(event: Any) -> None: ...


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("store", 3, "a WorkflowStore, or its URL; got 3"),
        ("workflows", 3, "files or sources by name, or folders of workflows; got 3"),
        ("workflows", {"a": 5}, "files or sources by name, or folders of workflows; got {'a': 5}"),
        ("models", ["fast"], "selectors by name, as in {'fast': 'provider/model'}, or None; got"),
        ("sandboxes", 3, "async functions by profile, or None; got 3"),
        ("sandboxes", {"local/a": 1}, "async functions by profile, or None; got"),
        ("output_bytes", -1, "a whole number, 0 or more; got -1"),
        ("scheduler", 4, "a Scheduler, or None; got 4"),
        ("events", "print", "a function that is not async, or None; got 'print'"),
        ("events", _hears_later, "a function that is not async, or None; got <function _hears"),
        ("max_depth", 0, "a whole number, 1 or more; got 0"),
        ("max_depth", True, "a whole number, 1 or more; got True"),
        ("lease_seconds", 0, "a number above 0; got 0"),
        ("lease_seconds", float("nan"), "a number above 0; got nan"),
        ("linger_seconds", -1, "a number, 0 or more; got -1"),
        ("live_runs", 1.5, "a whole number, 1 or more; got 1.5"),
        ("clock", 0.0, "a function that is not async; got 0.0"),
    ],
)
def test_wrong_arguments_say_what_is_accepted(name: str, value: Any, accepted: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        WorkflowRunner(**{name: value})
    assert str(raised.value).startswith(f"WorkflowRunner: {name} takes {accepted}")


@pytest.mark.parametrize(("linger", "early"), [(0.0, 0.0), (0.4, 0.4), (60.0, 1.0)])
async def test_runs_are_early_no_longer_than_they_would_linger(linger: float, early: float) -> None:
    async with WorkflowRunner(linger_seconds=linger) as runner:
        assert runner._parts.early_seconds == early


@pytest.mark.parametrize("seconds", [0, -1, "1", None, True, float("nan"), float("inf")])
async def test_a_wrong_pause_between_polls_is_refused(seconds: Any) -> None:
    async with WorkflowRunner() as runner, asyncio.timeout(30):
        with pytest.raises(ConfigurationError, match="poll_seconds takes a number above 0; got "):
            await runner.serve(seconds)


def test_nothing_is_opened_for_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        WorkflowRunner(store=str(tmp_path / "runs.db"), live_runs=0)
    assert list(tmp_path.iterdir()) == []


async def test_the_smallest_arguments_are_accepted() -> None:
    runner = WorkflowRunner(
        store=MemoryRuns(),
        workflows=(),
        sandboxes=None,
        output_bytes=0,
        scheduler=Scheduler(),
        max_depth=1,
        lease_seconds=0.5,
        linger_seconds=0,
        live_runs=1,
    )
    await runner.aclose()
