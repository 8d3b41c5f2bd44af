"""Modes of stacks with and without a plugin that stores variables."""

from __future__ import annotations

import pytest

from interpstack import ConfigurationError, InterpreterStack, SessionState
from interpstack_langchain.state.modes import mode_of
from interpstack_testing import FakeEngine


def test_a_plugin_offers_modes() -> None:
    stack = InterpreterStack(FakeEngine(), ["persistence"])
    assert mode_of(stack, "thread").name == "thread"


def test_without_one_each_eval_starts_anew() -> None:
    stack = InterpreterStack(FakeEngine())
    mode = mode_of(stack, "call")()
    with pytest.raises(NotImplementedError):
        mode.dump(SessionState(), "owner", 1)
    with pytest.raises(ConfigurationError, match=r"pass mode='call'.*or add the plugin"):
        mode_of(stack, "thread")
