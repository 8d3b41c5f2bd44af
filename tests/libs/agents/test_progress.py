"""Progress events follow a call, and never touch it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from interpstack_agents import ProgressEmitter


class Pause(Exception):
    """No failure of a call."""


async def give(value: Any) -> Any:
    if isinstance(value, BaseException):
        raise value
    return value


def _without_time(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: v for key, v in event.items() if key != "duration_ms"} for event in events]


async def test_a_call_has_a_start_and_an_end() -> None:
    events: list[dict[str, Any]] = []
    progress = ProgressEmitter(events.append, {"eval": "e"}, (Pause,))
    assert await progress.around({"id": 1}, {"input": "x"}, give(7)) == 7
    with pytest.raises(ValueError, match="no"):
        await progress.around({"id": 2}, {}, give(ValueError("no" * 1000)))
    with pytest.raises(Pause):
        await progress.around({"id": 3}, {}, give(Pause()))
    assert _without_time(events) == [
        {"eval": "e", "id": 1, "phase": "start", "input": "x"},
        {"eval": "e", "id": 1, "phase": "complete"},
        {"eval": "e", "id": 2, "phase": "start"},
        {"eval": "e", "id": 2, "phase": "error", "error": "no" * 250},
        {"eval": "e", "id": 3, "phase": "start"},
    ]
    assert all(isinstance(event["duration_ms"], int) for event in (events[1], events[3]))


async def test_a_listener_that_fails_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def fail(event: dict[str, Any]) -> None:
        raise RuntimeError("deaf")

    progress = ProgressEmitter(fail, {"eval": "e"})
    with caplog.at_level(logging.WARNING):
        assert await progress.around({"id": 1}, {}, give(7)) == 7
    assert len(caplog.records) == 1


async def test_without_a_listener_calls_run_alike() -> None:
    assert await ProgressEmitter(None).around({"id": 1}, {}, give(7)) == 7
