"""`JsReplMiddleware` in agents: variables over turns, threads, approvals, engines, options."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.types import Command

from interpstack import BridgeError, ConfigurationError, InterpreterStack
from interpstack_js_repl import JsReplMiddleware
from interpstack_langchain import PRESET

PAID: list[str] = []


@tool
def pay(to: str, cents: int) -> str:
    """Pay somebody."""
    PAID.append(to)
    return f"paid {cents} to {to}"


@tool
def prices(items: list[str]) -> dict[str, float]:
    """Prices of items."""
    return {item: len(item) / 2 for item in items}


@pytest.fixture(autouse=True)
def _forget() -> None:
    PAID.clear()


async def test_an_agent_from_end_to_end(repl: Any) -> None:
    chat = repl(tools=[prices, pay], tools_only=True)
    result = await chat.turn(
        "const list = await codex.tool('prices', {items: ['tea', 'milk']});\n"
        "let sum = Object.values(list).reduce((a, b) => a + b, 0); sum",
        AIMessage(
            content="",
            tool_calls=[{"name": "pay", "args": {"to": "x", "cents": 1}, "id": "d"}],
        ),
        "// interpstack: timeout_ms=15000\nawait codex.tool('pay', {to: 'shop', cents: sum * 100})",
    )
    texts = [message.text for message in result["messages"] if message.type == "tool"]
    assert texts == [
        "<result>3.5</result>",
        "direct tool calls are disabled; use js_repl and codex.tool(...) instead",
        "<result>paid 350 to shop</result>",
    ]
    assert PAID == ["shop"]
    assert result["messages"][-1].text == "done"
    assert [item.name for item in chat.model.bound] == ["js_repl", "js_repl_reset"]


async def test_variables_live_over_turns_and_not_over_threads(repl: Any) -> None:
    chat = repl()
    await chat.run("let n = 1; function inc() { n++; return n }", thread="a")
    assert await chat.run("[typeof n, typeof inc].join()", thread="b") == [
        "<result>undefined,undefined</result>"
    ]
    # One live scope: a function sees later assignments, and so does code.
    assert await chat.run("inc(); n", "n = 100; inc()", thread="a") == [
        "<result>2</result>",
        "<result>101</result>",
    ]


async def test_data_outlives_the_process(repl: Any) -> None:
    first = repl()
    await first.run("const cities = ['Oslo', 'Lima']; let f = () => 1")
    again = repl(checkpointer=first.agent.checkpointer)
    (said,) = await again.run("cities.length")
    assert said.endswith("<result>2</result>")
    assert "Not restored: f" in said  # what was lost is told by name


async def test_a_call_waits_for_its_approval_and_is_made_once(repl: Any) -> None:
    chat = repl(tools=[pay], interrupt_on={"pay": True})
    code = (
        "console.log('before'); const said = await codex.tool('pay', {to: 'ann', cents: 5}); said"
    )
    result = await chat.turn(code)
    (question,) = result["__interrupt__"]
    assert question.value["action_requests"][0]["name"] == "pay"
    assert question.value["action_requests"][0]["args"] == {"to": "ann", "cents": 5}
    assert PAID == []
    config = {"configurable": {"thread_id": "t"}}
    resume: Any = Command(resume={"decisions": [{"type": "approve"}]})
    result = await chat.agent.ainvoke(resume, config)
    (answer,) = [message for message in result["messages"] if message.type == "tool"]
    assert answer.text == "<stdout>\nbefore\n</stdout>\n<result>paid 5 to ann</result>"
    assert PAID == ["ann"]
    chat.queue.clear()
    assert await chat.run("said") == ["<result>paid 5 to ann</result>"]


async def test_a_rejected_call_is_not_made(repl: Any) -> None:
    chat = repl(tools=[pay], interrupt_on={"pay": True})
    await chat.turn("await codex.tool('pay', {to: 'ann', cents: 5}).catch((e) => e.message)")
    resume: Any = Command(resume={"decisions": [{"type": "reject", "message": "too much"}]})
    result = await chat.agent.ainvoke(resume, {"configurable": {"thread_id": "t"}})
    (answer,) = [message for message in result["messages"] if message.type == "tool"]
    assert "too much" in answer.text
    assert PAID == []


async def test_an_allowlist_bounds_what_code_may_call(repl: Any) -> None:
    chat = repl(tools=[prices, pay], ptc=["prices"])
    (said,) = await chat.run("await codex.tool('pay', {to: 'x', cents: 1})")
    assert "unsupported call: pay; tools that code can call: prices" in said
    assert PAID == []


async def test_without_tools_only_the_model_calls_tools_itself(repl: Any) -> None:
    chat = repl(tools=[pay])
    direct = {"name": "pay", "args": {"to": "ann", "cents": 1}, "id": "1", "type": "tool_call"}
    assert await chat.run(direct) == ["paid 1 to ann"]


@pytest.mark.parametrize("engine", ["quickjs", "v8"])
async def test_another_engine_for_javascript(repl: Any, engine: str) -> None:
    chat = repl(tools=[prices], engine=engine)
    said = await chat.run(
        "const keep = codex.tool; (await keep('prices', {items: ['tea']})).tea",
        "codex.emitImage('http://a').catch((e) => e.message)",
        "codex.emitImage('http://a'); 1",
        "await keep('js_repl')",
    )
    assert said[0] == "<result>1.5</result>"
    assert said[1] == "<result>codex.emitImage only accepts data URLs</result>"
    assert "codex.emitImage only accepts data URLs" in said[2]
    assert "js_repl cannot invoke itself" in said[3]


def test_another_language_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"needs an engine for JavaScript.*is 'python'"):
        JsReplMiddleware(engine="monty")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"namespace": "a.b"}, "namespace takes the name of a global, an identifier; got 'a.b'"),
        ({"namespace": ""}, "namespace takes the name of a global"),
        ({"namespace": 1}, "namespace takes a string; got 1"),
        ({"cell_seconds": 0}, "cell_seconds takes a number above 0, at most 1000000000; got 0"),
        ({"cell_seconds": "1"}, "cell_seconds takes a number; got '1'"),
        ({"cell_seconds": True}, "cell_seconds takes a number; got True"),
        ({"cwd": 1}, "cwd takes a string or None; got 1"),
        ({"home_dir": b"/"}, "home_dir takes a string or None"),
        ({"tool_name": "a b"}, "tool_name takes at most 64 letters"),
        ({"tools_only": 1}, "tools_only takes True or False"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ConfigurationError, TypeError), match=message.replace("(", r"\(")):
        JsReplMiddleware(**options)


async def test_the_preset_may_change(repl: Any) -> None:
    chat = repl(preset=PRESET.without("subagents", "skills"))
    assert await chat.run("typeof task") == ["<result>undefined</result>"]
    assert {info.name for info in chat.middleware.stack.describe()} >= {"js_repl", "console"}


async def test_two_agents_share_one_process_and_no_variables(repl: Any) -> None:
    one, two = repl(), repl()
    await one.run("globalThis.secret = 1")
    assert await two.run("typeof secret") == ["<result>undefined</result>"]


async def test_agents_share_a_ready_stack_and_no_variables(repl: Any) -> None:
    plugins = ["langchain", "persistence", "durable", "console", "display"]
    stack = InterpreterStack("quickjs", [*plugins, JsReplMiddleware.plugin(cwd="/srv")])
    one = repl(stack=stack, tools=[prices])
    two = repl(stack=stack, tools=[prices], tool_name="node", tools_only=True)
    assert await one.run(
        "let n = 1; (await codex.tool('prices', {items: ['tea']})).tea",
        "await codex.tool('js_repl').catch((error) => error.message)",
        "await codex.tool('node').catch((error) => error.message)",
    ) == [
        "<result>1.5</result>",
        "<result>js_repl cannot invoke itself</result>",
        "<result>unsupported call: node; tools that code can call: prices</result>",
    ]
    cells = ["[typeof n, codex.cwd].join()", "await codex.tool('node_reset')", "'open'"]
    calls = [{"name": "node", "args": {"code": cell}, "id": cell} for cell in cells]
    said = await two.run(*calls[:2])
    assert said[0] == "<result>undefined,/srv</result>"
    assert "node cannot invoke itself" in said[1]
    assert [item.name for item in two.model.bound] == ["node", "node_reset"]
    await one.middleware.aclose()
    assert await two.run(calls[2]) == ["<result>open</result>"]
    await two.middleware.aclose()
    await stack.aclose()


def test_a_preset_without_the_place_of_the_helpers_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="the preset has no plugin 'ptc'"):
        JsReplMiddleware(preset=PRESET.without("ptc"))


@pytest.mark.parametrize("namespace", ["Promise", "undefined", "class", "await"])
def test_a_word_or_global_of_the_language_is_no_namespace(namespace: str) -> None:
    with pytest.raises(ConfigurationError, match=f"namespace='{namespace}'"):
        JsReplMiddleware(namespace=namespace)


def test_a_global_of_another_plugin_is_no_namespace() -> None:
    with pytest.raises(BridgeError, match="console"):
        JsReplMiddleware(namespace="console")


async def test_calls_are_logged(repl: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "interpstack.tools")
    chat = repl(tools=[prices])
    await chat.run("await codex.tool('prices', {items: ['tea']}); await codex.tool('nope')")
    (record,) = [one for one in caplog.records if one.name == "interpstack.tools"]
    assert record.getMessage().startswith("prices: is_error=False, kind=object, size=1, ")
    assert record.getMessage().endswith("{'tea': 1.5}")
    caplog.clear()
    caplog.set_level(logging.DEBUG, "interpstack.tools")
    await chat.run("await codex.tool('prices', {items: ['milk'.repeat(999)]})")
    line, exact = [one for one in caplog.records if one.name == "interpstack.tools"]
    assert len(line.getMessage()) < 800
    assert exact.args == ("prices", {"milk" * 999: 1998.0})
