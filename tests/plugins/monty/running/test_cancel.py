"""Tests of interpstack_monty.running.cancel: a cell that waits is ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fake_monty
import pytest

from interpstack_monty.running import cancel as module
from interpstack_monty.running.cancel import cancel


class Done:
    """The end of a cell."""


class Suspended:
    """A suspension that notes its answer, and goes on to the next one."""

    def __init__(self, following: Any, *pending: int) -> None:
        self._following = following
        self.pending_call_ids = list(pending)
        self.answers: list[Any] = []

    def resume(self, *answer: Any) -> Any:
        self.answers.append(answer)
        return self._following() if callable(self._following) else self._following


class Name(Suspended):
    """A look-up of a name."""


class Futures(Suspended):
    """A wait for answers."""


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MontyComplete", Done)
    monkeypatch.setattr(module, "NameLookupSnapshot", Name)
    monkeypatch.setattr(module, "FutureSnapshot", Futures)
    monkeypatch.setattr(module, "pydantic_monty", fake_monty.CLIENT)


def _raising(error: Exception) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def test_each_request_is_answered_with_an_interruption_until_the_cell_has_ended() -> None:
    second = Futures(Done(), 8)
    first = Futures(second, 7, 8)
    name = Name(first)
    call = Suspended(name)
    assert cancel(call, lambda error: False) is True  # type: ignore[arg-type]
    stop = {"exc_type": "KeyboardInterrupt", "message": "the cell was stopped"}
    assert (call.answers, name.answers) == ([(stop,)], [()])
    assert (first.answers, second.answers) == ([({7: stop},)], [({8: stop},)])


def test_a_cell_that_waits_for_nothing_cannot_be_ended() -> None:
    assert cancel(Futures(Done()), lambda error: False) is False  # type: ignore[arg-type]


def test_a_cell_that_goes_on_for_ever_is_given_up() -> None:
    endless = Suspended(lambda: endless)
    assert cancel(endless, lambda error: False) is False  # type: ignore[arg-type]
    assert len(endless.answers) == 1000


@pytest.mark.parametrize("stopped", [True, False])
def test_an_error_ends_the_cell_unless_monty_stopped_it(stopped: bool) -> None:
    error = fake_monty.MontyRuntimeError(KeyboardInterrupt("x"))  # type: ignore[arg-type]
    asked: list[Exception] = []

    def given_up(found: Exception) -> bool:
        asked.append(found)
        return stopped

    assert cancel(Suspended(_raising(error)), given_up) is not stopped  # type: ignore[arg-type]
    assert asked == [error]


def test_a_lost_session_is_the_callers() -> None:
    error = fake_monty.MontyError(OSError("gone"))
    with pytest.raises(fake_monty.MontyError, match="gone"):
        cancel(Suspended(_raising(error)), lambda error: False)  # type: ignore[arg-type]
