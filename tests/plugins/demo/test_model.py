"""Tests of interpstack_demo.model."""

from __future__ import annotations

import html
import json
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from interpstack_demo.model import ScriptedModel

COUNTED = "<result>{ files: 3, lines: 40, chars: 999 }</result>"
RANKED = {
    "types": [{"type": ".py", "files": 2, "lines": 30}, {"type": "<b>", "files": 1, "lines": 10}],
    "longest": [{"path": "a.py", "lines": 20}],
    "frequent": [{"word": "def", "count": 9}, {"word": "if", "count": 4}],
}


def reply(*results: str) -> Any:
    answers = [ToolMessage(text, tool_call_id=str(n)) for n, text in enumerate(results)]
    return ScriptedModel().invoke([HumanMessage("count"), *answers])


def called(message: AIMessage) -> list[str]:
    assert [call["name"] for call in message.tool_calls] == ["eval"]
    return [call["id"] for call in message.tool_calls]


def test_it_counts_ranks_and_answers() -> None:
    assert called(reply()) == ["count"]
    assert called(reply(COUNTED)) == ["rank"]
    ranked = html.escape(json.dumps(RANKED), quote=False)
    answer = reply(COUNTED, f"<result>{ranked}</result>")
    assert answer.tool_calls == []
    lines = answer.text.splitlines()
    assert lines[0] == "The folder has **3 files** with **40 lines** and **999 characters**."
    assert "| .py | 2 | 30 |" in lines
    assert "| <b> | 1 | 10 |" in lines, "what was escaped for the model is shown as it is"
    assert lines[-3:] == ["Longest: a.py (20).", "", "Most frequent: def (9), if (4)."]


def test_code_that_failed_is_shown() -> None:
    failed = '<error type="TypeError">no</error>'
    for results in ([failed], [COUNTED, failed]):
        answer = reply(*results)
        assert answer.tool_calls == []
        assert failed in answer.text


def test_its_two_cells_are_the_files_of_the_demo() -> None:
    first, second = reply().tool_calls[0], reply(COUNTED).tool_calls[0]
    assert first["args"]["code"] != second["args"]["code"]
    assert "tools." in first["args"]["code"]


def test_tools_need_not_be_described() -> None:
    model = ScriptedModel()
    assert model.bind_tools([object()]) is model
