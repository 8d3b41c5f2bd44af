"""Calls from code: values, errors, injection, commands, middleware, events."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import json
import threading
import weakref
from collections.abc import Generator
from contextvars import ContextVar
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import pytest
from clocks import LeapingClock
from guests import without_restored
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.tools import InjectedState, InjectedStore, ToolRuntime
from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForToolRun
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import (
    BaseTool,
    InjectedToolArg,
    InjectedToolCallId,
    StructuredTool,
    Tool,
    ToolException,
    tool,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from pydantic import BaseModel, Field

from interpstack import Session
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_langchain.tools.tool_calls import host_tool

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])


def returning(value: Any, **options: Any) -> BaseTool:
    """A tool named `give` that returns a value."""
    return StructuredTool.from_function(
        func=lambda: value, name="give", description="Give.", **options
    )


# -- values --------------------------------------------------------------------------------


class Aliased(BaseModel):
    full_name: str = Field(alias="fullName")


class Row(BaseModel):
    name: str
    when: datetime


@dataclasses.dataclass
class Point:
    x: int
    y: list[int]


class Plain:
    def __repr__(self) -> str:
        return "<plain>"


class Colour(Enum):
    RED = "red"


class Scalar:
    """A number as numeric libraries have them: known by a method alone."""

    def tolist(self) -> float:
        return 1.5


class Array:
    def tolist(self) -> list[Scalar]:
        return [Scalar()]


class Itself:
    def tolist(self) -> Itself:
        return self


BLOCKS = [{"type": "text", "text": "a"}, {"type": "image", "url": "https://example.org/i.png"}]
LOOP: list[Any] = []
LOOP += [LOOP, LOOP]

MOMENT = datetime(2020, 1, 1, tzinfo=UTC)
EAST = timezone(timedelta(hours=2))
DOUBLED: list[Any] = [[1, 2]]
for _ in range(10):
    DOUBLED = [[DOUBLED[0], DOUBLED[0]]]

VALUES = [
    ("list", [1, "two", None, True], "give[1]", "two"),
    ("dict", {"a": {"b": [1.5]}}, "give.a.b[0] * 2", "3"),
    ("keys that are no text", {1: "one"}, "give['1']", "one"),
    ("members as keys", {Colour.RED: 1}, "give.red", "1"),
    ("truth as keys", {True: 1, False: 0}, "Object.keys(give).join()", "true,false"),
    ("days as keys", {date(2020, 2, 3): 1}, "Object.keys(give)[0]", "2020-02-03"),
    ("moments as keys", {MOMENT: 1}, "Object.keys(give)[0]", "2020-01-01T00:00:00+00:00"),
    ("scalar of a library", Scalar(), "give + 1", "2.5"),
    ("array of a library", Array(), "give[0] + give.length", "2.5"),
    ("message", HumanMessage("hi", name="Ann"), "[give.type, give.content].join()", "human,hi"),
    ("messages", [AIMessage("a"), HumanMessage("b")], "give.map(m => m.type).join()", "ai,human"),
    ("proto", {"__proto__": 1}, "Object.keys(give)[0]", "__proto__"),
    ("number", 41, "give + 1", "42"),
    ("big number", 2**70, "give === 2n ** 70n", "true"),
    ("nan", float("nan"), "give", "NaN"),
    ("text", '{"a": 1}', "typeof give", "string"),
    ("nothing", None, "give", "null"),
    ("model", Row(name="n", when=MOMENT), "give.when", "2020-01-01T00:00:00+00:00"),
    ("moment", MOMENT, "give", "2020-01-01T00:00:00+00:00"),
    ("moment without a zone", datetime(2020, 1, 1), "give", "2020-01-01T00:00:00"),
    ("moment that UTC lacks", datetime.min.replace(tzinfo=EAST), "give.slice(-6)", "+02:00"),
    ("time", MOMENT.time(), "give", "00:00:00"),
    ("duration", timedelta(hours=-1, microseconds=5), "give", "-P0DT3599.999995S"),
    ("model with other names", Aliased(fullName="Ann"), "give.full_name", "Ann"),
    ("lists twice in lists", DOUBLED[0], "give.length", "2"),
    ("models", [Row(name="n", when=datetime(2020, 1, 1, tzinfo=UTC))], "give[0].name", "n"),
    ("dataclass", Point(1, [2]), "give.x + give.y[0]", "3"),
    ("date", date(2020, 2, 3), "give", "2020-02-03"),
    ("bytes", b"\0\xff", "give instanceof Uint8Array && give[1]", "255"),
    ("tuple", (1, 2), "give.length", "2"),
    ("set", {3}, "give[0]", "3"),
    ("uuid", UUID(int=0), "give", str(UUID(int=0))),
    ("decimal", Decimal("1.10"), "give", "1.10"),
    ("enum", Colour.RED, "give", "red"),
    ("path", Path("a/b"), "give", "a/b"),
    ("blocks", BLOCKS, "give[0].text + give.length", "a2"),
    ("texts", ["a", "b"], "give.join('-')", "a-b"),
    ("empty list", [], "give.length", "0"),
]


@pytest.mark.engines("all")
async def test_the_model_is_shown_where_its_code_is_at_fault(talk: Any) -> None:
    chat = talk()
    (answer,) = await chat.run("a = 1\nb = a < a a")
    assert answer.splitlines()[-2:] == ["2 | b = a &lt; a a", "  |              ^</error>"]


@pytest.mark.engines("javascript")
@both
async def test_code_gets_native_values(talk: Any, use_async: bool) -> None:
    for name, value, code, expected in VALUES:
        chat = talk(ptc=[returning(value)])
        (answer,) = await chat.run(f"const give = await tools.give(); {code}")
        assert answer == f"<result>{expected}</result>", name


@pytest.mark.engines("javascript")
async def test_moments_keep_their_zone_or_have_none(talk: Any) -> None:
    seen = []

    @tool
    def at(when: datetime) -> datetime:
        """Tell the time."""
        seen.append(when)
        return when

    west = timezone(timedelta(hours=-7))
    for moment in (datetime(2020, 1, 1), datetime(2020, 1, 1, 12, tzinfo=west)):
        chat = talk(ptc=[at, returning(moment)])
        (answer,) = await chat.run("await tools.at({when: await tools.give()})")
        assert answer == f"<result>{moment.isoformat()}</result>"
        assert repr(seen.pop()) == repr(moment) or moment.tzinfo
    chat = talk(ptc=[at])
    await chat.run("await tools.at({when: new Date(0)})")
    assert seen[-1] == datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("value", ["text", BLOCKS, {"a": 1}])
async def test_an_artifact_is_not_for_code(talk: Any, value: Any) -> None:
    chat = talk(ptc=[returning((value, Plain()), response_format="content_and_artifact")])
    (answer,) = await chat.run("JSON.stringify(await tools.give()).length")
    expected = len(json.dumps(value, separators=(",", ":")))
    assert answer == f"<result>{expected}</result>"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (LOOP, "contains itself or is nested too deep"),
        (Itself(), "Itself cannot be passed to the guest; convert it"),
        ([Plain()], "tools.give was called, but its answer cannot reach the code: a "),
        (range(10**12), "more than the 16777216 bytes that may cross"),
        ("x" * 50_000_000, "more than the 16777216 bytes that may cross"),
    ],
    ids=["cycle", "its own list", "no data", "range", "50 MB"],
)
async def test_what_cannot_cross_is_an_error_in_the_guest(
    talk: Any, value: Any, message: str
) -> None:
    chat = talk(ptc=[returning(value)])
    answers = await chat.run(
        "let kept = 1; try { await tools.give() } catch (e) { e.message }", "kept"
    )
    assert message in answers[0]
    assert answers[1] == "<result>1</result>"


async def test_a_message_as_answer_is_its_content(talk: Any) -> None:
    @tool
    def say(call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
        """Say."""
        return ToolMessage("said", tool_call_id=call_id)

    result = await talk(ptc=[say]).turn("await tools.say()")
    assert [m.text for m in result["messages"] if m.type == "tool"] == ["<result>said</result>"]


# -- errors --------------------------------------------------------------------------------


def test_a_tool_is_converted_once_while_it_is_the_same() -> None:
    one = returning("value")
    made = host_tool(one)
    assert host_tool(one) is made
    one.description = "Return something else."
    again = host_tool(one)
    assert (again is made, again.description) == (False, "Return something else.")


def test_a_tool_with_a_plain_schema_is_converted_anew() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    one = StructuredTool.from_function(
        lambda a: a, name="plain", description="Plain.", args_schema=schema
    )
    made = host_tool(one)
    schema["properties"] = {"b": {"type": "string"}}
    assert (*made.input_schema["properties"], *host_tool(one).input_schema["properties"]) == (
        "a",
        "b",
    )


def test_a_converted_tool_is_forgotten_with_its_last_user() -> None:
    one = returning("value")
    made, known = weakref.ref(host_tool(one)), weakref.ref(one)
    gc.collect()
    assert made() is None
    del one
    gc.collect()
    assert known() is None


@tool
def add(a: int, b: int = 10) -> int:
    """Add two numbers."""
    return a + b


CAUGHT = "try { await tools.%s } catch (e) { [e instanceof Error, e.name, e.tool, e.message] }"


@pytest.mark.engines("javascript")
@both
async def test_wrong_arguments_are_reported_clearly(talk: Any) -> None:
    chat = talk(ptc=[add])
    (answer,) = await chat.run(CAUGHT % "add({a: 'x'})")
    assert answer.startswith('<result>[true, "ToolError", "tools.add", ')
    assert "a: Input should be a valid integer" in answer
    assert "Traceback" not in answer
    assert ".py" not in answer
    (uncaught,) = await chat.run("await tools.add({a: 'x'})")
    assert '<error type="ToolError">' in uncaught


async def test_a_tool_of_one_field_takes_a_text_for_it(talk: Any) -> None:
    @tool
    def greet(name: str) -> str:
        """Greet."""
        return f"hello {name}"

    old = Tool(name="old", func=lambda q: f"got {q}", description="Get.")
    assert await talk(ptc=[greet, old]).run(
        "await tools.greet('Ann')", "await tools.greet('')", "await tools.old('x')"
    ) == ["<result>hello Ann</result>", "<result>hello </result>", "<result>got x</result>"]
    (answer,) = await talk(ptc=[greet]).run(CAUGHT % "greet(3)")
    assert "tools.greet takes one object" in answer


async def test_an_answer_that_is_read_once_has_no_signature(talk: Any) -> None:
    @tool
    def count() -> Generator[int, None, None]:
        """Count."""
        yield 1

    chat = talk(ptc=[count])
    await chat.run("1")
    assert "count(): Promise<unknown>" in str(chat.model.seen[0][0].text)


async def test_what_is_no_object_is_refused(talk: Any) -> None:
    answers = await talk(ptc=[add]).run(CAUGHT % "add(1, 2)", CAUGHT % "add([1])")
    assert all("tools.add takes one object" in text for text in answers)


async def test_undefined_fields_take_their_defaults(talk: Any) -> None:
    (answer,) = await talk(ptc=[add]).run("await tools.add({a: 1, b: undefined})")
    assert answer == "<result>11</result>"


@pytest.mark.engines("javascript")
@both
async def test_a_tool_that_raises_can_be_caught(talk: Any) -> None:
    @tool
    def fail(how: str) -> str:
        """Fail."""
        if how == "tool":
            raise ToolException("handled by the tool")
        raise RuntimeError("went wrong")

    fail.handle_tool_error = True
    chat = talk(ptc=[fail])
    assert await chat.run(CAUGHT % "fail({how: 'x'})", CAUGHT % "fail({how: 'tool'})") == [
        '<result>[true, "ToolError", "tools.fail", "went wrong"]</result>',
        '<result>[true, "ToolError", "tools.fail", "handled by the tool"]</result>',
    ]
    (uncaught,) = await chat.run("await tools.fail({how: 'x'})")
    assert uncaught.startswith('<error type="ToolError">went wrong')
    assert ".py" not in uncaught


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("name", ["hang", "block"])
@pytest.mark.parametrize("checkpointer", ["memory", None])
@both
async def test_a_tool_that_hangs_ends_with_the_wall_time_or_is_named(
    talk: Any, leaping_clock: LeapingClock, name: str, checkpointer: Any
) -> None:
    begun, release = threading.Event(), threading.Event()
    cancelled = []

    @tool
    async def hang() -> str:
        """Hang."""
        begun.set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            cancelled.append("hang")
            raise
        return "never"

    @tool
    def block() -> str:
        """Hang for a while."""
        begun.set()
        release.wait(60)
        return "late"

    @tool
    async def later() -> str:
        """Let time pass once the other one hangs."""
        await leaping_clock.leaps_when(begun.is_set)()
        return "later"

    chat = talk(ptc=[hang, block, later], wall_timeout=100, checkpointer=checkpointer)
    code = f"await Promise.all([tools.{name}(), tools.later()])"
    try:
        answers = await chat.run("let kept = 1", code, "kept")
    finally:
        release.set()
    assert '<error type="Timeout">' in answers[1]
    assert f"tools.{name}" in answers[1]
    outlasted = "A call outlasted the cell and could not be stopped: tools.block"
    assert (outlasted in answers[1]) == (name == "block")
    assert cancelled == (["hang"] if name == "hang" else [])
    if checkpointer:  # which keeps variables
        assert answers[2] == "<result>1</result>"


@pytest.mark.engines("javascript")
async def test_the_budget_is_for_one_eval(talk: Any) -> None:
    chat = talk(ptc=[add], max_ptc_calls=2)
    code = "for (const a of [1, 2, 3]) await tools.add({a})"
    answers = await chat.run(code, "await tools.add({a: 1})")
    assert '<error type="PTCCallBudgetExceeded">' in answers[0]
    assert answers[1] == "<result>11</result>"


@both
async def test_sync_and_async_tools(talk: Any) -> None:
    @tool
    def slow() -> str:
        """Sync."""
        return "sync"

    @tool
    async def quick() -> str:
        """Async."""
        return "async"

    chat = talk(ptc=[slow, quick])
    answers = await chat.run("await tools.slow()", CAUGHT % "quick()")
    assert answers[0] == "<result>sync</result>"
    assert answers[1] == "<result>async</result>"


@both
async def test_a_key_that_a_tool_would_lose_is_refused(talk: Any) -> None:
    @tool
    def put(
        scores: dict[int, str],
        state: Annotated[dict[str, Any], InjectedState],
        more: list[dict[bool, int]] | None = None,
    ) -> str:
        """Put."""
        return f"{scores} {more}"

    chat = talk(ptc=[put])
    fine, lost, deep = await chat.run(
        "await tools.put({scores: {'1': 'a', '02': 'b'}})",
        CAUGHT % "put({scores: {'1': 'a', '01': 'b'}})",
        CAUGHT % "put({scores: {}, more: [{yes: 1, 'true': 2}]})",
    )
    assert fine == "<result>{1: 'a', 2: 'b'} None</result>"
    assert "field 'scores' takes each key once; got 'scores.01' again" in lost
    assert "field 'more[0]' takes each key once; got 'more[0].true' again" in deep


# -- injection -----------------------------------------------------------------------------


class Notes(AgentState[Any]):
    notes: str


class WithNotes(AgentMiddleware[Any, Any, Any]):
    state_schema = Notes


@tool
def look(
    key: str,
    state: Annotated[dict[str, Any], InjectedState],
    notes: Annotated[str, InjectedState("notes")],
    store: Annotated[Any, InjectedStore()],
    call_id: Annotated[str, InjectedToolCallId],
    runtime: ToolRuntime,
    secret: Annotated[str, InjectedToolArg] = "host",
) -> dict[str, Any]:
    """Look."""
    found = store.get(("n",), key)
    return {
        "messages": len(state["messages"]) > 0,
        "notes": notes,
        "stored": found.value["v"],
        "same": runtime.tool_call_id == call_id,
        "id": call_id,
        "secret": secret,
    }


@pytest.mark.engines("javascript")
@both
async def test_state_store_runtime_and_call_id_are_injected(talk: Any, evals: Any) -> None:
    store = InMemoryStore()
    store.put(("n",), "k", {"v": 5})
    chat = talk(tools=[look], ptc=["look"], after=[WithNotes()], agent_options={"store": store})
    message = evals("const r = await tools.look({key: 'k'}); JSON.stringify(r)")
    chat.say([message])
    given = {"messages": [("user", "go")], "notes": "n!"}
    config = {"configurable": {"thread_id": "t"}}
    if chat.use_async:
        result = await chat.agent.ainvoke(given, config)
    else:
        result = await asyncio.to_thread(chat.agent.invoke, given, config)
    answer = result["messages"][-2].text
    for expected in ('"messages":true', '"notes":"n!"', '"stored":5', '"same":true', '"host"'):
        assert expected in answer
    assert message.tool_calls[0]["id"] + ":" in answer


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("field", ["state", "notes", "store", "call_id", "runtime", "secret"])
async def test_code_cannot_forge_injected_arguments(talk: Any, field: str) -> None:
    chat = talk(ptc=[look])
    (answer,) = await chat.run(CAUGHT % f"look({{key: 'k', {field}: 'forged'}})")
    assert f"look has no field '{field}'; its fields are: key" in answer


async def test_code_cannot_forge_what_only_the_signature_injects(talk: Any) -> None:
    schema = {"type": "object", "properties": {"key": {"type": "string"}}}

    def read(key: str, owner: Annotated[str, InjectedToolArg] = "host") -> str:
        return owner

    made = StructuredTool.from_function(read, name="read", description="R.", args_schema=schema)
    chat = talk(ptc=[made])
    texts = await chat.run(CAUGHT % "read({key: 'k', owner: 'me'})", "await tools.read({key: ''})")
    assert "read has no field 'owner'" in texts[0]
    assert texts[1] == "<result>host</result>"


async def test_a_tool_with_a_plain_schema_takes_any_name_of_it(talk: Any) -> None:
    schema = {"type": "object", "properties": {"root": {"type": "string"}}}
    made = StructuredTool.from_function(
        lambda root: root, name="read", description="R.", args_schema=schema
    )
    assert await talk(ptc=[made]).run("await tools.read({root: 'a'})") == ["<result>a</result>"]


@both
async def test_context_variables_reach_the_tools(talk: Any) -> None:
    tenant: ContextVar[str] = ContextVar("tenant")

    @tool
    def who() -> str:
        """Who."""
        return tenant.get("nobody")

    chat = talk(ptc=[who])
    tenant.set("acme")
    assert await chat.run("await tools.who()") == ["<result>acme</result>"]


# -- commands ------------------------------------------------------------------------------


@tool
def note(text: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Note."""
    messages = [ToolMessage(f"noted {text}", tool_call_id=call_id), HumanMessage("from note")]
    return Command(update={"notes": text, "messages": messages})


