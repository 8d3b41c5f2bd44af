"""Limits of stores, and keys; the rest is in the conformance kit."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_state import MAX_STATE_BYTES, MemoryStore, StateRejected, check_key
from interpstack_state.contract import is_key


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "1", None, True])
def test_a_wrong_limit_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="max_bytes takes a whole number from 1"):
        MemoryStore(max_bytes=wrong)


def test_states_have_a_limit_by_default() -> None:
    with pytest.raises(StateRejected, match=f"at most {MAX_STATE_BYTES}"):
        MemoryStore().check_size(MAX_STATE_BYTES + 1)
    MemoryStore().check_size(MAX_STATE_BYTES)


def test_an_error_for_a_key_is_short() -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_key("x" * 5000)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("key", ["", "a\0b", "\ud800", "k" * 1025, b"a", None])
def test_rows_of_these_keys_are_no_states(key: Any) -> None:
    assert not is_key(key)
    with pytest.raises(ConfigurationError, match="the key of a stored state is a text"):
        check_key(key)
