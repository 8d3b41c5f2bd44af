"""Arguments of the middleware, its tool and its prompt."""

from __future__ import annotations

import inspect
import math
import re
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import SystemMessage
from langchain_core.tools import tool

from interpstack import ConfigurationError, GuestLanguage
from interpstack_javascript import JAVASCRIPT, TYPESCRIPT
from interpstack_langchain import (
    PRESET,
    BackgroundOptions,
    CodeInterpreterMiddleware,
    REPLMiddleware,
)
from interpstack_langchain.evals.eval_tool import eval_schema
from interpstack_langchain.options import Options
from interpstack_langchain.prompt import interpreter_section, tool_description
from interpstack_persistence.modes import ThreadMode


@tool
def web_search(query: str) -> str:
    """Search."""
    return query


@tool("task")
def task(description: str, subagent_type: str) -> str:
    """Run a subagent."""
    return description


@tool("web-search")
def web_search_too(query: str) -> str:
    """Search."""
    return query


BAD = [
    ("memory_limit", 4 * 2**20 - 1, ValueError, "at least 4194304"),
    ("memory_limit", 2**70, ValueError, "at most 9007199254740992"),
    ("memory_limit", "64", TypeError, "whole number"),
    ("memory_limit", 1e9, TypeError, "whole number"),
    ("memory_limit", True, TypeError, "whole number"),
    ("memory_limit", None, TypeError, "whole number"),
    ("timeout", 0, ValueError, "a number of seconds above 0 or None"),
    ("timeout", -1, ValueError, "a number of seconds above 0 or None"),
    ("timeout", math.nan, ValueError, "a number of seconds above 0 or None"),
    ("timeout", math.inf, ValueError, "None for no limit"),
    ("timeout", 1e20, ValueError, "at most 1000000000"),
    ("timeout", "5", TypeError, "a number of seconds above 0 or None"),
    ("wall_timeout", 0, ValueError, "a number of seconds above 0 or None"),
    ("wall_timeout", False, TypeError, "a number of seconds above 0 or None"),
    ("max_ptc_calls", 0, ValueError, "a positive integer or None"),
    ("max_ptc_calls", 1.5, TypeError, "a positive integer or None"),
    ("tool_name", "", ValueError, "letters, digits"),
    ("tool_name", "my tool", ValueError, "letters, digits"),
    ("tool_name", "évaluer", ValueError, "letters, digits"),
    ("tool_name", "x" * 65, ValueError, "at most 64 letters, digits"),
    ("tool_name", "_", ValueError, "and at least one letter or digit; got '_'"),
    ("tool_name", None, TypeError, "a string"),
    ("max_result_chars", 0, ValueError, "a positive integer"),
    ("max_result_chars", None, TypeError, "a positive integer"),
    ("capture_console", 1, TypeError, "True or False"),
    ("durable", None, TypeError, "True or False"),
    ("pause_grace", -1, ValueError, "pause_grace takes a number of seconds from 0 to 1000000000"),
    ("background", 3, TypeError, "background takes True, False or BackgroundOptions; got 3"),
    ("pause_grace", math.nan, ValueError, "a number of seconds from 0"),
    ("pause_grace", math.inf, ValueError, "a number of seconds from 0"),
    ("pause_grace", None, TypeError, "a number of seconds of at least 0; got None"),
    ("pause_grace", True, TypeError, "a number of seconds of at least 0"),
    ("lock_timeout", 0, ValueError, "takes a number of seconds above 0 or None for no limit"),
    ("lock_timeout", "1", TypeError, "lock_timeout takes a number of seconds above 0"),
    ("subagents", "yes", TypeError, "True or False"),
    ("max_subagent_concurrency", 0, ValueError, "a positive integer"),
    ("max_subagent_concurrency", None, TypeError, "a positive integer"),
    ("ptc", "web_search", TypeError, "a list of tool names and tools"),
    ("ptc", 7, TypeError, "a list of tool names and tools"),
    ("ptc", {"a": 1}, TypeError, "a list of tool names and tools; got {'a': 1}"),
    ("ptc", [7], TypeError, "a list of tool names and tools"),
    ("ptc", [len], TypeError, "a list of tool names and tools"),
    ("ptc", ["task"], ValueError, "subagents=False"),
    ("ptc", [task], ValueError, "subagents=False"),
    ("ptc", ["1st"], ValueError, "rename the tool, or leave it out of ptc"),
    ("ptc", ["$search"], ValueError, "'$search' cannot be offered to code: tools.$search is a"),
    ("ptc", web_search, TypeError, "tools; got StructuredTool(name='web_search'"),
    ("ptc", ["größe"], ValueError, "is not a name of ASCII letters, digits and _"),
    ("ptc", [web_search, "web-search"], ValueError, "would both be tools.webSearch"),
    ("mode", "forever", ValueError, "known: call, thread, turn"),
    ("mode", ["thread"], TypeError, "'thread', 'turn', 'call' or a plugin's mode"),
    ("max_snapshot_bytes", 0, ValueError, "a positive integer or None for memory_limit"),
    ("max_snapshot_bytes", "1", TypeError, "a positive integer or None for memory_limit"),
    ("console_chars", 0, ValueError, "a positive integer or None for max_result_chars"),
    ("memory_limit", 1, ValueError, "a whole number of bytes, at least 4194304; got 1"),
    ("memory_limit", 2**60, ValueError, "bytes, at least 4194304, at most 9007199254740992; got"),
    ("max_ptc_calls", 2**60, ValueError, "at most 9007199254740992, or None for no limit; got"),
    ("late_tools", [7], ValueError, "a list of tool names; got 7 in it"),
    ("plugins", ["console"], ValueError, "which the middleware adds itself; leave it out"),
    ("snapshot_signing_key", "short", ValueError, "at least 16 bytes"),
    ("snapshot_signing_key", 16, TypeError, "bytes, a string or None"),
    ("engine", "v9", ValueError, "unknown engine 'v9'"),
    ("engine", 9, ValueError, "a name or an Engine object"),
    ("plugins", "console", TypeError, "a list of plugin names and plugins"),
    ("plugins", {"console": 1}, TypeError, "a list of plugin names and plugins"),
    ("plugins", None, TypeError, "a list of plugin names and plugins"),
    ("plugins", ["nothing"], ValueError, "unknown plugin 'nothing'"),
    ("plugins", [object()], ValueError, "has no hooks"),
]


