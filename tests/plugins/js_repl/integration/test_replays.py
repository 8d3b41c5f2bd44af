"""Replays of `js_repl` cells: raw source, options above it, helpers and images."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from js_repl_samples import PNG
from langchain_core.tools import tool
from langgraph.types import Command

from interpstack_js_repl import JsReplMiddleware
from interpstack_langchain import CodeInterpreterMiddleware

URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
MADE: list[str] = []


@tool
def price(item: str) -> float:
    """Price of an item."""
    MADE.append(item)
    return len(item) / 2


@pytest.fixture(autouse=True)
def _forget() -> None:
    MADE.clear()


def cell(source: str, *, raw: bool = False) -> tuple[str, dict[str, Any]]:
    return "js_repl", {"__arg1" if raw else "code": source}


async def test_cells_are_run_again_with_their_helpers_and_images(thread: Any, said: Any) -> None:
    agent = thread(JsReplMiddleware(), tools=[price])
    codes = [
        "let sum = 0; const add = async (item) => { sum += await codex.tool('price', {item}) }; 0",
        "// interpstack: timeout_ms=20000\nconsole.log('adding'); await add('tea');"
        f"await codex.emitImage('{URL}'); sum",
        "await codex.tool('nope').catch((error) => error.message)",
        "codex.emitImage('no'); await codex.tool('price', 'milk'); 1",
        "[sum, Math.random(), codex.cwd, tmpDir, await codex.tool('price', '{\"item\": \"egg\"}')]",
        "await codex.tool('js_repl')",
    ]
    made = [cell(code, raw=n % 2 == 1) for n, code in enumerate(codes)]
    await agent.turn(*(said(one) for one in made))
    before = [*MADE]
    found = await agent.replayed("--code")
    assert MADE == before == ["tea", "milk", "egg"]
    assert [one["status"] for one in found] == ["ended"] * 6
    assert [one["text"] for one in found] == [one["recorded_answer"] for one in found]
    assert [one["code"] for one in found] == codes
    assert {(one["tool"], one["engine"]) for one in found} == {("js_repl", "node")}
    assert "Shown 1: image/png" in found[1]["text"]
    assert "<stdout>\nadding\n</stdout>" in found[1]["text"]
    assert "unsupported call: nope" in found[2]["text"]
    assert "codex.emitImage only accepts data URLs" in found[3]["text"]
    assert str(Path.cwd()) in found[4]["text"]
    assert "js_repl cannot invoke itself" in found[5]["text"]


async def test_an_approval_a_reset_and_a_refused_input(thread: Any, said: Any) -> None:
    agent = thread(JsReplMiddleware(interrupt_on={"price": True}), tools=[price])
    asks = "let n = await codex.tool('price', {item: 'tea'}); n"
    await agent.turn(said(cell(asks)))
    (found,) = await agent.replayed()
    assert found["status"] == "paused"
    assert found["text"] == 'waiting for approval of price({"item": "tea"})'
    agent.queue[:0] = [
        said(cell("n += 1"), ("js_repl_reset", {}), cell("typeof n")),
        said(cell("```js\n1\n```"), cell("// interpstack: fast\n1")),
        said(cell("typeof n")),
    ]
    await agent.resume(Command(resume={"decisions": [{"type": "approve"}]}))
    found = await agent.replayed()
    assert MADE == ["tea"]
    wrong = [one for one in found if one["status"] == "not begun"]
    ran = [one for one in found if one["status"] == "ended"]
    assert [one["text"] for one in ran] == [one["recorded_answer"] for one in ran]
    assert [one["text"] for one in ran] == [
        "<result>1.5</result>",
        "<result>2.5</result>",
        "<result>undefined</result>",
        "<result>undefined</result>",
    ]
    assert [one["text"] for one in wrong] == [one["recorded_answer"] for one in wrong]
    assert len(wrong) == 2


async def test_beside_another_interpreter_and_under_another_name(thread: Any, said: Any) -> None:
    repl = JsReplMiddleware(tool_name="node", namespace="agent", cwd="/srv/x", engine="quickjs")
    agent = thread(repl, CodeInterpreterMiddleware(ptc=["price"]), tools=[price])
    await agent.turn(
        said(("node", {"code": "var n = 1; [agent.cwd, await agent.tool('price', 'tea')]"})),
        said(("eval", {"code": "var n = await tools.price('milk'); n"})),
        said(("node", {"code": "[n, agent.cwd]"})),
    )
    first, last = await agent.replayed("--tool-name", "node")
    assert first["text"] == first["recorded_answer"] == '<result>["/srv/x", 1.5]</result>'
    assert last["text"] == last["recorded_answer"] == '<result>[1, "/srv/x"]</result>'
    (other,) = await agent.replayed()
    assert other["text"] == other["recorded_answer"] == "<result>2</result>"
    assert MADE == ["tea", "milk"]


async def test_both_interpreters_of_usual_names_are_listed(thread: Any, said: Any) -> None:
    agent = thread(JsReplMiddleware(engine="quickjs"), CodeInterpreterMiddleware(), tools=[price])
    codes = [("js_repl", {"code": "var n = 1; n"}), ("eval", {"code": "var n = 2; n"})]
    await agent.turn(said(*codes), said(*reversed(codes)))
    found = await agent.replayed()
    assert [one["tool"] for one in found] == ["js_repl", "eval", "eval", "js_repl"]
    assert [one["text"] for one in found] == [one["recorded_answer"] for one in found]
