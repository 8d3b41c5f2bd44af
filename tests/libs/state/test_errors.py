"""Errors of stores name the state, and cross between processes."""

from __future__ import annotations

import pickle

from interpstack_state import StateBusy, StateTaken


def test_a_busy_state_says_when_to_come_again() -> None:
    error = StateBusy("talk", 2.5)
    assert "'talk' is in use by another process" in str(error)
    assert "2.5 seconds" in str(error)
    assert StateBusy("talk", -1).wait_seconds == 0


def test_errors_survive_pickling() -> None:
    busy = pickle.loads(pickle.dumps(StateBusy("talk", 2.5)))
    assert (busy.key, busy.wait_seconds) == ("talk", 2.5)
    taken = pickle.loads(pickle.dumps(StateTaken("talk")))
    assert (taken.key, str(taken)) == ("talk", str(StateTaken("talk")))