@pytest.mark.parametrize(("name", "value", "error", "accepted"), BAD)
def test_bad_values_are_refused_by_name(
    name: str, value: Any, error: type[Exception], accepted: str
) -> None:
    with pytest.raises(error) as caught:
        CodeInterpreterMiddleware(**{name: value})
    message = str(caught.value)
    assert accepted in message
    assert name in message or name.rstrip("s") in message


def test_a_wrong_value_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError):
        CodeInterpreterMiddleware(timeout=-1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"preset": PRESET.without("subagents"), "max_subagent_concurrency": 3},
            "max_subagent_concurrency has no effect without a plugin that offers task()",
        ),
        (
            {"capture_console": False, "console_chars": 9},
            "console_chars has no effect with capture_console=False; leave out one of the two",
        ),
        ({"durable": False, "pause_grace": 1}, "pause_grace has no effect with durable=False"),
        ({"durable": False, "lock_timeout": 1}, "lock_timeout has no effect with durable=False"),
        (
            {"preset": PRESET.without("durable"), "lock_timeout": 1},
            "lock_timeout has no effect without a plugin that records evals",
        ),
        (
            {"durable": False, "mode": "call", "snapshot_signing_key": "k" * 16},
            "snapshot_signing_key has no effect with mode='call' and with durable=False",
        ),
        ({"late_tools": ["pay"]}, "late_tools names 'pay', which has no effect"),
        ({"ptc": ["pays"], "late_tools": ["pay"]}, "names that tool; did you mean 'pays'?"),
    ],
)
def test_options_of_a_part_that_is_off_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        CodeInterpreterMiddleware(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"subagents": False, "max_subagent_concurrency": 3},
            "max_subagent_concurrency has no effect with subagents=False",
        ),
        ({"mode": "call", "max_snapshot_bytes": 9}, "max_snapshot_bytes has no effect with mode="),
    ],
)
def test_where_the_peer_takes_both_a_warning_says_so(given: dict[str, Any], message: str) -> None:
    with pytest.warns(UserWarning, match=message) as warned:
        CodeInterpreterMiddleware(**given).close()
    assert warned[0].filename == __file__


def test_a_key_signs_records_of_evals_without_stored_variables() -> None:
    CodeInterpreterMiddleware(mode="call", snapshot_signing_key="k" * 16).close()


def test_approvals_need_a_record() -> None:
    with pytest.raises(ConfigurationError, match="interrupt_on needs durable=True"):
        CodeInterpreterMiddleware(ptc=["pay"], durable=False, interrupt_on={"pay": True})


def test_own_arguments_come_beside_the_peers() -> None:
    parameters = inspect.signature(CodeInterpreterMiddleware).parameters
    own = {
        "engine",
        "plugins",
        "interrupt_on",
        "skills_backend",
        "wall_timeout",
        "durable",
        "budget",
    }
    assert own <= set(parameters)


def test_snapshots_may_be_as_large_as_the_memory() -> None:
    assert (
        CodeInterpreterMiddleware(memory_limit=8 * 2**20)._interpreter.evals.mode.max_bytes
        == 8 * 2**20
    )


def test_the_first_name_still_works() -> None:
    assert isinstance(REPLMiddleware(mode="call"), CodeInterpreterMiddleware)


# -- the tool ------------------------------------------------------------------------------


def test_the_tool_takes_code_and_nothing_else() -> None:
    (made,) = CodeInterpreterMiddleware().tools
    assert made.name == "eval"
    schema = made.tool_call_schema.model_json_schema()
    assert set(schema["properties"]) == {"code"}
    assert schema["required"] == ["code"]
    assert schema["properties"]["code"]["type"] == "string"


