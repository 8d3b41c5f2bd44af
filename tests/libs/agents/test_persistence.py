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
