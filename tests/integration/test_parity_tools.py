"""Tools in code, beside langchain-quickjs.

`docs/reference/compared.md` names these tests.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from clocks import LeapingClock
from guests import GuestCode, without_restored
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.tools import InjectedState, InjectedStore, ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, ToolException, tool
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from parity import Talk, ask_first, echo, find_rows, result, scripted_once, system_prompt

from interpstack_langchain import CodeInterpreterMiddleware


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


@pytest.mark.engines("javascript")
async def test_area_ptc(converse: Talk) -> None:
    @tool
    def only_here() -> str:
        """Be offered to code, never to the model."""
        return "object"

    ptc = [only_here, "find_rows", echo, "eval", "gone"]
    agent = converse(tools=[echo, find_rows], ptc=ptc, late_tools=["gone"])
    assert await agent.run(
        "Object.keys(tools).sort().join()",
        "let r = await tools.findRows({limit: 2}); [r.length, r[1].id + 1, r[0].tags]",
        "await tools.echo({text: 'ab', times: undefined})",
    ) == [
        result("echo,findRows,onlyHere"),
        result('[2, 2, ["t"]]'),
        result("ab"),
    ]


@tool
def give_back(v: Any, note: str | None = None) -> Any:
    """Return what it is given."""
    return v


@tool(response_format="content_and_artifact")
def with_artifact(x: int) -> tuple[str, dict[str, int]]:
    """Return a text, and an object for the application."""
    return f"text {x}", {"artifact": x}


@tool(return_direct=True)
def direct(x: int) -> str:
    """End the agent's run, where the model calls it."""
    return f"direct {x + 1}"


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("await tools.giveBack({v: 1, note: null})", "1"),
        ("await tools.giveBack({v: [undefined, NaN]})", "[null, NaN]"),
        ("await tools.giveBack({v: new Date(0)})", "1970-01-01T00:00:00+00:00"),
        ("await tools.giveBack({v: new Map([['a', 1]])})", "{a: 1}"),
        ("const o = {}; o.o = o; await tools.giveBack({v: o}).catch(e => e.name)", "TypeError"),
        ("await tools.giveBack({v: () => 1}).catch(e => e.message.slice(0, 10))", "a function"),
        ("await tools.direct('4')", "direct 5"),
        ("await tools.direct({x: '4'}) + '!'", "direct 5!"),
        ("await tools.withArtifact({x: 3})", "text 3"),
        ("tools.withArtifact({x: 3}); 'not awaited'", "not awaited"),
        ("const p = tools.direct({x: 1}); [await p, await p].join()", "direct 2,direct 2"),
    ],
)
async def test_area_ptc_values(converse: Talk, code: str, answer: str) -> None:
    agent = converse(ptc=[give_back, with_artifact, direct])
    assert await agent.one(code) == result(answer)


@pytest.mark.engines("javascript")
async def test_area_ptc_handled_errors(converse: Talk) -> None:
    def refuse(x: int) -> str:
        raise ToolException(f"no {x}")

    named = {"func": refuse, "description": "Refuse."}
    handled = [
        StructuredTool.from_function(**named, name="plain", handle_tool_error=True),
        StructuredTool.from_function(**named, name="by_function", handle_tool_error=repr),
    ]
    code = "await {}.catch(error => `${{error.name}} ${{error.message}}`)"
    assert await converse(ptc=handled).run(
        code.format("tools.plain({x: 1})"), code.format("tools.byFunction({x: 2})")
    ) == [result("ToolError no 1"), result("ToolError ToolException('no 2')")]


@pytest.mark.engines("javascript")
async def test_area_ptc_late_answers(converse: Talk) -> None:
    agent = converse(ptc=[direct])
    assert await agent.run("globalThis.late = tools.direct({x: 1}); 1", "await late") == [
        result("1"),
        result("direct 2"),
    ]


@pytest.mark.engines("javascript")
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


@pytest.mark.engines("all")
async def test_row_11_calls_from_code_need_their_approval(converse: Talk, guest: GuestCode) -> None:
    made: list[str] = []

    @tool
    def pay(to: str) -> str:
        """Pay somebody."""
        made.append(to)
        return f"paid {to}"

    agent = converse(tools=[pay], interrupt_on={"pay": True})
    paused = await agent.turn(guest.call("pay", to="Ann"))
    (request,) = paused["__interrupt__"][0].value["action_requests"]
    assert (request["name"], request["args"], made) == ("pay", {"to": "Ann"}, [])
    config = {"configurable": {"thread_id": "t"}}
    done = await agent.send(Command(resume={"decisions": [{"type": "approve"}]}), config)
    assert (done["messages"][-2].text, made) == (result("paid Ann"), ["Ann"])


@pytest.mark.engines("all")
async def test_row_12_an_interrupted_eval_runs_once(converse: Talk, guest: GuestCode) -> None:
    agent = converse(tools=[ask_first])
    await agent.run(guest.set("runs", "0"))
    await agent.turn(guest.cell("runs += 1", guest.call("ask_first", what="go"), "runs"))
    done = await agent.send(Command(resume="yes"), {"configurable": {"thread_id": "t"}})
    assert without_restored(done["messages"][-2].text) == result("1")
    assert await agent.one("runs") == result("1")


@pytest.mark.engines("all")
@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
async def test_row_13_guest_never_sees_an_interrupt(
    converse: Talk, guest: GuestCode, is_async: bool
) -> None:
    ask = ask_first
    if not is_async:

        @tool("ask_first")
        def ask(what: str) -> str:
            """Ask before doing something."""
            return f"{interrupt({'may I': what})}: {what}"

    agent = converse(tools=[ask], is_async=is_async)
    await agent.run(guest.set("caught", guest.value("nothing")))
    call = guest.call("ask_first", what="go")
    state = await agent.turn(guest.cell(guest.guarded(call), "[said, caught]"))
    assert [pause.value for pause in state["__interrupt__"]] == [{"may I": "go"}]
    config = {"configurable": {"thread_id": "t"}}
    done = await agent.send(Command(resume="yes"), config)
    found = without_restored(done["messages"][-2].text)
    assert found == result(guest.shown(["yes: go", "nothing."]))


async def test_row_14_command_is_applied() -> None:
    class State(AgentState[Any]):
        notes: str

    @tool
    async def take_note(text: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Take a note."""
        found = ToolMessage(f"noted {text}", tool_call_id=call_id)
        return Command(update={"notes": text, "messages": [found]})

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


@pytest.mark.engines("all")
async def test_row_17_wall_clock_limit(
    converse: Talk, guest: GuestCode, leaping_clock: LeapingClock
) -> None:
    @tool
    async def never() -> str:
        """Never return."""
        await asyncio.Event().wait()
        return ""

    @tool
    async def later() -> str:
        """Let time pass."""
        await leaping_clock.leaps_when()()
        return ""

    agent = converse(tools=[never, later], wall_timeout=100)
    await agent.run(guest.set("earlier", guest.value("binding")))
    printed = guest.print.format(value=guest.value("so far"))
    both = guest.all(guest.start("never"), guest.start("later"))
    answer = await agent.one(guest.cell(printed, both))
    assert '<error type="Timeout">' in answer
    assert "tools.never" in answer
    assert "so far" in answer
    assert without_restored(await agent.one("earlier")) == result("binding")
    assert await converse(timeout=None, wall_timeout=None).one("1 + 1") == result("2")