@pytest.mark.engines("javascript")
@both
async def test_commands_update_the_graph(talk: Any) -> None:
    chat = talk(ptc=[note], after=[WithNotes()])
    result = await chat.turn("[await tools.note({text: 'a'}), await tools.note({text: 'b'})]")
    assert result["notes"] == "b"
    messages = result["messages"]
    answers = [m for m in messages if isinstance(m, ToolMessage)]
    assert [m.text for m in answers] == ['<result>["noted a", "noted b"]</result>']
    assert [m.text for m in messages if isinstance(m, HumanMessage)].count("from note") == 2
    calls = {c["id"] for m in messages for c in getattr(m, "tool_calls", ())}
    assert {m.tool_call_id for m in answers} <= calls
    assert await chat.run("1 + 1") == ["<result>2</result>"]  # the record was kept beside it


async def test_a_command_in_other_forms_leaves_no_message_behind(talk: Any) -> None:
    @tool
    def single(call_id: Annotated[str, InjectedToolCallId]) -> list[Any]:
        """A message and a command."""
        return [ToolMessage("ok", tool_call_id=call_id), Command(update={"notes": "list"})]

    chat = talk(ptc=[single], after=[WithNotes()])
    result = await chat.turn("await tools.single()")
    assert result["notes"] == "list"
    assert [m.text for m in result["messages"] if m.type == "tool"] == ["<result>ok</result>"]


