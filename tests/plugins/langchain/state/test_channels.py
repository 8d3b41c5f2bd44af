"""Channels of several interpreters in one graph."""

from __future__ import annotations

import typing

from interpstack_langchain.state.channels import Channels
from interpstack_langchain.state.graph_state import PEERS, InterpreterState


def test_the_first_name_has_the_channels_without_a_suffix() -> None:
    first = Channels.of("eval")
    state = {"interpreter_record": [1]}
    assert first.schema is InterpreterState
    assert first.view(state) is state
    assert first.named({"interpreter_record": [1]}) == {"interpreter_record": [1]}


def test_another_name_sees_its_own_channels_alone() -> None:
    other = Channels.of("js")
    state = {"interpreter_record": ["eval's"], "interpreter_record_js": ["js's"], "messages": []}
    seen = other.view(state)
    assert (seen["interpreter_record"], seen["messages"]) == (["js's"], [])
    assert other.view({"interpreter_record": ["eval's"]}).get("interpreter_record") is None
    assert other.named({"interpreter_turn": "t", "messages": []}) == {
        "interpreter_turn_js": "t",
        "messages": [],
    }
    hints = typing.get_type_hints(other.schema, include_extras=True)
    assert {"interpreter_record_js", "interpreter_record"} <= set(hints)


def test_writes_of_other_interpreters_are_left_out() -> None:
    writes = [("interpreter_record", 1), ("interpreter_record_js", 2), ("messages", 3)]
    assert Channels.of("js").known(writes) == [("interpreter_record", 2), ("messages", 3)]
    assert Channels.of("eval").known(writes)[0] == ("interpreter_record", 1)


def test_variables_that_another_interpreter_stored() -> None:
    other = Channels.of("js")
    seen = other.view({"interpreter_record": ["eval's"]})
    assert other.foreign(seen, ["js"])
    assert not other.foreign(seen, ["js", "eval"]), "it keeps its own"
    assert other.foreign({PEERS: b"1"}, ["js"])
    assert not other.foreign(other.view({}), ["js"])
