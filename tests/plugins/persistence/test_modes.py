"""The three modes: how long variables live, and which states are stored with values."""

from __future__ import annotations

import pytest

from interpstack import ConfigurationError, Image, SessionState
from interpstack_persistence.modes import CallMode, ThreadMode, TurnMode

LARGE = Image("e", "b", bytes(2**18 + 1))
SMALL = Image("e", "b", b"x")


def test_names_and_scopes() -> None:
    modes = (ThreadMode, TurnMode, CallMode)
    assert [(mode.name, mode.scope) for mode in modes] == [
        ("thread", "thread"),
        ("turn", "turn"),
        ("call", "call"),
    ]


def test_a_large_state_of_a_turn_is_stored_without_values() -> None:
    assert TurnMode().wants_values(SMALL)
    assert not TurnMode().wants_values(LARGE)
    assert TurnMode(max_bytes=100).wants_values(LARGE), "its image is not stored"
    assert ThreadMode().wants_values(LARGE)


@pytest.mark.parametrize("mode", [ThreadMode, TurnMode, CallMode])
def test_a_mode_loads_what_it_dumped(mode: type[ThreadMode]) -> None:
    made, state = mode(), SessionState(image=SMALL, values={"a": 1})
    record, notice = made.dump(state, "owner", 1)
    assert notice == ""
    assert made.load(record, "owner") == state


def test_a_mode_dumps_states_alone() -> None:
    with pytest.raises(ConfigurationError, match="dump takes a SessionState; got None"):
        ThreadMode().dump(None, "owner", 1)  # type: ignore[arg-type]