async def test_a_command_survives_an_error_after_it(talk: Any) -> None:
    chat = talk(ptc=[note], after=[WithNotes()])
    result = await chat.turn("await tools.note({text: 'kept'}); null.x")
    assert result["notes"] == "kept"


@pytest.mark.engines("javascript")
@both
async def test_a_command_that_would_answer_an_interrupt_fails_in_the_code(talk: Any) -> None:
    made: list[str] = []

    @tool
    def answer(text: str) -> Any:
        """Answer."""
        made.append(text)
        return Command(resume=text)

    chat = talk(ptc=[answer])
    (text,) = await chat.run("await tools.answer({text: 'yes'}).catch(e => e.message)")
    assert text.startswith("<result>answer was called, but it returned a Command(resume=…), which ")
    assert made == ["yes"]


# -- middleware and filtering --------------------------------------------------------------


anywhere = pytest.mark.parametrize("where", ["before", "after"])


class Wrapping(AgentMiddleware[Any, Any, Any]):
    """Sees tool calls, and may change their answer."""

    def __init__(self, answer: str | None = None) -> None:
        super().__init__()
        self.answer = answer
        self.seen: list[str] = []

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        self.seen.append(request.tool_call["name"])
        return self._changed(request, handler(request))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        self.seen.append(request.tool_call["name"])
        return self._changed(request, await handler(request))

    def _changed(self, request: Any, message: Any) -> Any:
        if self.answer is None or request.tool_call["name"] == "eval":
            return message
        return message.model_copy(update={"content": self.answer})


