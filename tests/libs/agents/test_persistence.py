"""Tests of interpstack_agents.persistence."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError, InterpreterStack, hookimpl
from interpstack_agents import Persistence, persistence_mode
from interpstack_testing import FakeEngine


class _Modes:
    name = "modes"

    @hookimpl(optionalhook=True)
    def interpstack_register_persistence(self) -> Any:
        return [type("Turnwise", (Persistence,), {"name": "turnwise", "scope": "turn"})]


def test_modes_are_found_by_name() -> None:
    with InterpreterStack(FakeEngine(), plugins=["persistence", _Modes()]) as stack:
        assert persistence_mode(stack, "turnwise").scope == "turn"
        with pytest.raises(ConfigurationError, match="known: call, thread, turn, turnwise"):
            persistence_mode(stack, "ever")


def test_a_stack_without_modes_says_what_to_add() -> None:
    bare = InterpreterStack(FakeEngine())
    with bare, pytest.raises(ConfigurationError, match="add the plugin 'persistence'"):
        persistence_mode(bare, "thread")
    with pytest.raises(ConfigurationError, match="persistence_mode takes an InterpreterStack"):
        persistence_mode(None, "thread")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"signing_key": b""}, "signing_key takes at least 16 bytes; make one with secrets"),
        ({"signing_key": b"x" * 15}, "signing_key takes at least 16 bytes"),
        ({"signing_key": "secret" * 3}, "signing_key takes bytes or None; .* type str"),
        ({"max_bytes": "x"}, "max_bytes takes a whole number above 0, or None .*; got 'x'"),
        ({"max_bytes": 0}, "max_bytes takes a whole number above 0"),
        ({"max_bytes": True}, "max_bytes takes a whole number above 0"),
    ],
)
def test_wrong_arguments_of_a_mode_are_refused_when_it_is_made(given: Any, message: str) -> None:
    with InterpreterStack(FakeEngine(), plugins=["persistence"]) as stack:
        mode = persistence_mode(stack, "thread")
    with pytest.raises(ConfigurationError, match=message) as raised:
        mode(**given)
    assert "secretsecret" not in str(raised.value)
    assert mode(max_bytes=1, signing_key=b"x" * 16).max_bytes == 1
