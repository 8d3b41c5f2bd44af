"""The guard of a cell: what it admits, counts once, restores, and cuts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from interpstack import (
    Bridge,
    BridgeSet,
    Cell,
    GuestError,
    Limits,
    Outcome,
    Request,
    RunRecord,
    Settlement,
    Step,
)
from interpstack_accounts.api import Account, Budget, BudgetExceeded
from interpstack_accounts.guard import AccountGuard
from interpstack_accounts.records import SpendingRun

_TOOL = Bridge(name="tools.pay", handler=print, raw=True, tool="pay-out")
_TASK = Bridge(name="task", handler=print, raw=True, dispatches=True)
_CELL = Cell(source="", seed=0x1F)


class _Record(RunRecord):
    """The record of a run that is made again."""

    repeats = True

    def __init__(self, *amounts: Mapping[str, Any]) -> None:
        self._amounts = amounts

    def amounts(self) -> Sequence[Mapping[str, Any]]:
        return self._amounts


def _guard(
    account: Account, record: RunRecord | None = None, resumed: bool = False
) -> AccountGuard:
    guard = AccountGuard(account)
    guard.begin(_CELL, record or RunRecord(), resumed=resumed)
    return guard


def _request(number: int, bridge: Bridge = _TOOL) -> Request:
    return Request(number, bridge.name, None)


def test_a_call_draws_on_all_its_kinds() -> None:
    account = Account(
        Budget(requests=9, dispatches=9, tool_requests={"pay-out": 9, "tools.pay": 9})
    )
    guard = _guard(account)
    assert guard.admit(_TOOL, _request(1)) is None
    assert guard.admit(_TASK, _request(2, _TASK)) is None
    kinds = ("requests", "dispatches", "tool_requests:pay-out", "tool_requests:tools.pay")
    assert [account.used(kind) for kind in kinds] == [2, 1, 1, 1]


def test_a_refusal_draws_nothing_and_names_the_tool_and_the_budget() -> None:
    account = Account(Budget(requests=9, tool_requests={"pay-out": 1}), name="this turn")
    guard = _guard(account)
    assert guard.admit(_TOOL, _request(1)) is None
    error = guard.admit(_TOOL, _request(2))
    assert error is not None
    assert error.name == "BudgetExceeded"
    assert error.message == "the budget of this turn is used up: 1 of 1 calls of pay-out"
    assert error.data == {
        "tool": "tools.pay",
        "budget": "tool_requests:pay-out",
        "limit": 1,
        "left": 0,
    }
    assert account.used("requests") == 1


def test_a_call_is_drawn_once_in_all_runs_of_its_cell() -> None:
    account = Account(Budget(requests=2))
    first = _guard(account, _Record())
    assert (first.cell, first.fresh) == ("1f", True)
    for number in (1, 2):
        assert first.admit(_TOOL, _request(number)) is None
    again = _guard(account, _Record())
    assert not again.fresh
    again.replayed(_TOOL, _request(1), Settlement(1))
    assert again.admit(_TOOL, _request(2)) is None  # it was counted before
    assert account.used("requests") == 2
    assert again.admit(_TOOL, _request(3)) is not None


def test_another_process_counts_replayed_calls_but_no_refused_ones() -> None:
    account = Account(Budget(requests=9))
    guard = _guard(account, _Record())
    guard.replayed(_TOOL, _request(1), Settlement(1))
    guard.replayed(_TOOL, _request(2), Settlement(2, error=GuestError("E", ""), refused=True))
    guard.replayed(None, Request(3, "a.gone", None), Settlement(3))
    assert account.used("requests") == 2


def test_a_run_begins_with_what_earlier_processes_recorded() -> None:
    before = Account(Budget(requests=2))
    before.spend({"requests": 2}, once="1f:1")
    record = SpendingRun().record(before.spent()[0])
    account = Account(Budget(requests=2))
    guard = _guard(account, _Record(record))
    assert account.used("requests") == 2
    assert guard.admit(_TOOL, _request(1)) is None  # known, so it draws nothing
    assert guard.admit(_TOOL, _request(2)) is not None


def test_a_new_cell_is_refused_when_time_is_used_up_but_one_in_the_middle_goes_on() -> None:
    account = Account(Budget(cpu_seconds=1))
    account.spend({"cpu_seconds": 2})
    for record in (None, _Record()):
        with pytest.raises(BudgetExceeded, match="1 of 1 CPU seconds"):
            _guard(account, record)
    assert _guard(account, _Record(), resumed=True).fresh


def test_a_step_restores_amounts_and_the_calls_behind_them() -> None:
    account = Account(Budget(requests=9))
    guard = _guard(account, _Record())
    refused = Settlement(2, error=GuestError("E", ""), refused=True)
    step = Step(0.0, (Settlement(1), refused), {"requests": 3})
    guard.restored(step, [_request(1), _request(2)])
    guard.restored(step, [])
    assert account.used("requests") == 3
    guard.replayed(_TOOL, _request(1), Settlement(1))
    assert account.used("requests") == 3  # part of the amount
    assert guard.admit(_TOOL, _request(2)) is None
    assert account.used("requests") == 4  # it was refused then
    guard.restored(Step(0.0), [_request(5)])
    assert guard.admit(_TOOL, _request(5)) is None
    assert account.used("requests") == 5


def test_calls_of_a_suspended_run_count_where_the_account_is_new() -> None:
    bridges = BridgeSet({one.name: one for one in (_TOOL, _TASK)})
    made = {"tools.pay": 2, "task": 1, "a.gone": 1}
    account = Account(Budget(requests=9, dispatches=9, tool_requests={"pay-out": 9}))
    _guard(account, _Record(), resumed=True).resumed(bridges, made)
    assert [account.used(k) for k in ("requests", "dispatches", "tool_requests:pay-out")] == [
        4,
        1,
        2,
    ]
    _guard(account, _Record(), resumed=True).resumed(bridges, made)  # in the process that made them
    assert account.used("requests") == 4


@pytest.mark.parametrize(
    ("cpu", "wall", "kind"),
    [(None, None, "cpu_seconds"), (5.0, 9.0, "cpu_seconds"), (0.5, None, None), (None, 0.5, None)],
)
def test_the_tightest_limit_names_who_ran_out_of_time(
    cpu: float | None, wall: float | None, kind: str | None
) -> None:
    guard = _guard(Account(Budget(cpu_seconds=1, wall_seconds=1000)))
    error = guard.exceeded(cpu, wall)
    assert (None if error is None else error.data["budget"]) == kind
    assert guard.allowance("cpu_seconds") == 1
    guard.computed(0.25)
    assert guard.allowance("cpu_seconds") == 0.75


@pytest.mark.parametrize(
    ("left", "text", "console"),
    [
        (100, "result", "line"),
        (10, "result", "line"),
        (8, "result", "li"),
        (4, "resu", ""),
        (1, "r", ""),
    ],
)
def test_output_beyond_the_budget_is_cut_console_first(left: int, text: str, console: str) -> None:
    account = Account(Budget(output_bytes=left))
    done = _guard(account).finish(Outcome(text="result", console="line"), Limits())
    assert (done.text, done.console) == (text, console)
    assert done.omitted_chars == 6 - len(text)
    assert done.console_omitted_chars == 4 - len(console)
    assert bool(done.notices) is (left < 10)
    assert account.used("output_bytes") == min(left, 10)


def test_characters_are_not_cut_in_the_middle_and_errors_are_cut_too() -> None:
    guard = _guard(Account(Budget(output_bytes=4)))
    done = guard.finish(Outcome(error=GuestError("E", "日本語", "at 1")), Limits())
    assert done.error == GuestError("E", "日")
    assert "the rest of the output is left out" in done.notices[0]


def test_only_what_is_shown_draws_on_the_budget() -> None:
    account = Account(Budget(output_bytes=100))
    limits = Limits(result_chars=10, console_chars=5)
    done = _guard(account).finish(Outcome(text="x" * 1000, console="y" * 1000), limits)
    assert account.used("output_bytes") == 15
    assert done.notices == ()