@both
@anywhere
async def test_middleware_sees_inner_calls(talk: Any, where: str) -> None:
    wrapping = Wrapping()
    chat = talk(ptc=[add], **{where: [wrapping]})
    assert await chat.run("await tools.add({a: 1})") == ["<result>11</result>"]
    assert wrapping.seen == ["eval", "add"]


@both
async def test_each_middleware_sees_an_inner_call_once(talk: Any) -> None:
    before, after = Wrapping(), Wrapping()
    after.__class__ = type("Behind", (Wrapping,), {})  # no two may have one name
    chat = talk(ptc=[add], before=[before], after=[after])
    assert await chat.run("await tools.add({a: 1})") == ["<result>11</result>"]
    assert before.seen == after.seen == ["eval", "add"]


@both
@anywhere
async def test_what_middleware_makes_of_an_answer_is_what_code_gets(talk: Any, where: str) -> None:
    chat = talk(ptc=[add], **{where: [Wrapping("[redacted]")]})
    assert await chat.run("await tools.add({a: 1})") == ["<result>[redacted]</result>"]


class Guard(AgentMiddleware[Any, Any, Any]):
    """Refuses calls of one tool, as a policy would, or asks a person first."""

    def __init__(self, refused: str = "", asked: str = "") -> None:
        super().__init__()
        self.refused, self.asked = refused, asked

    def _refusal(self, request: Any) -> ToolMessage | None:
        call = request.tool_call
        refused = call["name"] == self.refused
        if call["name"] == self.asked:
            refused = interrupt(f"may {call['name']} {call['args']}?") != "yes"
        if not refused:
            return None
        return ToolMessage("not allowed", tool_call_id=call["id"], status="error")

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return self._refusal(request) or handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return self._refusal(request) or await handler(request)