def test_the_tool_outside_an_agent_says_where_it_belongs() -> None:
    (made,) = CodeInterpreterMiddleware().tools
    with pytest.raises(RuntimeError, match="create_agent"):
        made.invoke({"code": "1"})


STATES = {
    "thread": "persist across calls and turns",
    "turn": "until you give your final answer",
    "call": "no variables persist",
}


@pytest.mark.parametrize("mode", STATES)
async def test_model_and_tool_read_how_long_variables_live(talk: Any, mode: str) -> None:
    chat = talk(mode=mode, tool_name="run_js")
    # Variables outlast a turn only with a checkpointer, which the tool does not know of.
    described = "persist across calls." if mode == "thread" else STATES[mode]
    assert described in chat.middleware.tools[0].description
    await chat.turn()
    prompt = chat.model.seen[0][0].text
    assert STATES[mode] in prompt
    assert "`run_js`" in prompt
    assert "`eval`" not in prompt


async def test_a_renamed_tool_works(talk: Any, evals: Any) -> None:
    chat = talk(tool_name="run_js")
    assert await chat.run(evals("6 * 7", name="run_js")) == ["<result>42</result>"]


async def test_the_console_can_be_left_out(talk: Any) -> None:
    assert await talk(capture_console=False).run("typeof console") == ["<result>undefined</result>"]
    assert await talk().run("console.log('hi'); 1") == [
        "<stdout>\nhi\n</stdout>\n<result>1</result>"
    ]


async def test_results_are_cut(talk: Any) -> None:
    (answer,) = await talk(max_result_chars=10).run("'x'.repeat(100)")
    assert answer == f"<result>{'x' * 10}… [truncated 90 chars]</result>"


# -- the prompt ----------------------------------------------------------------------------


@pytest.mark.parametrize("system", [None, "Be brief.", [{"type": "text", "text": "Be brief."}]])
async def test_the_prompt_is_appended_to_the_system_message(talk: Any, system: Any) -> None:
    message = None if system is None else SystemMessage(content=system)
    chat = talk(agent_options={"system_prompt": message})
    await chat.turn()
    answers = chat.model.seen[0][0]
    assert isinstance(answers, SystemMessage)
    assert "### Code interpreter" in answers.text
    if isinstance(system, list):
        assert answers.content[0] == system[0]
        assert answers.content[1]["type"] == "text"
    elif system:
        assert answers.content.startswith("Be brief.\n\n### ")


async def test_the_prompt_is_short(talk: Any) -> None:
    bare, ptc = talk(), talk(tools=[web_search], ptc=["web_search"])
    await bare.turn()
    await ptc.turn()
    assert len(bare.model.seen[0][0].text) <= 2500
    text = ptc.model.seen[0][0].text
    assert len(text.partition("```ts")[0]) <= 2500
    assert "webSearch(input: { query: string }): Promise<string>" in text


async def test_the_prompt_follows_the_tools_of_the_turn(talk: Any) -> None:
    class Without(AgentMiddleware[Any, Any, Any]):
        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return await handler(request.override(tools=[]))

    chat = talk(tools=[web_search], ptc=["web_search"], before=[Without()])
    await chat.turn()
    assert "webSearch" not in chat.model.seen[0][0].text


async def test_with_subagents_the_prompt_stays_below_4000(talk: Any) -> None:
    chat = talk(tools=[web_search, task], ptc=["web_search"])
    await chat.turn()
    text = chat.model.seen[0][0].text
    assert "### Subagents in code" in text
    assert len(text.replace(text[text.index("```ts") : text.rindex("```")], "")) <= 4000
    alone = talk(tools=[task], subagents=False)
    await alone.turn()
    assert "### Subagents in code" not in alone.model.seen[0][0].text


@pytest.mark.parametrize(
    ("language", "title"),
    [
        (JAVASCRIPT, "JavaScript"),
        (TYPESCRIPT, "TypeScript"),
        (GuestLanguage(name="postfix"), "postfix"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_the_model_reads_the_language_that_the_engine_declares(
    language: GuestLanguage, title: str
) -> None:
    section = interpreter_section(Options(), "thread", language)
    described = tool_description(ThreadMode(), language)
    schema = eval_schema(language.title).model_json_schema()
    code = schema["properties"]["code"]["description"]
    assert described.startswith(f"Run {title} in a sandbox")
    assert code == f"{title} to run. The value of the last expression is returned."
    assert title in section
    assert ("JavaScript" in section) is (language is JAVASCRIPT)
    assert ("`await`" in section) is (language.name != "postfix")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"yield_after": -1}, ValueError, "yield_after takes a number of seconds from 0"),
        ({"yield_after": "1"}, TypeError, "yield_after takes a number of seconds"),
        ({"tools": "wait"}, TypeError, "tools takes two names of tools; got 'wait'"),
        ({"tools": ("a", "a")}, ValueError, "tools takes two different names"),
        ({"tools": ("a b", "c")}, ValueError, "tools takes at most 64 letters, digits"),
        ({"tools": ("a", 1)}, TypeError, "tools takes a string; got 1"),
    ],
)
def test_wrong_settings_of_the_background_are_refused(
    given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        BackgroundOptions(**given)
