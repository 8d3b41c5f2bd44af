"""What langchain-quickjs offers, and what it gets wrong, one test for each row of the comparison.

`docs/reference/compared.md` names these tests.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import pytest
from deepagents.backends import FilesystemBackend
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.tools import InjectedState, InjectedStore, ToolRuntime
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from interpstack_langchain import CodeInterpreterMiddleware, REPLMiddleware

Talk = Callable[..., Any]


def result(text: str) -> str:
    return f"<result>{text}</result>"


# -- 1. what it offers ---------------------------------------------------------------------

PEER_ARGUMENTS = {
    "memory_limit": 64 * 2**20,
    "timeout": 5.0,
    "max_ptc_calls": 256,
    "tool_name": "eval",
    "max_result_chars": 4000,
    "capture_console": True,
    "subagents": True,
    "max_subagent_concurrency": 32,
    "ptc": None,
    "mode": "thread",
    "max_snapshot_bytes": None,
    "snapshot_signing_key": None,
}


def test_area_middleware() -> None:
    signature = inspect.signature(CodeInterpreterMiddleware)
    assert all(p.kind is p.KEYWORD_ONLY for p in signature.parameters.values())
    defaults = {name: signature.parameters[name].default for name in PEER_ARGUMENTS}
    assert defaults == PEER_ARGUMENTS
    CodeInterpreterMiddleware(**PEER_ARGUMENTS).stack.close()
    assert issubclass(REPLMiddleware, CodeInterpreterMiddleware)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("memory_limit", 0),
        ("timeout", -1),
        ("timeout", "5"),
        ("max_ptc_calls", 0),
        ("tool_name", ""),
        ("max_result_chars", 0),
        ("capture_console", "yes"),
        ("subagents", 1),
        ("max_subagent_concurrency", 0),
        ("ptc", "echo"),
        ("ptc", ["task"]),
        ("ptc", ["no identifier!"]),
        ("mode", "for ever"),
        ("max_snapshot_bytes", -1),
        ("snapshot_signing_key", 7),
    ],
)
def test_area_middleware_bad_values(argument: str, value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="no identifier!|" + argument):
        CodeInterpreterMiddleware(**{argument: value})


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
async def test_area_tool(converse: Talk, is_async: bool) -> None:
    agent = converse(is_async=is_async)
    assert await agent.one("6 * 7") == result("42")
    (offered,) = agent.model.bound
    assert offered.name == "eval"
    assert list(offered.tool_call_schema.model_json_schema()["properties"]) == ["code"]
    renamed = CodeInterpreterMiddleware(tool_name="js", mode="call")
    assert [t.name for t in renamed.tools] == ["js"]
    assert "persist" in offered.description
    assert "no variable persists" in renamed.tools[0].description
    renamed.stack.close()


async def system_prompt(agent: Any) -> str:
    await agent.run("1")
    return str(agent.model.seen[0][0].text)


async def test_area_prompt(converse: Talk) -> None:
    bare = await system_prompt(converse(timeout=3, memory_limit=32 * 2**20))
    for word in ("`eval`", "persist across calls and turns", "`await`", "3 s", "32 MiB", "console"):
        assert word in bare
    assert "task(" not in bare
    assert "tools" not in bare
    full = await system_prompt(converse(tools=[echo], subagents=[HELPER]))
    assert full.index("`eval`") < full.index("task({") < len(full)
    assert "echo(" in full


async def test_area_repl(converse: Talk) -> None:
    agent = converse()
    assert await agent.run(
        "let a = 1; const b = 2; function f() { return a + b } class K { n = 1 } ",
        "let a = 5; const b = 6; f()",
        "new K().n",
        "Promise.resolve('awaited')",
        "const c = await Promise.resolve(3); c",
        "if (c) { 'last' } else { 'no' }",
    ) == [
        result("undefined"),
        result("11"),
        result("1"),
        result("awaited"),
        result("3"),
        result("last"),
    ]
    assert await agent.one("f() + c") == result("14")


@pytest.mark.parametrize("name", ["fetch", "require", "process", "XMLHttpRequest", "Deno", "std"])
async def test_area_sandbox(converse: Talk, name: str) -> None:
    agent = converse()
    assert await agent.one(f"typeof {name}") == result("undefined")
    for specifier in ("fs", "node:fs", "./x.js", "https://example.com/x.js"):
        answer = await agent.one(f"await import('{specifier}')")
        assert answer.startswith("<error ")


async def test_area_console(converse: Talk) -> None:
    agent = converse(max_result_chars=100)
    assert (
        await agent.one("console.log('a', {b: 1}); console.warn('w'); console.error('<e>'); 1")
        == "<stdout>\na {b: 1}\nw\n&lt;e&gt;\n</stdout>\n<result>1</result>"
    )
    long = await agent.one("console.log('x'.repeat(300)); 'y'.repeat(150)")
    shown, rest = "x" * 100, "y" * 100
    assert long == (
        f"<stdout>\n{shown}… [truncated 200 chars]\n</stdout>\n"
        f"<result>{rest}… [truncated 50 chars]</result>"
    )
    mute = converse(capture_console=False)
    assert await mute.one("typeof console") == result("undefined")


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("3.0", result("3")),
        ("0.1 + 0.2", result("0.30000000000000004")),
        ("'raw <b> & \"q\"'", result('raw &lt;b&gt; &amp; "q"')),
        ("[1, 2]", result("[1, 2]")),
        ("({a: 1, s: 'x'})", result('{a: 1, s: "x"}')),
        ("null", result("null")),
        ("true", result("true")),
        ("123n", result("123n")),
        ("(a, b) => a", '<result kind="handle">[Function (anonymous)] arity=2</result>'),
    ],
)
async def test_area_result(converse: Talk, code: str, answer: str) -> None:
    assert await converse().one(code) == answer


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("null.x", "TypeError"),
        ("nope", "ReferenceError"),
        ("let = ;", "SyntaxError"),
        ("class Mine extends Error { name = 'Mine' }; throw new Mine('m')", "Mine"),
        ("for (;;) {}", "Timeout"),
        ("const hog = []; for (;;) hog.push(new Uint8Array(1e6))", "OutOfMemory"),
        ("for (let i = 0; i < 9; i++) await tools.echo({text: 'x'})", "PTCCallBudgetExceeded"),
        ("await new Promise(() => {})", "Deadlock"),
        ("await tools.fail({})", "ToolError"),
        ("await import('@/skills/none')", "SkillNotAvailable"),
    ],
)
async def test_area_errors(converse: Talk, code: str, name: str) -> None:
    agent = converse(tools=[echo, fail], max_ptc_calls=8, timeout=0.5, memory_limit=16 * 2**20)
    await agent.run("let kept = 1")
    answer = await agent.one(code)
    assert answer.startswith(f'<error type="{name}">')
    assert await agent.one("kept") == result("1")


@tool
async def echo(text: str, times: int = 1) -> str:
    """Return the text.

    Args:
        text: What to return.
        times: How often.
    """
    return text * times


@tool
async def fail() -> str:
    """Fail."""
    raise RuntimeError("it failed")


class Row(BaseModel):
    """A row."""

    id: int
    tags: list[str]


@tool
async def find_rows(limit: int) -> list[Row]:
    """Find rows."""
    return [Row(id=n, tags=["t"]) for n in range(limit)]


@tool
async def inject_all(
    given: str,
    state: Annotated[dict[str, Any], InjectedState],
    store: Annotated[Any, InjectedStore],
    call_id: Annotated[str, InjectedToolCallId],
    runtime: ToolRuntime,
) -> dict[str, Any]:
    """Show what was injected."""
    found = await store.aget(("facts",), "answer")
    return {
        "given": given,
        "messages": len(state["messages"]),
        "store": found.value,
        "same": runtime.tool_call_id == call_id,
    }


async def test_area_ptc(converse: Talk) -> None:
    @tool
    def only_here() -> str:
        """Be offered to code, never to the model."""
        return "object"

    agent = converse(tools=[echo, find_rows], ptc=[only_here, "find_rows", echo, "eval", "gone"])
    assert await agent.run(
        "Object.keys(tools).filter(name => !name.startsWith('$')).sort().join()",
        "let r = await tools.findRows({limit: 2}); [r.length, r[1].id + 1, r[0].tags]",
        "await tools.echo({text: 'ab', times: undefined})",
    ) == [
        result("echo,findRows,onlyHere"),
        result('[2, 2, ["t"]]'),
        result("ab"),
    ]


async def test_area_ptc_follows_the_turn(converse: Talk) -> None:
    class Hide(AgentMiddleware[Any, Any, Any]):
        hidden = ""

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            kept = [t for t in request.tools if t.name != self.hidden]
            return await handler(request.override(tools=kept))

    hide = Hide()
    agent = converse(tools=[echo, find_rows], around=[hide])
    assert await agent.one("globalThis.stale = tools.echo; await stale({text: 'x'})") == result("x")
    hide.hidden = "echo"
    assert await agent.one("typeof tools.echo + typeof tools.findRows") == result(
        "undefinedfunction"
    )
    refused = await agent.one("await stale({text: 'x'})")
    assert refused.startswith('<error type="ToolError">')
    assert "echo(" not in await system_prompt(agent)


async def test_area_ptc_injection() -> None:
    store = InMemoryStore()
    store.put(("facts",), "answer", {"n": 42})
    interpreter = CodeInterpreterMiddleware(ptc=["inject_all"])
    code = (
        "const r = await tools.injectAll({given: 'g'}); const forged = await "
        "tools.injectAll({given: 'g', state: {}}).catch(e => e.message); [r, forged]"
    )
    model = scripted_once(code)
    agent = create_agent(model, tools=[inject_all], middleware=[interpreter], store=store)
    state = await agent.ainvoke({"messages": [("user", "go")]})
    answer = state["messages"][-2].text
    assert '{given: "g", messages: 2, store: {n: 42}, same: true}' in answer
    assert "has no field &apos;state&apos;" in answer or "has no field 'state'" in answer
    interpreter.stack.close()


def scripted_once(code: str) -> Any:
    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    call = {"name": "eval", "args": {"code": code}, "id": "1", "type": "tool_call"}
    return Model(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))


class Order(Enum):
    UP = "up"
    DOWN = "down"


@tool
async def search_pages(
    query: str, order: Order = Order.UP, limit: int | None = None, within: list[Row] | None = None
) -> list[Row]:
    """Search pages.

    Several lines of text.
    """
    return []


async def test_area_signatures(converse: Talk) -> None:
    prompt = await system_prompt(converse(tools=[search_pages]))
    text = " ".join(prompt.split())
    assert "searchPages(" in text
    assert "query: string" in text
    assert re.search(r'order\?: "up" \| "down"', text)
    assert re.search(r"limit\?: number \| null", text)
    assert "Search pages." in text
    assert re.search(r"id: number;? tags: string\[\]", text)
    assert "Promise<" in text


async def respond(state: Any) -> Any:
    asked = state["messages"][-1].text
    if asked == "fail":
        raise RuntimeError("helper is out")
    return {"messages": [*state["messages"], AIMessage(f"did {asked}")]}


HELPER: dict[str, Any] = {
    "name": "helper",
    "description": "Helps.",
    "runnable": RunnableLambda(respond),
}


async def test_area_task(converse: Talk) -> None:
    agent = converse(subagents=[HELPER])
    assert await agent.run(
        "await task({description: 'one', subagentType: 'helper', label: 'first'})",
        "(await Promise.all([1, 2, 3].map(n => "
        "task({description: 'job ' + n, subagentType: 'helper'})))).join()",
        "try { await task({description: 'fail', subagentType: 'helper'}) } catch (e) { e.message }",
        "try { globalThis.task = 1 } catch { typeof task }",
    ) == [
        result("did one"),
        result("did job 1,did job 2,did job 3"),
        result("helper is out"),
        result("function"),
    ]
    unknown = await agent.one("await task({description: 'x', subagentType: 'nobody'})")
    assert "nobody" in unknown
    assert "helper" in unknown
    assert await converse().one("typeof task") == result("undefined")


async def test_area_task_concurrency(converse: Talk) -> None:
    running, most = 0, 0
    loop = asyncio.get_running_loop()

    async def count(state: Any) -> Any:
        nonlocal running, most
        assert asyncio.get_running_loop() is loop
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return {"messages": [AIMessage("ok")]}

    helper = {**HELPER, "runnable": RunnableLambda(count)}
    agent = converse(subagents=[helper], max_subagent_concurrency=4)
    code = (
        "const jobs = Array.from({length: 20}, () => "
        "task({description: 'x', subagentType: 'helper'})); (await Promise.all(jobs)).length"
    )
    assert await agent.one(code) == result("20")
    assert most == 4


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


async def test_area_task_schema(converse: Talk) -> None:
    helper = {
        "name": "helper",
        "description": "Helps.",
        "system_prompt": "Answer.",
        "model": structured_model(),
        "tools": [],
    }
    agent = converse(subagents=[helper])
    given = json.dumps(SCHEMA)
    answer = await agent.one(
        "const r = await task({description: 'd', subagentType: 'helper', "
        f"responseSchema: {given}}}); [typeof r, r.n + 1]"
    )
    assert answer == result('["object", 43]')
    big = json.dumps({"type": "object", "description": "x" * 5000})
    for schema, word in ((big, "4096"), (json.dumps(nested(8)), "5"), (json.dumps(wide()), "32")):
        refused = await agent.one(
            f"await task({{description: 'd', subagentType: 'helper', responseSchema: {schema}}})"
        )
        assert refused.startswith("<error ")
        assert word in refused


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


def wide() -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(40)}}


def structured_model() -> Any:
    """A model that answers with the structured-output tool it was given."""

    class Model(GenericFakeChatModel):
        name_of_tool: str = ""

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            names = [t.name if hasattr(t, "name") else t["name"] for t in tools]
            return self.model_copy(update={"name_of_tool": names[-1]})

        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            call = {"name": self.name_of_tool, "args": {"n": 42}, "id": "s", "type": "tool_call"}
            message = AIMessage("", tool_calls=[call])
            return ChatResult(generations=[ChatGeneration(message=message)])

    return Model(messages=iter(()))


async def test_area_events(converse: Talk) -> None:
    agent = converse(tools=[echo], subagents=[HELPER])
    code = (
        "await tools.echo({text: 'x'}); "
        "await task({description: 'd'.repeat(300), subagentType: 'helper', label: 'L'}); "
        "await task({description: 'fail', subagentType: 'helper'}).catch(() => 0)"
    )
    config = {"configurable": {"thread_id": "t"}}
    given = {"messages": [("user", json.dumps([code]))]}
    stream = agent.agent.astream(given, config, stream_mode="custom")
    events = [event async for event in stream]
    tools = [event for event in events if event["type"] == "tool"]
    assert [event["phase"] for event in tools] == ["start", "complete"]
    first, done, second, failed = (event for event in events if event["type"] == "subagent")
    assert [first["phase"], done["phase"]] == ["start", "complete"]
    assert [second["phase"], failed["phase"]] == ["start", "error"]
    assert first["id"] == done["id"] != second["id"]
    assert first["eval_id"] == second["eval_id"]
    assert (first["subagent_type"], first["label"]) == ("helper", "L")
    assert len(first["description"]) == 200
    assert isinstance(done["duration_ms"], int)
    assert "helper is out" in failed["error"]


async def test_area_events_of_a_replay(converse: Talk) -> None:
    """A dispatch keeps its id when its eval was interrupted and runs again."""

    async def ask(state: Any) -> Any:
        return {"messages": [*state["messages"], AIMessage(str(interrupt("may I?")))]}

    agent = converse(subagents=[{**HELPER, "runnable": RunnableLambda(ask)}])
    config = {"configurable": {"thread_id": "t"}}
    code = "await task({description: 'd', subagentType: 'helper'})"
    ids = []
    for given in ({"messages": [("user", json.dumps([code]))]}, Command(resume="yes")):
        stream = agent.agent.astream(given, config, stream_mode="custom")
        ids.append([event["id"] async for event in stream if event["phase"] == "start"])
    assert ids[0] == ids[1]
    assert len(ids[0]) == 1


async def test_area_modes(converse: Talk) -> None:
    seen = {}
    for mode in ("thread", "turn", "call"):
        saver = InMemorySaver()
        agent = converse(mode=mode, saver=saver)
        in_turn = (await agent.run("globalThis.x = 1", "typeof x"))[1]
        seen[mode] = (in_turn, await agent.one("typeof x"))
    number, undefined = result("number"), result("undefined")
    assert seen == {
        "thread": (number, number),
        "turn": (number, undefined),
        "call": (undefined, undefined),
    }


async def test_area_snapshot_too_large(converse: Talk) -> None:
    saver = InMemorySaver()
    agent = converse(saver=saver, max_snapshot_bytes=20_000)
    assert await agent.one("let small = 1; small") == result("1")
    fill = "const big = Array.from({length: 20000}, () => Math.random()); small"
    answers = await agent.run(fill, "small")
    assert answers[0].startswith("<notice>")
    assert "20000" in answers[0]
    assert answers[1] == result("1")  # told once
    later = await converse(saver=saver).run("typeof big", "typeof big")
    assert later == [
        "<notice>Variables of earlier turns were too large to keep.</notice>\n"
        + result("undefined"),
        result("undefined"),
    ]


async def test_area_isolation(converse: Talk) -> None:
    agent = converse()

    async def talk(number: int) -> None:
        thread = f"thread {number}"
        await agent.run(
            f"globalThis.mine = {number}; Array.prototype.mark = {number}", thread=thread
        )
        assert await agent.one("[mine, [].mark]", thread=thread) == result(f"[{number}, {number}]")

    await asyncio.gather(*(talk(number) for number in range(24)))


async def test_area_cancellation(converse: Talk) -> None:
    begun = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.Event().wait()
        return ""

    agent = converse(tools=[wait])
    await agent.run("let kept = 1")
    turn = asyncio.ensure_future(agent.turn("kept = 2; await tools.wait()"))
    await begun.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert await agent.one("kept", thread="another") != result("1")
    # The conversation goes on from its last good eval.
    assert await agent.one("kept") == result("1")


@pytest.mark.parametrize("ending", ["js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx"])
async def test_area_skills(converse: Talk, tmp_path: Path, ending: str) -> None:
    skill = tmp_path / "skills" / "maths"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        f"---\nname: maths\ndescription: Maths.\nmodule: lib.{ending}\n---\n"
    )
    typed = ": number" if "ts" in ending else ""
    (skill / f"lib.{ending}").write_text(f"export const twice = (n{typed}){typed} => n * 2;\n")
    backend = FilesystemBackend(root_dir=tmp_path, virtual_mode=True)
    agent = converse(skills_backend=backend)
    name = "const {twice} = await import('@/skills/' + ['maths'].join()); twice(21)"
    assert await agent.run(name, "twice(2)") == [result("42"), result("4")]
    missing = await agent.one("await import('@/skills/none')")
    assert missing.startswith('<error type="SkillNotAvailable">')


# -- 2. where it fails ---------------------------------------------------------------------


async def assert_alive(agent: Any) -> None:
    assert await agent.one("earlier") == result("binding")


@pytest.fixture
async def agent(converse: Talk) -> Any:
    """A conversation with an earlier binding."""
    made = converse(timeout=1)
    await made.run("const earlier = 'binding'")
    return made


async def test_row_01_endless_recursion(agent: Any) -> None:
    answer = await agent.one("function r(n) { return r(n + 1) + 1 }; r(0)")
    assert answer.startswith(('<error type="RangeError">', '<error type="InternalError">'))
    await assert_alive(agent)


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        (
            "({get boom() { throw new Error('trap') }, fine: 1})",
            "{boom: [Throws: Error: trap], fine: 1}",
        ),
        ("new Proxy({}, {ownKeys() { throw 1 }, get() { throw 2 }})", "[Throws: "),
        ("[1, new Proxy([], {get() { throw new Error('trap') }})]", "[1, [Throws: Error: trap]]"),
        ("({n: 1, toJSON() { throw 1 }, toString() { throw 2 }})", "n: 1"),
    ],
)
async def test_row_02_throwing_result(agent: Any, code: str, shown: str) -> None:
    answer = await agent.one(code)
    assert answer.startswith("<result>")
    assert shown in answer
    await assert_alive(agent)


@pytest.mark.parametrize(
    "code",
    [
        "new Proxy({}, {ownKeys() { for (;;) {} }})",
        "({get [Symbol.toStringTag]() { for (;;) {} }})",
        "var e = new Error('x'); Object.defineProperty(e, 'message', {get() { for (;;) {} }}); e",
        "const held = new Proxy({}, {ownKeys() { for (;;) {} }}); held",
    ],
)
async def test_row_03_endless_getter(agent: Any, code: str) -> None:
    assert (await agent.one(code)).startswith('<error type="Timeout">')
    await assert_alive(agent)


async def test_row_03_getter_that_turns_endless(agent: Any) -> None:
    """What is read to store the state, after the result was rendered, is limited as well."""
    code = "let n = 0; var late = {get a() { if (n++ < 1) return 1; for (;;) {} }}; late"
    assert await agent.one(code) == result("{a: 1}")
    await assert_alive(agent)


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("new Map([[1, {a: 2}]])", "Map(1) {1 =&gt; {a: 2}}"),
        ("new Set([1])", "Set(1) {1}"),
        ("new Date(0)", "1970-01-01T00:00:00.000Z"),
        ("/a/g", "/a/g"),
        ("class P { x = 1 }; new P()", "P {x: 1}"),
        ("new Uint8Array([1, 2])", "Uint8Array(2) [1, 2]"),
        ("Symbol('s')", "Symbol(s)"),
    ],
)
async def test_row_04_printed_as_node_does(agent: Any, code: str, shown: str) -> None:
    answer = await agent.one(code)
    assert answer.removesuffix("</result>").endswith(f">{shown}")


async def test_row_04_printed_error(agent: Any) -> None:
    assert "Error: x" in await agent.one("new Error('x')")


@pytest.mark.parametrize(
    ("code", "shown"),
    [("throw 'x'", "x"), ("throw {code: 1}", "{code: 1}"), ("throw null", "null")],
)
async def test_row_05_thrown_value(agent: Any, code: str, shown: str) -> None:
    answer = await agent.one(code)
    assert answer.startswith("<error ")
    assert shown in answer.split(">", 1)[1]


async def test_row_06_own_words(agent: Any) -> None:
    assert await agent.run("NaN", "Infinity", "-Infinity", "undefined", "-0", "[undefined]") == [
        result(word) for word in ("NaN", "Infinity", "-Infinity", "undefined", "-0", "[undefined]")
    ]


async def test_row_07_function_inside_object(agent: Any) -> None:
    assert await agent.one("({a() {}, b: 2})") == result("{a: [Function: a], b: 2}")


async def test_row_08_cycle(agent: Any) -> None:
    assert await agent.one("const o = {}; o.o = o; o") == result("{o: [Circular]}")


async def test_row_09_lone_surrogate(agent: Any) -> None:
    assert await agent.one("'before \\ud800 after'") == result("before \\ud800 after")
    assert await agent.one("['😀', '\\udc00']") == result('["😀", "\\udc00"]')


@pytest.mark.parametrize("mode", ["thread", "turn", "call"])
async def test_row_10_two_evals_in_one_message(converse: Talk, mode: str) -> None:
    agent = converse(tools=[echo], mode=mode)
    # The first takes longer than the second, and the third fails.
    code = "globalThis.log = (globalThis.log ?? '') + await tools.echo({{text: '{}'}}); log"
    first = "await new Promise(go => setTimeout(go, 20)); " + code.format("a")
    answers = await agent.run([first, code.format("b"), "throw new Error('c')", code.format("d")])
    own = mode == "call"
    assert answers[0] == result("a")
    assert answers[1] == result("b" if own else "ab")
    assert answers[2].startswith('<error type="Error">')
    assert answers[3] == result("d" if own else "abd")


@tool
async def ask_first(what: str) -> str:
    """Ask before doing something."""
    return f"{interrupt({'may I': what})}: {what}"


async def test_row_11_calls_from_code_need_their_approval(converse: Talk) -> None:
    made: list[str] = []

    @tool
    def pay(to: str) -> str:
        """Pay somebody."""
        made.append(to)
        return f"paid {to}"

    agent = converse(tools=[pay], interrupt_on={"pay": True})
    paused = await agent.turn("await tools.pay({to: 'Ann'})")
    (request,) = paused["__interrupt__"][0].value["action_requests"]
    assert (request["name"], request["args"], made) == ("pay", {"to": "Ann"}, [])
    config = {"configurable": {"thread_id": "t"}}
    done = await agent.send(Command(resume={"decisions": [{"type": "approve"}]}), config)
    assert (done["messages"][-2].text, made) == (result("paid Ann"), ["Ann"])


async def test_row_12_an_interrupted_eval_runs_once(converse: Talk) -> None:
    agent = converse(tools=[ask_first])
    await agent.run("let runs = 0")
    await agent.turn("runs++; await tools.askFirst({what: 'go'}); runs")
    done = await agent.send(Command(resume="yes"), {"configurable": {"thread_id": "t"}})
    assert done["messages"][-2].text == result("1")
    assert await agent.one("runs") == result("1")


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
async def test_row_13_guest_never_sees_an_interrupt(converse: Talk, is_async: bool) -> None:
    ask = ask_first
    if not is_async:

        @tool("ask_first")
        def ask(what: str) -> str:
            """Ask before doing something."""
            return f"{interrupt({'may I': what})}: {what}"

    agent = converse(tools=[ask], is_async=is_async)
    await agent.run("let caught = 'nothing'")
    code = (
        "let said; try { said = await tools.askFirst({what: 'go'}) } "
        "catch (e) { caught = String(e) } finally { caught += '.' }; [said, caught]"
    )
    state = await agent.turn(code)
    assert [pause.value for pause in state["__interrupt__"]] == [{"may I": "go"}]
    config = {"configurable": {"thread_id": "t"}}
    done = await agent.send(Command(resume="yes"), config)
    assert done["messages"][-2].text == result('["yes: go", "nothing."]')


async def test_row_14_command_is_applied() -> None:
    class State(AgentState[Any]):
        notes: str

    @tool
    async def take_note(text: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Take a note."""
        told = ToolMessage(f"noted {text}", tool_call_id=call_id)
        return Command(update={"notes": text, "messages": [told]})

    interpreter = CodeInterpreterMiddleware(ptc=["take_note"])
    agent = create_agent(
        scripted_once("await tools.takeNote({text: 'remember'})"),
        tools=[take_note],
        middleware=[interpreter],
        state_schema=State,
    )
    state = await agent.ainvoke({"messages": [("user", "go")]})
    assert state["notes"] == "remember"
    assert state["messages"][-2].text == result("noted remember")
    # The graph has one tool message: the model made one call.
    assert sum(isinstance(message, ToolMessage) for message in state["messages"]) == 1
    interpreter.stack.close()


