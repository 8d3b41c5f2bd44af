"""The offline models of the demo's workflow."""

from __future__ import annotations

import json

from langchain_core.messages import HumanMessage, ToolMessage

from interpstack_demo.workflow.scripted import ScriptedReader, ScriptedWriter


def test_a_reader_writes_code_for_the_paths_of_its_prompt() -> None:
    paths = ["a.py", 'b "\n.py', "\nFiles: x"]
    prompt = f"Count.\nFiles: {json.dumps(paths)}\n\nYour last answer did not match."
    model = ScriptedReader()
    assert model.bind_tools([object()]) is model
    (call,) = model.invoke([HumanMessage(prompt)]).tool_calls
    first = call["args"]["code"].partition("\n")[0]
    assert json.loads(first.removeprefix("const paths = ").removesuffix(";")) == paths


def test_a_reader_answers_with_the_result_or_the_error() -> None:
    def answer(result: str) -> str:
        messages = [HumanMessage("p"), ToolMessage(result, tool_call_id="count")]
        return ScriptedReader().invoke(messages).text

    assert answer('<result>{"path":"a&lt;b"}</result>') == '{"path":"a<b"}'
    failed = '<error type="Error">no</error>'
    assert answer(failed) == failed


def test_a_writer_puts_figures_into_words() -> None:
    types = [{"type": f"t{n}", "files": 1, "lines": n} for n in range(9)]
    figures = {"files": 2, "lines": 30, "chars": 400, "types": types}
    figures["longest"] = [{"path": "a.py", "lines": 20}]
    text = ScriptedWriter().invoke(f"Report.\nFigures: {json.dumps(figures)}").text
    lines = text.splitlines()
    assert lines[0] == "The folder has **2 files** with **30 lines** and **400 characters**."
    assert [line for line in lines if line.startswith("| t")][1:] == [
        f"| t{n} | 1 | {n} |" for n in range(8)
    ]
    assert lines[-1] == "Longest: a.py (20)."
