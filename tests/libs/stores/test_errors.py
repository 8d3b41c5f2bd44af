"""Errors of stores name the session, and cross between processes."""

from __future__ import annotations

import pickle

from interpstack_stores import SessionBusy, SessionTaken


def test_a_busy_session_says_when_to_come_again() -> None:
    error = SessionBusy("talk", 2.5)
    assert "'talk' is in use by another process" in str(error)
    assert "2.5 seconds" in str(error)
    assert SessionBusy("talk", -1).wait_seconds == 0


def test_errors_survive_pickling() -> None:
    busy = pickle.loads(pickle.dumps(SessionBusy("talk", 2.5)))
    assert (busy.key, busy.wait_seconds) == ("talk", 2.5)
    taken = pickle.loads(pickle.dumps(SessionTaken("talk")))
    assert (taken.key, str(taken)) == ("talk", str(SessionTaken("talk")))