async def test_row_15_stored_bytes(converse: Talk) -> None:
    saver = InMemorySaver()
    agent = converse(saver=saver)
    await agent.run("1 + 1")
    config = {"configurable": {"thread_id": "t"}}
    values = (await agent.agent.aget_state(config)).values
    assert len(saver.serde.dumps_typed(values)[1]) <= 16 * 1024
    # The peer holds 1,310,772 bytes after this.
    writes = [write for step in saver.writes.values() for write in step.values()]
    held = sum(len(data) for _, data in (*saver.blobs.values(), *(w[2] for w in writes)))
    assert held <= 1_310_772 // 100
    for turn in range(5):
        await agent.run(f"globalThis.turn = {turn}")
    written = [w for step in saver.writes.values() for w in step.values()]
    records = [data for _, channel, (_, data), _ in written if channel == "interpreter_record"]
    # What the peer writes for a turn like these is 1.4 to 2.2 KB.
    assert all(len(data) <= 2_200 for data in records[-4:])


async def test_row_16_values_survive_an_upgrade(converse: Talk) -> None:
    saver = InMemorySaver()
    await converse(saver=saver).run(
        "let n = 1, when = new Date(0), seen = new Map([['k', [1n]]]), fn = () => 1"
    )
    # Other plugins make another base heap, as another build of the engine does.
    upgraded = converse(saver=saver, capture_console=False)
    answers = await upgraded.run("[n, when.getTime(), seen.get('k')[0]]", "fn()")
    assert answers[0].endswith(result("[1, 0, 1n]"))
    assert "Not restored: fn" in answers[0]
    told = "Value for 'fn' was not restored because it is not serializable (type: function)."
    assert told in answers[1]