@both
@anywhere
async def test_a_guard_refuses_calls_of_code_wherever_it_stands(talk: Any, where: str) -> None:
    done: list[str] = []

    @tool
    def delete(path: str) -> str:
        """Delete a file."""
        done.append(path)
        return "gone"

    chat = talk(tools=[delete], ptc=["delete"], **{where: [Guard(refused="delete")]})
    (answer,) = await chat.run(CAUGHT.replace("tools.%s", "tools.delete({path: '/x'})"))
    assert "not allowed" in answer
    assert done == []


@both
async def test_a_guard_in_a_subclass_refuses_calls_of_code(use_async: bool, talk: Any) -> None:
    class Guarded(CodeInterpreterMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return Guard(refused="add")._refusal(request) or super().wrap_tool_call(
                request, handler
            )

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            return Guard(refused="add")._refusal(request) or await super().awrap_tool_call(
                request, handler
            )

    with Guarded(ptc=[add]) as guarded:
        chat = talk()
        chat.agent = create_agent(chat.model, middleware=[guarded], checkpointer=InMemorySaver())
        (answer,) = await chat.run("await tools.add({a: 1})")
    assert "not allowed" in answer


@both
@anywhere
async def test_an_answer_to_a_guard_is_used_for_its_call_alone(talk: Any, where: str) -> None:
    """Each call that middleware asks about is asked about, also after a pause."""
    done: list[int] = []

    @tool
    def pay(euros: int) -> str:
        """Pay."""
        done.append(euros)
        return f"paid {euros}"

    chat = talk(ptc=[pay], **{where: [Guard(asked="pay")]})
    paused = await chat.turn("await tools.pay({euros: 1}); await tools.pay({euros: 2})")
    config = {"configurable": {"thread_id": "t"}}
    for euros, answer in ((1, "yes"), (2, "no")):
        (asked,) = paused["__interrupt__"]
        assert asked.value == f"may pay {{'euros': {euros}}}?"
        resume = Command(resume=answer)
        if chat.use_async:
            paused = await chat.agent.ainvoke(resume, config)
        else:
            paused = await asyncio.to_thread(chat.agent.invoke, resume, config)
    assert done == [1]
    assert "not allowed" in paused["messages"][-2].text


@both
@anywhere
async def test_a_tool_that_middleware_puts_in_gives_its_own_value(talk: Any, where: str) -> None:
    @tool("add")
    def other(a: int) -> dict[str, int]:
        """Add in another way."""
        return {"sum": a + 100}

    class Replacing(AgentMiddleware[Any, Any, Any]):
        def _changed(self, request: Any) -> Any:
            return request.override(tool=other) if request.tool_call["name"] == "add" else request

        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return handler(self._changed(request))

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            return await handler(self._changed(request))

    chat = talk(ptc=[add], **{where: [Replacing()]})
    assert await chat.run("(await tools.add({a: 1})).sum") == ["<result>101</result>"]


@both
@anywhere
async def test_middleware_that_asks_twice_gets_the_last_answer(talk: Any, where: str) -> None:
    class Retry(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            try:
                return handler(request)
            except ConnectionError:
                return handler(request)

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            try:
                return await handler(request)
            except ConnectionError:
                return await handler(request)

    tries: list[int] = []

    @tool
    def flaky() -> dict[str, int]:
        """Fail once."""
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("once")
        return {"tries": len(tries)}

    chat = talk(ptc=[flaky], **{where: [Retry()]})
    assert await chat.run("(await tools.flaky()).tries") == ["<result>2</result>"]


async def test_unknown_and_foreign_tools_are_not_there(talk: Any) -> None:
    chat = talk(tools=[add, look], ptc=["add", "eval", "missing"], late_tools=["missing"])
    answers = await chat.run(
        "Object.keys(tools).join()",
        "await tools.look({key: 'k'})",
        "await tools.missing({})",
    )
    assert answers[0] == "<result>add</result>"
    assert all("<error" in text for text in answers[1:])


@pytest.mark.engines("javascript")
@both
async def test_a_tool_that_was_taken_away_is_refused(talk: Any) -> None:
    class Filter(AgentMiddleware[Any, Any, Any]):
        on = False  # of the class, for the test to set

        def _request(self, request: Any) -> Any:
            return request.override(tools=[]) if self.on else request

        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(self._request(request))

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return await handler(self._request(request))

    chat = talk(tools=[add], ptc=["add"], before=[Filter()])
    assert (await chat.run("const kept = tools.add; await kept({a: 1})"))[0].startswith("<result>")
    Filter.on = True
    answers = await chat.run(CAUGHT.replace("tools.%s", "kept({a: 1})"), "typeof tools?.add")
    assert "not offered in this session, or no longer" in answers[0]
    assert answers[1] == "<result>undefined</result>"


# -- interrupts ----------------------------------------------------------------------------


@pytest.mark.engines("javascript")
@both
async def test_code_cannot_catch_an_interrupt(talk: Any) -> None:
    @tool
    def ask() -> str:
        """Ask."""
        return str(interrupt("sure?"))

    chat = talk(ptc=[ask])
    await chat.turn("let a = 1")
    result = await chat.turn("a += 1; try { await tools.ask() } catch { 'caught' }")
    assert [i.value for i in result["__interrupt__"]] == ["sure?"]
    assert not [m for m in result["messages"][-1:] if isinstance(m, ToolMessage)]
    resume = Command(resume="yes")
    config = {"configurable": {"thread_id": "t"}}
    if chat.use_async:
        result = await chat.agent.ainvoke(resume, config)
    else:
        result = await asyncio.to_thread(chat.agent.invoke, resume, config)
    assert without_restored(result["messages"][-2].text) == "<result>yes</result>"
    assert await chat.run("a") == ["<result>2</result>"]  # the first attempt left no trace


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(("durable", "made"), [(True, 1), (False, 2)])
async def test_an_eval_that_is_not_durable_runs_again(talk: Any, durable: bool, made: int) -> None:
    calls: list[str] = []

    @tool
    def note() -> None:
        """Note."""
        calls.append("noted")

    @tool
    def ask() -> str:
        """Ask."""
        return str(interrupt("sure?"))

    chat = talk(ptc=[note, ask], durable=durable)
    paused = await chat.turn("await tools.note(); await tools.ask()")
    assert [i.value for i in paused["__interrupt__"]] == ["sure?"]
    result = await chat.agent.ainvoke(Command(resume="yes"), {"configurable": {"thread_id": "t"}})
    assert without_restored(result["messages"][-2].text) == "<result>yes</result>"
    assert len(calls) == made


@pytest.mark.engines("javascript")
async def test_an_interrupt_of_one_eval_keeps_its_sibling(talk: Any, evals: Any) -> None:
    @tool
    def ask() -> str:
        """Ask."""
        return str(interrupt("sure?"))

    chat = talk(ptc=[ask])
    await chat.turn(evals("let a = 1", "a += 1; await tools.ask(); a", "typeof a"))
    result = await chat.agent.ainvoke(Command(resume="yes"), {"configurable": {"thread_id": "t"}})
    texts = [m.text for m in result["messages"] if isinstance(m, ToolMessage)]
    answers = [without_restored(text) for text in texts]
    assert answers[:2] == ["<result>1</result>", "<result>2</result>"]


async def test_cancelling_the_run_leaves_the_last_state(talk: Any) -> None:
    @tool
    async def hang() -> str:
        """Hang."""
        await asyncio.sleep(60)
        return "never"

    chat = talk(ptc=[hang])
    await chat.turn("let a = 1")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await chat.turn("a = 2; await tools.hang()")
    assert await chat.run("a") == ["<result>1</result>"]


# -- tracing and events --------------------------------------------------------------------


class Runs(BaseCallbackHandler):
    """Parents of tool runs, by name."""

    def __init__(self) -> None:
        self.started: list[tuple[str, UUID, UUID | None]] = []

    def on_tool_start(self, serialized: Any, input_str: str, **kwargs: Any) -> None:
        self.started.append((serialized["name"], kwargs["run_id"], kwargs["parent_run_id"]))


@both
async def test_inner_calls_are_traced_below_their_eval(talk: Any, evals: Any) -> None:
    chat, runs = talk(ptc=[add]), Runs()
    config = {"configurable": {"thread_id": "t"}, "callbacks": [runs]}
    await chat.turn(evals("await tools.add({a: 1})", "await tools.add({a: 2})"), config=config)
    evals_run = [run for name, run, _ in runs.started if name == "eval"]
    parents = [parent for name, _, parent in runs.started if name == "add"]
    assert len(evals_run) == 2
    assert sorted(parents, key=str) == sorted(evals_run, key=str)


@both
async def test_callbacks_receive_the_input_without_injected_arguments(talk: Any) -> None:
    answers: list[Any] = []

    class Inputs(BaseCallbackHandler):
        def on_tool_start(self, serialized: Any, input_str: str, **kwargs: Any) -> None:
            if serialized["name"] == "look":
                answers.append(kwargs["inputs"])

    @tool
    def look(key: str, runtime: ToolRuntime, more: str = "") -> str:
        """Look something up."""
        return f"{key}{more} {runtime.tool_call_id is not None}"

    config = {"configurable": {"thread_id": "t"}, "callbacks": [Inputs()]}
    given = "[{key: 'a'}, {key: 'b', more: 'c'}, {key: 'd'}]"
    code = f"const found = []; for (const one of {given}) found.push(await tools.look(one)); found"
    answer = await talk(ptc=[look]).run(code, config=config)
    assert answer == ['<result>["a True", "bc True", "d True"]</result>']
    assert answers == [{"key": "a"}, {"key": "b", "more": "c"}, {"key": "d"}]


async def test_astream_events_shows_inner_calls(talk: Any, evals: Any) -> None:
    chat = talk(ptc=[add])
    chat.say([evals("await tools.add({a: 1})")])
    config = {"configurable": {"thread_id": "t"}}
    given = {"messages": [("user", "go")]}
    events = [e async for e in chat.agent.astream_events(given, config, version="v2")]
    started = {e["name"]: e for e in events if e["event"] == "on_tool_start"}
    assert started["eval"]["run_id"] in started["add"]["parent_ids"]
    ended = {e["name"]: e for e in events if e["event"] == "on_tool_end"}
    assert ended["add"]["data"]["output"].content == "11"


@pytest.mark.engines("javascript")
@both
@pytest.mark.parametrize("saver", [None, "memory"], ids=["", "checkpointer"])
async def test_events_of_one_call_have_one_namespace(talk: Any, evals: Any, saver: Any) -> None:
    @tool
    def fail() -> str:
        """Fail."""
        raise ValueError("no")

    chat = talk(ptc=[returning(1), fail], checkpointer=saver)
    chat.say([evals("await tools.give(); await tools.fail().catch(() => 0)")])
    given = {"messages": [("user", "go")]}
    options: Any = {"stream_mode": "custom", "subgraphs": True}
    config = {"configurable": {"thread_id": "t"}}
    if chat.use_async:
        events = [one async for one in chat.agent.astream(given, config, **options)]
    else:
        events = await asyncio.to_thread(lambda: [*chat.agent.stream(given, config, **options)])
    phases = [event["phase"] for _, event in events]
    assert phases == ["start", "complete", "start", "error"]
    assert {namespace for namespace, _ in events} == {()}


@both
async def test_progress_is_reported_on_the_custom_stream(talk: Any, evals: Any) -> None:
    chat = talk(ptc=[add])
    message = evals("await tools.add({a: 1}); await tools.add({a: 'x'}).catch(() => 0)")
    chat.say([message])
    config = {"configurable": {"thread_id": "t"}}
    given = {"messages": [("user", "go")]}
    if chat.use_async:
        events = [e async for e in chat.agent.astream(given, config, stream_mode="custom")]
    else:
        stream = chat.agent.stream(given, config, stream_mode="custom")
        events = await asyncio.to_thread(list, stream)
    assert [e["phase"] for e in events] == ["start", "complete", "start", "error"]
    assert {e["type"] for e in events} == {"tool"}
    assert {e["tool"] for e in events} == {"add"}
    assert {e["eval_id"] for e in events} == {message.tool_calls[0]["id"]}
    assert events[0]["id"] == events[1]["id"] != events[2]["id"]
    assert isinstance(events[1]["duration_ms"], int)
    assert "integer" in events[3]["error"]


async def test_a_hundred_parallel_calls_are_a_few_crossings(
    talk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    crossings: list[int] = []
    evaluate = Session.eval_with_state

    async def spy(self: Session, cell: Any, **options: Any) -> Any:
        outcome, state = await evaluate(self, cell, **options)
        crossings.append(outcome.usage.crossings)
        return outcome, state

    monkeypatch.setattr(Session, "eval_with_state", spy)
    together = asyncio.Barrier(100)

    @tool
    async def later(a: int) -> int:
        """Answer when all have asked."""
        await together.wait()
        return a

    code = "const calls = Array.from({length: 100}, (_, a) => tools.later({a}));"
    code += "(await Promise.all(calls)).reduce((s, n) => s + n)"
    assert await talk(ptc=[later]).run(code) == [f"<result>{sum(range(100))}</result>"]
    assert crossings[0] <= 6


class _BrokenWriter(AgentMiddleware[Any, Any, Any]):
    """Gives evals a custom stream that cannot be written to."""

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        def write(event: Any) -> None:
            raise OSError("the stream is gone")

        runtime = dataclasses.replace(request.runtime, stream_writer=write)
        return await handler(request.override(runtime=runtime))


async def test_progress_that_cannot_be_reported_fails_no_call(
    talk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[int] = []

    @tool
    async def book(seat: int) -> str:
        """Book a seat."""
        done.append(seat)
        return f"booked {seat}"

    chat = talk(ptc=[book], before=[_BrokenWriter()])
    code = "[await tools.book({seat: 1}), await tools.book({seat: 2})].join(', ')"
    assert await chat.run(code) == ["<result>booked 1, booked 2</result>"]
    assert done == [1, 2]
    answers = [r for r in caplog.records if r.name == "interpstack_agents.progress"]
    assert [r.levelname for r in answers] == ["WARNING"]
    assert "the stream is gone" in str(answers[0].exc_info)


class _Configured(BaseTool):
    """A tool that only runs synchronously, and wants what LangChain hands to it."""

    name: str = "configured"
    description: str = "Tell the thread."

    def _run(
        self,
        mark: str,
        config: RunnableConfig,
        run_manager: CallbackManagerForToolRun | None = None,
    ) -> str:
        traced = run_manager is not None and run_manager.parent_run_id is not None
        return f"{mark} {config['configurable']['thread_id']} {traced}"


@both
async def test_a_tool_without_async_gets_its_configuration(talk: Any) -> None:
    config = {"configurable": {"thread_id": "t"}, "callbacks": [Runs()]}
    chat = talk(ptc=[_Configured()])
    answer = await chat.run("await tools.configured({mark: 'on'})", config=config)
    assert answer == ["<result>on t True</result>"]


class _Writes(BaseCallbackHandler):
    """A handler that uses the configuration around it."""

    raise_error = True

    def on_tool_start(self, serialized: Any, input_str: str, **kwargs: Any) -> None:
        get_stream_writer()(f"{serialized['name']} begins")


async def test_callbacks_of_inner_calls_can_write_to_the_stream(talk: Any, evals: Any) -> None:
    chat = talk(ptc=[add])
    chat.say([evals("await tools.add({a: 1})")])
    config = {"configurable": {"thread_id": "t"}, "callbacks": [_Writes()]}
    given = {"messages": [("user", "go")]}
    events = [e async for e in chat.agent.astream(given, config, stream_mode="custom")]
    assert [e for e in events if isinstance(e, str)] == ["eval begins", "add begins"]


async def test_a_wrong_type_is_told_with_what_was_given_and_all_fields(talk: Any) -> None:
    @tool
    def find(q: str, limit: int = 3) -> str:
        """Find."""
        return q * limit

    wrong = ["{q: 'a', limit: 'x'}", "{q: {deep: 1}}", "{limit: 2}", "{query: 'a'}", "'a', 2"]
    answers = await talk(ptc=[find]).run(*(CAUGHT % f"find({given})" for given in wrong))
    fields = "its fields are: q: string, limit?: integer"
    assert "find: limit: Input should be a valid integer" in answers[0]
    answers = [answer.replace('\\"', '"') for answer in answers]
    assert f'given: limit is "x"; {fields}' in answers[0]
    assert f'given: q is {{"deep": 1}}; {fields}' in answers[1]
    assert f"find: q: Field required; {fields}" in answers[2]
    own = "its fields are: q: string, limit?: number"
    assert f"tools.find has no field 'query'; {own}" in answers[3]
    assert f'tools.find takes one object, as in tools.find({{q: "a"}}); {own}' in answers[4]


async def test_an_error_of_a_tool_itself_stays_as_the_tool_says_it(talk: Any) -> None:
    @tool
    def find(q: str) -> str:
        """Find."""
        raise ToolException("Error invoking tool 'find' with kwargs {}")

    find.handle_tool_error = True
    (answer,) = await talk(ptc=[find]).run(CAUGHT % "find({q: 'a'})")
    assert "Error invoking tool 'find' with kwargs {}" in answer
    assert "its fields" not in answer
