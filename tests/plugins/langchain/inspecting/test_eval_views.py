"""Evals as they are shown: their states, calls, variables and budgets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
from inspected_agents import database, source
from recorded_steps import Thread, answer, call

from interpstack_inspect.api import Binding, InnerCall, PauseEvent
from interpstack_langchain.durability.checkpoint_writes import JOURNAL_CHANNEL
from interpstack_langchain.inspecting.eval_views import eval_record, eval_summary
from interpstack_langchain.replay.recorded_evals import recorded_evals


async def test_variables_before_and_after(tmp_path: Path) -> None:
    place = database(tmp_path / "a.db", {"t": ["var n = 1; var old = 'x'", "n = 2; var m = [n]"]})
    first, second = [await source(place).eval("t", number) for number in (1, 2)]
    assert first.bindings == [
        Binding(name="n", before=None, after="1"),
        Binding(name="old", before=None, after='"x"'),
    ]
    assert second.bindings == [
        Binding(name="m", before=None, after="[2]"),
        Binding(name="n", before="1", after="2"),
        Binding(name="old", before='"x"', after='"x"'),
    ]
    assert second.engine == "quickjs"
    assert second.state_bytes is not None
    assert second.stored_bytes is not None
    assert second.state_bytes > second.stored_bytes > 0


async def test_calls_a_pause_and_a_failure(tmp_path: Path) -> None:
    steps = ["await tools.look({n: 1}); await tools.pay({amount: 5})"]
    place = database(tmp_path / "a.db", {"t": steps, "f": ["null.x"]})
    one = await source(place).eval("t", 1)
    assert one.summary.status == "paused"
    look, pay, pause = one.events
    assert isinstance(look, InnerCall)
    assert isinstance(pay, InnerCall)
    assert isinstance(pause, PauseEvent)
    assert (look.bridge, look.input, look.answer) == ("tools.look", '{"n":1}', '"seen 1"')
    assert (pay.bridge, pay.answer, pay.answered) == ("tools.pay", None, None)
    first, second = one.computing
    assert (
        0 <= first.began <= first.ended == look.asked <= second.began <= second.ended == pay.asked
    )
    assert pause.waits_for == ['approval of pay({"amount": 5})']
    assert one.summary.reason == 'waits for approval of pay({"amount": 5})'
    assert (one.answer, one.language) == (None, "javascript")
    failed = await source(place).eval("f", 1)
    assert failed.summary.status == "failed"
    assert failed.answer is not None
    assert "TypeError" in failed.answer


def test_amounts_that_were_drawn() -> None:
    thread = Thread()
    entry = {"run": "r", "number": 1, "drawn": {"tokens": 7.0}, "known": [], "dearest": {}}
    key = "t||c001|a"
    spent = [("task", JOURNAL_CHANNEL, {"of": key, "spent": entry})]
    thread.step(call("a", "1"), writes=[*answer("a", "<result>1</result>"), *spent])
    saver: Any = thread
    (found,) = recorded_evals(saver, "t", ["eval"])
    assert found.key == key
    assert eval_record(saver, found, None).drawn == {"tokens": 7.0}


async def test_variables_of_another_key_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "a key of sixteen bytes or more"
    place = database(tmp_path / "a.db", {"t": ["var n = 1"]}, snapshot_signing_key=key)
    monkeypatch.setenv("RIGHT_KEY", key)
    monkeypatch.setenv("WRONG_KEY", "x" * 16)
    right = await source(place, signing_key_env="RIGHT_KEY").eval("t", 1)
    assert right.bindings == [Binding(name="n", before=None, after="1")]
    wrong = await source(place, signing_key_env="WRONG_KEY").eval("t", 1)
    assert wrong.bindings is None
    assert "Variables cannot be shown" in wrong.notes[0]


async def test_long_values_are_cut(tmp_path: Path) -> None:
    place = database(tmp_path / "a.db", {"t": ["var s = 'x'.repeat(9999)"]})
    (binding,) = (await source(place).eval("t", 1)).bindings or ()
    assert binding.after == '"' + "x" * 499 + "…"


def test_a_record_of_a_later_release_is_named_and_hides_no_other() -> None:
    thread = Thread()
    entry = {"version": 99, "release": "9.9", "cell": "c", "began": 1.0}
    thread.step(call("a", "1"), writes=answer("a", "<result>1</result>"), journals={"a": [entry]})
    saver: Any = thread
    (found,) = recorded_evals(saver, "t", ["eval"])
    summary = eval_summary(found)
    assert summary.status == "unreadable"
    assert "9.9" in summary.reason
    record = eval_record(saver, found, None)
    assert record.answer == "<result>1</result>"
    assert record.summary == summary


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"not_begun": "it waits"}, "not begun", "it waits"),
        ({}, "ended", ""),
        ({"answer": None}, "in flight", ""),
        ({"answer": '<error type="E">no</error>'}, "failed", "E: no"),
    ],
)
def test_states_and_their_reasons(changes: dict[str, Any], status: str, reason: str) -> None:
    thread = Thread()
    thread.step(call("a", "1"), writes=answer("a", "<result>1</result>"))
    saver: Any = thread
    (found,) = recorded_evals(saver, "t", ["eval"])
    made = eval_summary(attrs.evolve(found, **changes))
    assert (made.status, made.reason) == (status, reason)
