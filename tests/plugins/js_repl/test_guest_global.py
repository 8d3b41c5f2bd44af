"""`codex.tool`: its arguments, answers and refusals, and the life of its calls."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from langchain_core.tools import tool

from interpstack import GuestException, HostTool
from interpstack_js_repl import guest_global
from interpstack_js_repl.guest_global import tool_input

ENDED: list[str] = []


@tool
async def look(place: str = "here") -> str:
    """Look at a place."""
    return f"seen {place}"


@tool("read-file")
async def read_file(path: str, lines: int = 1) -> dict[str, Any]:
    """Read a file."""
    return {"path": path, "lines": lines}


@tool("mcp__files__stat")
async def stat(path: str) -> str:
    """A tool of an MCP server."""
    return f"stat {path}"


@tool
async def lines() -> str:
    """Text with separators of lines."""
    return "a\u2028b\u2029c"


@tool
async def fail() -> str:
    """Fail."""
    raise ValueError("no such thing")


@tool
async def late(text: str) -> str:
    """Take a moment."""
    await asyncio.sleep(0.05)
    ENDED.append(text)
    return text


TOOLS = [look, read_file, stat, lines, fail, late]


@pytest.fixture
def chat(repl: Any) -> Any:
    ENDED.clear()
    return repl(tools=TOOLS)


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("await codex.tool('look')", "seen here"),
        ("await codex.tool('look', undefined)", "seen here"),
        ("[codex.tool, codex.emitImage].map((one) => /native code/.test(one))", "[true, true]"),
        ("await codex.tool('look', {})", "seen here"),
        ("await codex.tool('look', {place: 'there'})", "seen there"),
        ("await codex.tool('look', {place: undefined})", "seen here"),
        ("await codex.tool('look', '{\"place\": \"there\"}')", "seen there"),
        ("await codex.tool('look', 'there')", "seen there"),
        ("await codex.tool('mcp__files__stat', {path: 'a'})", "stat a"),
        ("(await codex.tool('read-file', {path: 'a', lines: 2})).lines + 1", "3"),
        (
            "(await codex.tool('lines')).split('').map(c => c.charCodeAt()).join()",
            "97,8232,98,8233,99",
        ),
        ("codex.tool === codex.tool && codex.tool('look') instanceof Promise", "true"),
        (
            "await codex.tool('fail').catch(e => `${e.message} ${e instanceof Error}`)",
            "no such thing true",
        ),
        (
            "(await Promise.all([1, 2, 3].map(n => codex.tool('look', `${n}`)))).join()",
            "seen 1,seen 2,seen 3",
        ),
    ],
)
async def test_a_call_and_its_answer(chat: Any, code: str, result: str) -> None:
    assert await chat.run(code) == [f"<result>{result}</result>"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("await codex.tool()", "codex.tool expects a tool name string"),
        ("await codex.tool('')", "codex.tool expects a tool name string"),
        ("await codex.tool('  ')", "codex.tool expects a tool name string"),
        ("await codex.tool({name: 'look'})", "codex.tool expects a tool name string"),
        ("await codex.tool('js_repl', '1')", "js_repl cannot invoke itself"),
        ("await codex.tool('js_repl_reset')", "js_repl cannot invoke itself"),
        ("await codex.tool('nope')", "unsupported call: nope; tools that code can call: look"),
        ("await codex.tool('emit', {url: 'data:'})", "unsupported call: emit"),
        ("await codex.tool('task')", "unsupported call: task; subagents have a function"),
        ("await codex.tool('x'.repeat(1e6))", "unsupported call: xxxx"),
        ("await codex.tool('look', null)", 'codex.tool("look", …) takes an object'),
        ("await codex.tool('look', [1])", "got [1]"),
        ("await codex.tool('look', 3)", "got 3"),
        ("await codex.tool('read-file', 'a')", "got a string that is not a JSON object"),
        (
            "await codex.tool('look', {palce: 'there'})",
            "codex.tool(\"look\", …) has no field 'palce'; its fields are: place",
        ),
        ("await codex.tool('look', '{\"palce\": 1}')", "has no field 'palce'"),
        ("await codex.tool('lines', {text: 'a'})", "has no field 'text'; it takes no fields"),
        ("await codex.tool('look', {}, {place: 'there'})", "got 3 arguments"),
        ("await codex.tool('look', () => 1)", "expects arguments that can be sent"),
        ("await codex.tool('look', {place: () => 1})", ""),  # it settles, which is what matters
        ("await codex.tool('look', Symbol())", "expects arguments that can be sent"),
        ("await codex.tool('fail')", "no such thing"),
    ],
)
async def test_a_refused_call_rejects(chat: Any, code: str, message: str) -> None:
    (answer,) = await chat.messages(code)
    assert answer.status == "error"
    assert message in answer.text
    assert await chat.run("1") == ["<result>1</result>"]  # nothing is lost


async def test_helpers_keep_their_identity_and_find_the_running_cell(chat: Any) -> None:
    said = await chat.run(
        "const keep = codex, call = codex.tool, show = codex.emitImage; 0",
        "[keep === codex, call === codex.tool, show === codex.emitImage, await call('look')]"
        ".join()",
    )
    assert said[1] == "<result>true,true,true,seen here</result>"


async def test_a_callback_after_its_cell_gets_the_documented_error(chat: Any) -> None:
    said = await chat.run(
        "globalThis.seen = []; codex.tool('late', 'a').then(() => codex.tool('late', 'b'))"
        ".catch((e) => seen.push(e.message)); 1",
        "seen[0]",
    )
    assert said == ["<result>1</result>", "<result>js_repl exec context not found</result>"]
    assert ENDED == ["a"]


async def test_code_of_a_cell_that_runs_on_in_a_later_one_belongs_to_that(chat: Any) -> None:
    said = await chat.run(
        "const gate = new Promise((open) => { globalThis.open = open; });"
        "const seen = gate.then(() => codex.tool('late', 'a')); 1",
        "open(); await seen",
    )
    assert said == ["<result>1</result>", "<result>a</result>"]
    assert ENDED == ["a"]


async def test_timers_end_with_their_cell_and_disturb_no_other(chat: Any) -> None:
    said = await chat.run(
        "globalThis.fired = 0; setTimeout(() => { fired++; codex.tool('late', 'a'); }, 1); 1",
        "await new Promise((done) => setTimeout(done, 30)); fired",
    )
    notice = (
        "<notice>A timer was still pending when the cell ended, and did not fire. To wait for one, "
        "await a promise that its callback settles.</notice>\n"
    )
    assert said == [f"{notice}<result>1</result>", "<result>0</result>"]
    assert ENDED == []


async def test_an_answer_waits_for_calls_that_code_left_open(chat: Any) -> None:
    assert await chat.run("codex.tool('late', 'a'); codex.tool('late', 'b'); 1") == [
        "<result>1</result>"
    ]
    assert sorted(ENDED) == ["a", "b"]


async def test_a_rejection_that_nobody_looks_at_loses_nothing(chat: Any) -> None:
    said = await chat.run("let a = 1; codex.tool('fail'); a", "a + 1")
    notice = (
        "A call that the cell did not wait for failed: codex.tool_fail (ToolError: no such thing)."
        " Await it, and the async function that makes it."
    )
    assert said == [f"<notice>{notice}</notice>\n<result>1</result>", "<result>2</result>"]


async def test_an_uncaught_error_names_the_call_as_code_writes_it(chat: Any) -> None:
    (said,) = await chat.run("await codex.tool('fail')")
    assert "no such thing\n(ValueError in codex.tool(" in said
    assert "tool_fail" not in said


async def test_paths(repl: Any) -> None:
    chat = repl(cwd="/work dir", home_dir="", tmp_dir="/scratch")
    code = "[codex.cwd, codex.homeDir, codex.tmpDir, tmpDir].map(String).join()"
    assert await chat.run(code) == ["<result>/work dir,null,/scratch,/scratch</result>"]


async def test_the_global_may_have_another_name(repl: Any) -> None:
    chat = repl(tools=[look], namespace="agent")
    said = await chat.run("`${typeof codex} ${await agent.tool('look')}`", "await agent.tool('')")
    assert said[0] == "<result>undefined seen here</result>"
    assert "agent.tool expects a tool name string" in said[1]


async def test_code_cannot_spoil_the_helpers(chat: Any) -> None:
    spoil = (
        "Promise.prototype.then = () => { throw new Error('gone'); };"
        "String.prototype.trim = () => ''; Object.assign = null; Array.isArray = null; 1"
    )
    said = await chat.run(spoil, "await codex.tool('look')", "codex.tool = 1; typeof codex.tool")
    assert said[1] == "<result>seen here</result>"
    assert "function" in said[2] or "read only" in said[2] or "read-only" in said[2]


async def test_calls_have_a_budget_and_the_name_of_their_tool(repl: Any) -> None:
    chat = repl(tools=TOOLS, max_ptc_calls=2)
    (said,) = await chat.run("for (let i = 0; i < 3; i++) await codex.tool('look')")
    assert "the cell may make 2 calls; this was one more" in said


@pytest.mark.parametrize("chars", [10, 20_000])
async def test_large_texts_are_read_off_the_loop(
    repl: Any, monkeypatch: pytest.MonkeyPatch, chars: int
) -> None:
    threads: list[str] = []

    def noted(namespace: str, tool: HostTool, value: Any) -> dict[str, Any]:
        threads.append(threading.current_thread().name)
        return tool_input(namespace, tool, value)

    monkeypatch.setattr(guest_global, "tool_input", noted)
    chat = repl(tools=TOOLS)
    await chat.run(f"await codex.tool('look', JSON.stringify({{place: 'x'.repeat({chars})}}))")
    (name,) = threads
    assert name.startswith("interpstack-handler") is (chars > 10)


async def _never(given: dict[str, Any], context: Any) -> None:
    raise NotImplementedError("only the input is read")


def _host(*fields: str) -> HostTool:
    return HostTool(
        name="t", call=_never, input_schema={"properties": {field: {} for field in fields}}
    )


def test_text_is_json_or_the_only_field() -> None:
    assert tool_input("codex", _host("a", "b"), '{"a": 1}') == {"a": 1}
    assert tool_input("codex", _host("a"), "[1]") == {"a": "[1]"}
    with pytest.raises(GuestException, match="The fields are: none"):
        tool_input("codex", _host(), "text")
    with pytest.raises(GuestException, match="not a JSON object"):
        tool_input("codex", _host("a", "b"), "{" * 100_000)


def test_text_has_a_number_of_values_that_the_host_can_take() -> None:
    text = '{"a": [' + "[]," * 149_999 + "0]}"
    assert len(tool_input("codex", _host("a", "b"), text)["a"]) == 150_000
    with pytest.raises(GuestException, match="got a text of more than 300000 values"):
        tool_input("codex", _host("a", "b"), text.replace("0]", "[],0]"))
    commas = "," * 400_000 + '\\"' + "[" * 400_000
    assert tool_input("codex", _host("a", "b"), f'{{"a": "{commas}"}}')["a"].count("[") == 400_000


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a":' * 700 + "1" + "}" * 700])
def test_text_crosses_under_the_rules_for_values(text: str) -> None:
    with pytest.raises(GuestException, match="not a JSON object"):
        tool_input("codex", _host("a", "b"), text)
