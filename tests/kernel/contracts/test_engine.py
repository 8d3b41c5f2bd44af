"""Defaults of the engine protocol, on which every engine may rely."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from interpstack import Cell, ConfigurationError, Engine, Execution, Progress, Realm, Settlement
from interpstack_testing import FakeEngine


class _Noting(Execution):
    """Notes what is called, in which thread."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, Any]] = []
        self.threads: set[int] = set()
        self.block: threading.Event | None = None
        self.polling = threading.Event()

    def _note(self, what: str, value: Any) -> None:
        self.threads.add(threading.get_ident())
        self.noted.append((what, value))

    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        self._note("poll", (now, cpu_seconds))
        self.polling.set()
        if self.block is not None:
            assert self.block.wait(20)
            self._note("stopped", None)
        return Progress(cpu_seconds=1.5)

    def settle(self, settlements: Sequence[Settlement]) -> None:
        self._note("settle", list(settlements))

    def abort(self, reason: str) -> Progress:
        return Progress()

    def interrupt(self) -> None:
        assert self.block is not None
        self.block.set()


async def test_answers_are_settled_before_the_guest_runs_and_checked_off_the_loop() -> None:
    execution, answer = _Noting(), Settlement(1, "2")

    def check(progress: Progress) -> Progress:
        execution._note("check", progress.cpu_seconds)
        return Progress(cpu_seconds=2.5)

    progress = await execution.apoll(7.0, 0.5, [answer], check)
    assert progress.cpu_seconds == 2.5
    assert execution.noted == [("settle", [answer]), ("poll", (7.0, 0.5)), ("check", 1.5)]
    assert len(execution.threads) == 1
    assert threading.get_ident() not in execution.threads


async def test_a_poll_without_answers_settles_nothing() -> None:
    execution = _Noting()
    assert (await execution.apoll(7.0, None)).cpu_seconds == 1.5
    assert execution.noted == [("poll", (7.0, None))]


async def test_a_cancelled_poll_interrupts_the_guest_and_waits_until_it_has_stopped() -> None:
    execution = _Noting()
    execution.block = threading.Event()
    task = asyncio.ensure_future(execution.apoll(7.0, None))
    assert await asyncio.to_thread(execution.polling.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert execution.noted[-1] == ("stopped", None)


def test_cells_of_other_languages_are_refused_with_those_that_run() -> None:
    class Two(FakeEngine):
        name, language, dialects = "two", "klingon", ("old-klingon",)

    for language in (None, "klingon", "old-klingon"):
        Two.check_language(Cell(source="1", language=language))
    with pytest.raises(ConfigurationError, match="'two' runs klingon and old-klingon, not 'x'"):
        Two.check_language(Cell(source="1", language="x"))


def test_an_engine_runs_no_other_unless_it_says_so() -> None:
    with pytest.raises(
        ConfigurationError, match="'fake' cannot run another engine; name 'fake' al"
    ):
        FakeEngine.around(FakeEngine)
    assert FakeEngine().runs is FakeEngine


class _Bare(Realm):
    """A realm of an engine that declares no capability."""

    def bind(self, bridges: Any) -> None: ...

    def start(self, cell: Cell) -> Execution:
        return _Noting()

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda realm: realm.image(), "_Bare has no images"),
        (lambda realm: realm.resume(), "_Bare cannot suspend"),
        (lambda realm: realm.values(), "_Bare has no portable values"),
        (lambda realm: realm.load({}), "_Bare has no portable values"),
        (lambda realm: realm.names(), "_Bare has no portable values"),
        (lambda realm: realm.start(Cell(source="")).undo(), "_Noting cannot take back"),
    ],
)
def test_what_an_engine_lacks_is_named(use: Any, message: str) -> None:
    with pytest.raises(NotImplementedError, match=message):
        use(_Bare())


def test_names_are_those_of_the_values_unless_the_engine_knows_better() -> None:
    class Named(_Bare):
        def values(self) -> dict[str, Any]:
            return {"b": 1, "a": 2}

    assert Named().names() == ("b", "a")
    assert Named().members(["b"]) == ()


def test_engines_declare_what_they_must() -> None:
    with pytest.raises(TypeError, match="abstract"):
        type("Empty", (Engine,), {})()
