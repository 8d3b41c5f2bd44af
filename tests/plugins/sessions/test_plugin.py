"""Settings of the plugin, given in code or by the environment."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from interpstack import ConfigurationError, InterpreterStack
from interpstack_sessions.api import StoredSessions
from interpstack_state import MemoryStore
from interpstack_testing import FakeEngine


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"store": "sqlite:///x"},
            "store takes a BlobStore, as open_store(url) opens; got 'sqlite:///x'",
        ),
        ({"saves": "never"}, "saves takes 'cell' or 'sleep'; got 'never'"),
        ({"claim_seconds": 0}, "claim_seconds takes a number from 0.1; got 0"),
        ({"claim_seconds": True}, "claim_seconds takes a number"),
        ({"patience_seconds": -1}, "patience_seconds takes a number from 0; got -1"),
        ({"patience_seconds": float("nan")}, "patience_seconds takes a number from 0; got nan"),
    ],
)
def test_wrong_settings_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        StoredSessions(**{"store": MemoryStore(), **options})


async def test_the_environment_names_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERPSTACK_SESSIONS", f"file://{tmp_path}/sessions")
    for expected in ("1", "2"):
        plugin = StoredSessions()  # as in another process
        async with InterpreterStack(FakeEngine(), [plugin]) as stack:
            code = "x = 1 + globals().get('x', 0)\nx"
            assert (await stack.session("talk").eval(code)).text == expected
    assert list((tmp_path / "sessions").glob("*.state"))


def test_a_missing_store_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTERPSTACK_SESSIONS", raising=False)
    with InterpreterStack(FakeEngine(), ["sessions"]) as stack:
        with pytest.raises(ConfigurationError, match="set INTERPSTACK_SESSIONS to its URL"):
            stack.session("talk")
        assert stack.session().eval_sync("1").text == "1"  # nothing of it is stored


def test_a_key_that_no_store_takes_is_refused() -> None:
    with (
        InterpreterStack(FakeEngine(), [StoredSessions(MemoryStore())]) as stack,
        pytest.raises(ConfigurationError, match="the key of a stored state"),
    ):
        stack.session("a\0b")
