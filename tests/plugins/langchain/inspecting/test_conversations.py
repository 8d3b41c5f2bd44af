"""Conversations: their turns, and the evals of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from inspected_agents import database, source
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from recorded_steps import Thread, answer, call

from interpstack import ConfigurationError
from interpstack_inspect.api import (
    ChatMessage,
    Conversation,
    EvalSummary,
    NotRecorded,
    SourceRequest,
    ToolUse,
)
from interpstack_langchain.inspecting.conversations import (
    ReadingOptions,
    read_conversation,
    read_eval,
)
from interpstack_langchain.workflows.agents.threads import run_of_thread
from interpstack_workflows.api import Prices


class Talk(Thread):
    """A thread that is written as a conversation."""

    def say(self, *messages: Any, begins: bool = False, **given: Any) -> None:
        """Store a checkpoint with more messages in its state; `begins` makes it an input."""
        before = [] if not self.saved else self.saved[-1].checkpoint["channel_values"]["messages"]
        values = {"messages": [*before, *messages]}
        if begins:
            values = {"messages": before, "__start__": {"messages": [*messages]}}
        calls = [call for one in messages for call in getattr(one, "tool_calls", ())]
        saved = self.step(*calls, values=values, **given)
        if begins:
            self.saved[-1] = saved._replace(metadata={"source": "input"})
            self.say(*messages)

    def read(self, **prices: Any) -> Conversation:
        saver: Any = self
        return read_conversation(saver, "t", ReadingOptions(prices=Prices(prices)))


def _agent(text: str, read: int, written: int, *calls: Any, **answers: Any) -> AIMessage:
    tokens = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    return AIMessage(
        text,
        id=f"{text}-{read}",
        tool_calls=[*calls],
        usage_metadata={**tokens, **answers},  # type: ignore[typeddict-item]
        response_metadata={"model_name": "acme-large"},
    )


def _talk() -> Talk:
    talk = Talk()
    talk.say(HumanMessage("How much?", id="h"), begins=True)
    search = call("s", name="search", q=1)
    writes = [*answer("e", '<error type="TypeError">no order\n  at x</error>', status="error")]
    talk.say(_agent("I look.", 100, 10, search, call("e", "look()")), writes=writes)
    talk.say(ToolMessage("7 found", tool_call_id="s", id="ts"))
    talk.say(_agent("It costs 5.", 200, 20, input_token_details={"cache_read": 100}))
    return talk


def test_a_turn_has_messages_calls_and_evals_in_order() -> None:
    (turn,) = _talk().read().turns
    said, called, ran, last = turn.entries
    assert turn.text == "How much?"
    assert isinstance(said, ChatMessage)
    assert (said.author, said.text, said.model) == ("agent", "I look.", "acme-large")
    assert called == ToolUse(name="search", args='{"q": 1}', result="7 found")
    assert isinstance(ran, EvalSummary)
    assert (ran.status, ran.reason) == ("failed", "TypeError: no order")
    assert isinstance(last, ChatMessage)
    assert last.text == "It costs 5."
    assert turn.failures == ["TypeError: no order"]


def test_tokens_and_their_cost_are_added_up() -> None:
    use = _talk().read().use
    assert (use.input_tokens, use.output_tokens, use.cached_tokens) == (300, 30, 100)
    assert (use.cost, use.unpriced) == (None, ("acme-large",))
    prices = {"acme-*": {"input": 10, "output": 100, "cached_input": 1}}
    use = _talk().read(**prices).use
    assert use.cost == pytest.approx((200 * 10 + 100 * 1 + 30 * 100) / 1e6)
    assert use.unpriced == ()


def test_an_error_that_ended_the_run_is_reported_until_its_task_has_run() -> None:
    talk = Talk()
    talk.say(HumanMessage("go", id="h"), begins=True)
    failed = [("task", "__error__", "ConnectionError('gone')")]
    talk.say(_agent("x", 1, 1), writes=failed)
    assert talk.read().failures == ["ConnectionError('gone')"]
    last = talk.saved[-1]
    talk.saved[-1] = last._replace(pending_writes=[*failed, ("task", "messages", [])])
    assert talk.read().failures == []


def test_messages_of_a_subagent_name_their_graph_and_count_once() -> None:
    talk = _talk()
    inner = [HumanMessage("find it", id="i"), _agent("found", 7, 3)]
    talk.saved.append(
        Thread(saved=[*talk.saved]).step(values={"messages": inner}, namespace="tools:1")
    )
    (turn,) = talk.read().turns
    task, said = turn.entries[-2:]
    assert task == ChatMessage(author="task", text="find it", graph="tools:1")
    assert isinstance(said, ChatMessage)
    assert (said.text, said.graph) == ("found", "tools:1")
    assert turn.use.input_tokens == 307


def test_a_conversation_of_a_step_names_its_run() -> None:
    assert run_of_thread("workflow:r-1/root/agent:2") == "r-1"
    assert run_of_thread("orders") == ""


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


def test_damage_is_reported_in_one_line() -> None:
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
        ({"messages": "x" * 10_001}, "x" * 10_000 + "…"),
    ],
)
def test_the_text_of_an_input(given: Any, text: str) -> None:
    thread = Thread()
    saved = thread.step(values={"__start__": given})
    thread.saved[-1] = saved._replace(metadata={"source": "input"})
    saver: Any = thread
    (turn,) = read_conversation(saver, "t", ReadingOptions()).turns
    assert turn.text == text


def test_options_are_checked() -> None:
    with pytest.raises(ConfigurationError, match="exclude each other"):
        ReadingOptions.of(SourceRequest(target="x", serializer="a:b", aes_key_env="C"))
    assert ReadingOptions.of(SourceRequest(target="x", tool_name="js")).tools == ("js",)
    prices = Prices({"m": {"input": 1, "output": 2}})
    assert ReadingOptions.of(SourceRequest(target="x", prices=prices)).prices is prices
