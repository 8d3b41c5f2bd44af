"""The agents of the demo's workflow, each by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_models import FakeModel
from langchain_core.messages import AIMessage

from interpstack_demo.tally import Tally
from interpstack_demo.workflow.agents import Librarian, Reader, Writer
from interpstack_demo.workflow.scripted import ScriptedReader
from interpstack_workflows.api import AgentCall, AgentFailed, WorkflowUsage


def said(text: str, **fields: Any) -> AIMessage:
    usage = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
    return AIMessage(text, usage_metadata=usage, **fields)


async def test_the_librarian_lists_text_files(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("x")
    (tmp_path / "a").write_bytes(b"\xff")
    tally = Tally()
    answer = await Librarian(tmp_path, tally).run(AgentCall(prompt="List"))
    assert answer.value == ["b.txt"]
    assert [one.examples for one in tally.left_out] == [["a"]]


async def test_a_reader_counts_and_tells_its_calls(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("x\ny")
    tally, events = Tally(), list[Any]()
    call = AgentCall(prompt='Count.\nFiles: ["b.txt"]', emit=events.append)
    answer = await Reader(tmp_path, ScriptedReader(), tally).run(call)
    assert json.loads(answer.value)["lines"] == 2
    assert events == [{"tool": "read_text"}]
    assert (tally.model_turns, tally.evals, tally.inner_calls, tally.chars_read) == (2, 1, 1, 3)


async def test_tokens_are_counted_even_if_a_reader_fails(tmp_path: Path) -> None:
    call = {"name": "eval", "args": {"code": "1"}, "id": "c", "type": "tool_call"}

    def messages() -> Any:
        yield said("", tool_calls=[call])
        raise ConnectionError("gone")

    with pytest.raises(AgentFailed, match="gone") as raised:
        await Reader(tmp_path, FakeModel(messages=messages()), Tally()).run(AgentCall(prompt="p"))
    assert raised.value.usage == WorkflowUsage(input_tokens=7, output_tokens=2)


async def test_a_writer_answers_with_its_tokens() -> None:
    tally = Tally()
    answer = await Writer(FakeModel(messages=iter([said("text")])), tally).run(
        AgentCall(prompt="p")
    )
    assert (answer.value, answer.usage.tokens, tally.answer) == ("text", 9, "text")
