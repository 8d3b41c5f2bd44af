"""Conversations: their turns, and the evals of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from inspected_agents import database, source
from langchain_core.messages import HumanMessage
from recorded_steps import Thread, call

from interpstack import ConfigurationError
from interpstack_inspect.api import NotRecorded, SourceRequest
from interpstack_langchain.inspecting.conversations import (
    ReadingOptions,
    _input_text,
    read_conversation,
    read_eval,
)


async def test_turns_have_their_input_and_their_evals(tmp_path: Path) -> None:
    turns = (["1", "2"], ["3"])
    place = database(tmp_path / "a.db", {"t": turns})
    found = await source(place).conversation("t")
    assert [(turn.number, turn.text) for turn in found.turns] == [(1, '["1", "2"]'), (2, '["3"]')]
    codes = [[one.code for one in turn.evals] for turn in found.turns]
    assert codes == [["1", "2"], ["3"]]
    assert [one.number for turn in found.turns for one in turn.evals] == [1, 2, 3]


async def test_evals_of_one_message_and_of_another_tool_name(tmp_path: Path) -> None:
    place = database(tmp_path / "a.db", {"t": [["1", "2"]]})
    (turn,) = (await source(place).conversation("t")).turns
    assert [one.status for one in turn.evals] == ["ended", "ended"]
    (turn,) = (await source(place, tool_name="js").conversation("t")).turns
    assert turn.evals == []


async def test_a_conversation_or_an_eval_that_is_not_there(tmp_path: Path) -> None:
    there = source(database(tmp_path / "a.db", {"t": ["1"]}))
    with pytest.raises(NotRecorded, match="there is no conversation 'gone'"):
        await there.conversation("gone")
    with pytest.raises(NotRecorded, match="there is no conversation 'gone'"):
        await there.eval("gone", 1)
    for number in (0, 2):
        with pytest.raises(NotRecorded, match="the number of its evals is 1"):
            await there.eval("t", number)


def test_evals_whose_input_was_deleted_come_first() -> None:
    thread = Thread()
    thread.step(call("a", "1"))
    saver: Any = thread
    (turn,) = read_conversation(saver, "t", ReadingOptions()).turns
    assert (turn.number, turn.text, len(turn.evals)) == (0, "", 1)


def test_damage_is_told_in_one_line() -> None:
    thread = Thread()
    thread.step({"name": "eval", "args": None, "id": "a", "type": "tool_call"})
    saver: Any = thread
    for read in (
        lambda: read_conversation(saver, "t", ReadingOptions()),
        lambda: read_eval(saver, "t", 1, ReadingOptions()),
    ):
        with pytest.raises(ConfigurationError, match=r"conversation 't': .*damaged"):
            read()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, ""),
        ({"messages": [("user", "a"), ["user", "b"]]}, "b"),
        ({"messages": [{"role": "user", "content": "c"}]}, "c"),
        ({"messages": HumanMessage([{"type": "text", "text": "d"}])}, "d"),
        ({"messages": "e"}, "e"),
        ({"messages": [3]}, '{"messages": [3]}'),
        ({"messages": [{"role": "nobody"}]}, '{"messages": [{"role": "nobody"}]}'),
        ({"question": "f"}, '{"question": "f"}'),
        ([object], "[\"<class 'object'>\"]"),
        ({"messages": "x" * 3000}, "x" * 2000 + "…"),
    ],
)
def test_the_text_of_an_input(given: Any, text: str) -> None:
    assert _input_text(given) == text


def test_options_are_checked() -> None:
    with pytest.raises(ConfigurationError, match="exclude each other"):
        ReadingOptions.of(SourceRequest(target="x", serializer="a:b", aes_key_env="C"))
    assert ReadingOptions.of(SourceRequest(target="x", tool_name="js")).tools == ("js",)
