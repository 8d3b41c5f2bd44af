"""The two tools: their surface, time limits, resets and answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from interpstack_js_repl import JsReplMiddleware

MADE: list[str] = []


def call(given: str | dict[str, Any], name: str = "js_repl", number: int = 1) -> dict[str, Any]:
    """A call of one of the two tools."""
    args = {"code": given} if isinstance(given, str) else given
    return {"name": name, "args": args, "id": f"call-{number}", "type": "tool_call"}


def reset(number: int = 1) -> dict[str, Any]:
    """A call of the tool that starts anew."""
    return call({}, "js_repl_reset", number)


@tool
async def slow(name: str) -> str:
    """Take longer than any cell may."""
    MADE.append(name)
    await asyncio.sleep(60)
    return name


@tool
async def quick(name: str) -> str:
    """Take a moment."""
    await asyncio.sleep(0.05)
    MADE.append(name)
    return name


@pytest.fixture
def chat(repl: Any) -> Any:
    MADE.clear()
    return repl(tools=[slow, quick])


def test_the_surface() -> None:
    with JsReplMiddleware() as middleware:
        code, again = middleware.tools
        assert (code.name, again.name) == ("js_repl", "js_repl_reset")
        assert set(code.args) == {"code", "timeout_ms"}
        assert again.args == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"code": "1", "more": 2},
            'js_repl takes the fields code and timeout_ms only; got "more". Put everything else '
            "into the source",
        ),
        (
            {"code": "1", "x" * 99: 2, "b": 3},
            f'js_repl takes the fields code and timeout_ms only; got "{"x" * 60}"… and 1 more. '
            "Put everything else into the source",
        ),
        ({"code": 1}, "js_repl takes JavaScript source text in the field code; got 1"),
        ({"code": None}, "js_repl takes JavaScript source text in the field code; got null"),
        ({}, "js_repl takes JavaScript source text in the field code; got nothing"),
        (
            {"code": "1", "timeout_ms": "soon"},
            "js_repl field timeout_ms must be a positive whole number of milliseconds; got "
            'the text "soon". For 15 seconds, pass timeout_ms=15000',
        ),
        (
            {"code": "1", "timeout_ms": -1},
            "js_repl field timeout_ms must be a positive whole number of milliseconds; got "
            '"-1". For 15 seconds, pass timeout_ms=15000',
        ),
    ],
    ids=["unknown", "many unknown", "no text", "null", "no code", "no number", "below 0"],
)
async def test_wrong_arguments_are_reported_to_the_model(
    chat: Any, given: dict[str, Any], said: str
) -> None:
    wrong, right = await chat.messages(call(given), call("1", number=2))
    assert (wrong.status, wrong.text) == ("error", said)
    assert right.text == "<result>1</result>"


async def test_a_whole_number_may_be_written_as_a_fraction(chat: Any) -> None:
    assert await chat.run({"code": "1", "timeout_ms": 9000.0}) == ["<result>1</result>"]


async def test_a_reset_takes_no_arguments(chat: Any) -> None:
    wrong, right = await chat.messages(call({"hard": True}, "js_repl_reset"), reset(2))
    assert wrong.status == "error"
    assert right.text == "js_repl kernel reset"


async def test_a_fault_of_the_input_runs_nothing(chat: Any) -> None:
    (answer,) = await chat.messages("// codex-js-repl: reset=true\nglobalThis.ran = 1")
    assert answer.status == "error"
    assert answer.text.startswith('js_repl pragma only supports timeout_ms; got "reset"')
    assert await chat.run("typeof ran") == ["<result>undefined</result>"]


async def test_output_value_and_error_are_all_shown(chat: Any) -> None:
    said = await chat.run(
        "console.log('a', {b: 1}); console.table([1]); console.error('%s x', 'y', 1n); 2",
        "console.log('before'); null.x",
        "undefined",
        "class Odd extends Error { name = 'Odd' }; throw new Odd('one\\ntwo')",
        "throw 'text'",
    )
    assert "a { b: 1 }" in said[0] or "a {b: 1}" in said[0]
    assert "y x 1n" in said[0]
    assert "<result>2</result>" in said[0]
    assert "<stdout>\nbefore\n</stdout>" in said[1]
    assert '<error type="TypeError">' in said[1]
    assert "cell:1:" in said[1]
    assert said[2] == "<result>undefined</result>"
    assert '<error type="Odd">one\ntwo' in said[3]
    assert "text" in said[4]


async def test_a_line_of_options_moves_no_line_number(chat: Any) -> None:
    (said,) = await chat.run("// interpstack: timeout_ms=9000\n1\nnull.x")
    assert "cell:3:" in said


async def test_without_a_node_each_cell_says_what_was_tried_and_what_to_install(repl: Any) -> None:
    chat = repl(options={"node_path": "/nowhere/node"})
    for answer in await chat.messages("1", "2"):
        assert answer.status == "error"
        assert "needs Node 22.17 or later" in answer.text
        assert "the option node_path (/nowhere/node)" in answer.text
        assert "pip install 'interpstack[node]'" in answer.text


async def test_without_a_node_a_reset_says_so_too(repl: Any) -> None:
    chat = repl(options={"node_path": "/nowhere/node"})
    (answer,) = await chat.messages(reset())
    assert (answer.status, "needs Node 22.17 or later" in answer.text) == ("error", True)


async def test_a_source_has_a_bounded_length(repl: Any) -> None:
    (answer,) = await repl().messages(f"1 /* {'x' * 2**20} */")
    assert answer.status == "error"
    assert "at most 1048576 are accepted" in answer.text


async def test_a_cell_that_takes_too_long_names_its_calls_and_keeps_the_rest(chat: Any) -> None:
    said = await chat.run(
        "let kept = 1; function twice(x) { return 2 * x }",
        "// interpstack: timeout_ms=1000\n"
        "console.log('said'); kept = 2; await codex.tool('slow', 'a')",
        "twice(kept)",
    )
    assert said[1].startswith('<stdout>\nsaid\n</stdout>\n<error type="Timeout">')
    assert "js_repl execution timed out after 1 s" in said[1]
    assert 'requests still open: 1 (codex.tool("slow"))' in said[1]
    assert said[2] == "<result>4</result>"
    assert MADE == ["a"]


async def test_an_endless_loop_ends_and_the_next_cell_works(chat: Any) -> None:
    said = await chat.run({"code": "for (;;);", "timeout_ms": 200}, "1")
    assert "js_repl execution timed out after 0.2 s" in said[0]
    assert said[1].endswith("<result>1</result>")


async def test_the_usual_time_holds_without_an_option(repl: Any) -> None:
    chat = repl(tools=[slow], cell_seconds=0.3)
    (said,) = await chat.run("await codex.tool('slow', 'a')")
    assert "js_repl execution timed out after 0.3 s" in said


async def test_no_option_exceeds_the_limit_of_the_middleware(repl: Any) -> None:
    chat = repl(tools=[slow], wall_timeout=0.3)
    (said,) = await chat.run("// interpstack: timeout_ms=900000\nawait codex.tool('slow', 'a')")
    assert "the cell took longer than 0.3 s" in said


async def test_a_reset_forgets_everything(chat: Any) -> None:
    said = await chat.run("let a = 1; globalThis.b = 2; a", reset(), "[typeof a, typeof b].join()")
    assert said == [
        "<result>1</result>",
        "js_repl kernel reset",
        "<result>undefined,undefined</result>",
    ]
    assert await chat.run("let a = 5; a") == ["<result>5</result>"]


async def test_a_reset_holds_for_later_turns_of_another_process(chat: Any, repl: Any) -> None:
    await chat.run("let a = 1", reset(), "let b = 2")
    config = {"configurable": {"thread_id": "t"}}
    state = (await chat.agent.aget_state(config)).values
    again = repl(checkpointer=chat.agent.checkpointer)
    assert state["interpreter_record_js_repl"]
    (said,) = await again.run("[typeof a, typeof b].join()")
    assert said.endswith("<result>undefined,number</result>")


async def test_calls_of_one_message_run_in_order(chat: Any) -> None:
    message = AIMessage(
        content="",
        tool_calls=[
            call("let a = await codex.tool('quick', 'first'); a", number=1),
            call("a += ' then'; a", number=2),
            reset(3),
            call("typeof a", number=4),
        ],
    )
    assert await chat.run(message) == [
        "<result>first</result>",
        "<result>first then</result>",
        "js_repl kernel reset",
        "<result>undefined</result>",
    ]


async def test_a_reset_waits_for_the_cell_that_runs(chat: Any) -> None:
    message = AIMessage(
        content="",
        tool_calls=[call("await codex.tool('quick', 'a'); 'whole'", number=1), reset(2)],
    )
    assert await chat.run(message) == ["<result>whole</result>", "js_repl kernel reset"]
    assert MADE == ["a"]
