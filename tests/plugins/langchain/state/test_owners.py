"""Whose variables an eval sees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.runnables.config import var_child_runnable_config

from interpstack_langchain.state.owners import (
    as_mapping,
    owner_of,
    passes,
    running_graph,
    turn_key,
)

STATE = {"interpreter_turn": "turn:3"}


@pytest.fixture
def running(request: pytest.FixtureRequest) -> Iterator[None]:
    token = var_child_runnable_config.set({"configurable": request.param})
    yield
    var_child_runnable_config.reset(token)


def test_outside_a_thread_variables_belong_to_the_run() -> None:
    assert owner_of(STATE) == "run:turn"
    assert passes(owner_of(STATE))


@pytest.mark.parametrize("running", [{"thread_id": "t", "checkpoint_ns": "tools:1"}], indirect=True)
def test_a_thread_keeps_its_variables(running: Any) -> None:
    assert (owner_of(STATE), running_graph()) == ("thread:t|", "")
    assert not passes(owner_of(STATE))
    assert turn_key(STATE) == "thread:t||turn"
    assert owner_of(STATE, "sub") == "thread:t|sub"


@pytest.mark.parametrize(
    "running", [{"thread_id": "t", "checkpoint_ns": "agent:5|tools:1"}], indirect=True
)
def test_a_subgraph_without_a_state_of_its_own_passes(running: Any) -> None:
    assert (owner_of(STATE), passes(owner_of(STATE))) == ("thread:t|agent:5", True)


def test_other_states_are_empty() -> None:
    assert as_mapping(STATE) is STATE
    assert as_mapping(object()) == {}