async def test_row_17_wall_clock_limit(converse: Talk) -> None:
    @tool
    async def never() -> str:
        """Never return."""
        await asyncio.Event().wait()
        return ""

    agent = converse(tools=[never], wall_timeout=0.3)
    await agent.run("const earlier = 'binding'")
    answer = await agent.one("console.log('so far'); await tools.never()")
    assert '<error type="Timeout">' in answer
    assert "tools.never" in answer
    assert "so far" in answer
    await assert_alive(agent)
    assert await converse(timeout=None, wall_timeout=None).one("1 + 1") == result("2")


async def test_row_18_prompt_length(converse: Talk) -> None:
    def without_tool_list(prompt: str) -> int:
        return len(re.sub(r"```ts.*?```", "", prompt, flags=re.DOTALL))

    alone = without_tool_list(await system_prompt(converse(tools=[echo])))
    assert 0 < alone <= 2500
    everything = await system_prompt(converse(tools=[echo], subagents=[HELPER]))
    assert alone < without_tool_list(everything) <= 4000


def _own_threads() -> int:
    return sum(thread.name.startswith("interpstack") for thread in threading.enumerate())


async def test_row_19_idle_conversations(converse: Talk) -> None:
    agent = converse()
    threads = 60
    await agent.run("1", thread="warm up")
    before = _own_threads()
    for number in range(threads):
        await agent.run(f"let mine = {number}", thread=f"thread {number}")
    assert _own_threads() - before <= (os.cpu_count() or 2)  # the pool may still fill
    sessions = agent.middleware.stack._pool._sessions.values()
    assert len(sessions) == threads + 1
    assert sum(session.live for session in sessions) <= 16
    images = [session._image.data for session in sessions if not session.live]
    assert max(map(len, images)) <= 16 * 1024
    # One that sleeps wakes up where it was.
    assert await agent.one("mine", thread="thread 0") == result("0")


RUN_ONE = """
import sys, wasmtime
from interpstack import InterpreterStack
if sys.argv[1] == "compiled":
    def refuse(*args): raise AssertionError("the guest is compiled once more")
    wasmtime.Module.__init__ = refuse
with InterpreterStack() as stack, stack.session() as session:
    print(session.eval_sync("1 + 1").text)
"""


def test_row_20_compiled_once(tmp_path: Path) -> None:
    environment = {**os.environ, "INTERPSTACK_CACHE_DIR": str(tmp_path / "cache")}

    def run(expected: str) -> str:
        command = [sys.executable, "-W", "error", "-c", RUN_ONE, expected]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert run("not yet") == "2"
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()}
    assert files
    assert run("compiled") == "2"
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()} == files
