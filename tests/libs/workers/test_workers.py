"""Tests of interpstack_workers.workers: answers, and defaults of the contracts."""

from __future__ import annotations

from typing import Any

import pytest
from fake_workers import LoopbackWorker

from interpstack import ConfigurationError, EngineFailure, ImageError
from interpstack_testing import FakeEngine
from interpstack_workers import (
    Command,
    MalformedMessage,
    Overloaded,
    Pool,
    Worker,
    WorkerAnswer,
    checked_answer,
)


@pytest.mark.parametrize(
    "kind", [ConfigurationError, EngineFailure, ImageError, NotImplementedError]
)
def test_an_error_is_raised_as_the_engine_raised_it(kind: type[Exception]) -> None:
    with pytest.raises(kind, match="wrong"):
        checked_answer({"error": [kind.__name__, "wrong"]}, b"")


def test_an_answer_keeps_its_attachment() -> None:
    assert checked_answer({"done": None}, b"data") == WorkerAnswer({"done": None}, b"data")


@pytest.mark.parametrize(
    "error",
    [
        None,
        [],
        ["EngineFailure"],
        ["OSError", "x"],
        ["EngineFailure", 5],
        [["x"], "x"],
        "EngineFailure",
    ],
)
def test_other_errors_are_malformed(error: Any) -> None:
    with pytest.raises(MalformedMessage, match="a malformed error"):
        checked_answer({"error": error}, b"")


def test_a_message_is_bounded() -> None:
    with pytest.raises(MalformedMessage, match="20001 characters where at most 20000 fit"):
        checked_answer({"error": ["EngineFailure", "x" * 20_001]}, b"")


def test_a_worker_that_is_asked_in_threads_takes_no_other_commands() -> None:
    class Plain(LoopbackWorker, Worker):  # type: ignore[misc]
        busy = False

    assert Plain(FakeEngine()).submit(Command({}, seconds=None)) is None


def test_a_pool_admits_all_cells_unless_it_says_otherwise() -> None:
    class Plain(Pool):
        place = should_move = place_instead = threads = None  # type: ignore[assignment]

    pool = Plain()  # type: ignore[abstract,unused-ignore]
    worker: Any = LoopbackWorker(FakeEngine())
    pool.admit(1)
    pool.wait_for_turn(worker)
    assert not pool.stays(worker)


def test_an_overload_says_when_to_come_back() -> None:
    error = Overloaded("full", 1.5)
    assert (str(error), error.retry_seconds) == ("full", 1.5)
    assert isinstance(error, EngineFailure)
