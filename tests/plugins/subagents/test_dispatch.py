"""Subagents of every kind, dispatched from code in a real graph."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])

ASK = 'await task({description: "hello", subagentType: "kid"})'


@pytest.mark.engines("javascript")
@both
async def test_a_declarative_subagent_answers(crews: Any, use_async: bool) -> None:
    crew = crews()
    assert await crew.run(ASK, use_async) == "<result>re: hello</result>"


@both
async def test_a_compiled_subagent_answers(crews: Any, use_async: bool) -> None:
    def answer(state: dict[str, Any]) -> dict[str, Any]:
        return {
            "messages": [*state["messages"], AIMessage("compiled: " + state["messages"][-1].text)]
        }

    kid = {"name": "kid", "description": "helps", "runnable": RunnableLambda(answer)}
    assert await crews(kid).run(ASK, use_async) == "<result>compiled: hello</result>"


@both
async def test_a_compiled_subagent_with_an_async_form_alone_answers(
    crews: Any, use_async: bool
) -> None:
    async def answer(state: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [*state["messages"], AIMessage("awaited")]}

    kid = {"name": "kid", "description": "helps", "runnable": RunnableLambda(answer)}
    assert await crews(kid).run(ASK, use_async) == "<result>awaited</result>"


@both
async def test_a_subagent_calls_a_tool_with_an_async_form_alone_once(
    crews: Any, use_async: bool
) -> None:
    dug: list[int] = []

    @tool
    async def dig(n: int) -> str:
        """Dig."""
        dug.append(n)
        return f"{interrupt('may I?')} {n}"

    def reply(messages: list[Any], names: list[str]) -> Any:
        last = messages[-1]
        return last.text if isinstance(last, ToolMessage) else crews.calls("dig", {"n": 3})

    crew = crews(crews.kid(reply, tools=[dig]))
    await crew.run(ASK, use_async)
    assert dug == [3]
    assert await crew.run(ASK, use_async, given=Command(resume="dug")) == "<result>dug 3</result>"
    assert dug == [3, 3]  # the tool itself runs again after its interrupt, and only that once


class _Threads:
    async def create(self, **kwargs: Any) -> Any:
        return {"thread_id": "remote-1"}


class _Runs:
    def __init__(self) -> None:
        self.launched: list[Any] = []

    async def create(self, **kwargs: Any) -> Any:
        self.launched.append(kwargs["input"]["messages"][-1]["content"])
        return {"run_id": "run-1"}


class _Remote:
    """The part of the SDK's client that starting a run needs."""

    def __init__(self) -> None:
        self.threads, self.runs = _Threads(), _Runs()


async def test_an_async_subagent_is_started_through_its_own_tools(
    crews: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = _Remote()
    monkeypatch.setattr("deepagents.middleware.async_subagents.get_client", lambda **_: remote)
    spec = {"name": "far", "description": "far away", "graph_id": "g", "url": "http://far.invalid"}
    crew = crews(crews.kid(), spec, ptc=["start_async_task", "list_async_tasks"])
    answer = await crew.run(
        'const started = await tools.startAsyncTask({description: "dig", subagent_type: "far"});'
        'let local; try { await task({description: "dig", subagentType: "far"}) }'
        "catch (error) { local = error.message } [started, local]"
    )
    assert "remote-1" in answer
    assert "far because it does not exist" in answer  # only `task`'s own kinds
    assert remote.runs.launched == ["dig"]
    assert crew.state["async_tasks"]["remote-1"]["agent_name"] == "far"


@pytest.mark.engines("javascript")
@both
async def test_an_unknown_type_rejects_and_names_the_known_ones(
    crews: Any, use_async: bool
) -> None:
    code = (
        'try { await task({description: "x", subagentType: "nobody"}) }'
        " catch (e) { [e instanceof Error, e.name, e.tool, e.message] }"
    )
    answer = await crews().run(code, use_async)
    assert answer.startswith('<result>[true, "ToolError", "task", ')
    assert "nobody" in answer
    assert "`kid`" in answer
    assert "/" not in answer.replace("</result>", "")  # no path of the host


@pytest.mark.engines("javascript")
@both
async def test_a_failing_subagent_rejects_and_the_others_go_on(crews: Any, use_async: bool) -> None:
    def reply(messages: list[Any], names: list[str]) -> str:
        if "bad" in messages[-1].text:
            raise RuntimeError("the kid stumbled")
        return "fine"

    code = (
        "const all = await Promise.allSettled(['good', 'bad', 'good'].map("
        "description => task({description, subagentType: 'kid'})));"
        "all.map(({value, reason: e}) => value ?? [e.name, e.message, e.stack.includes('.py')])"
    )
    answer = await crews(crews.kid(reply)).run(code, use_async)
    assert answer == '<result>["fine", ["ToolError", "the kid stumbled", false], "fine"]</result>'


async def test_an_uncaught_failure_is_the_cells_error(crews: Any) -> None:
    def reply(messages: list[Any], names: list[str]) -> str:
        raise RuntimeError("the kid stumbled")

    answer = await crews(crews.kid(reply)).run(ASK)
    assert answer.startswith('<error type="ToolError">the kid stumbled')


@pytest.mark.engines("javascript")
@both
async def test_a_response_schema_gives_a_parsed_value(crews: Any, use_async: bool) -> None:
    seen: list[str] = []

    def reply(messages: list[Any], names: list[str]) -> Any:
        seen[:] = names
        return crews.calls(names[-1], {"n": 5, "tags": ["a"]}, "structured")

    code = (
        'const got = await task({description: "count", subagentType: "kid", responseSchema: {'
        '  type: "object", required: ["n"],'
        '  properties: {n: {type: "integer"}, tags: {type: "array", items: {type: "string"}}}}});'
        "[typeof got, got.n + 1, got.tags[0]]"
    )
    answer = await crews(crews.kid(reply)).run(code, use_async)
    assert answer == '<result>["object", 6, "a"]</result>'
    assert seen[-1] == "subagent_response"  # the title that was filled in is the function's name


async def test_a_compiled_subagent_takes_no_schema(crews: Any) -> None:
    kid = {"name": "kid", "description": "helps", "runnable": RunnableLambda(lambda state: state)}
    code = (
        'const responseSchema = {properties: {}}; let told = "none";'
        'try { await task({description: "x", subagentType: "kid", responseSchema}) }'
        " catch (e) { told = e.name + e.message } told"
    )
    answer = await crews(kid).run(code)
    assert answer.startswith("<result>ToolError")
    assert "kid" in answer


@pytest.mark.engines("javascript")
async def test_an_interrupting_subagent_stops_the_graph_and_the_eval_is_replayed(
    crews: Any,
) -> None:
    starts: list[str] = []

    def ask(state: dict[str, Any]) -> dict[str, Any]:
        starts.append("")
        return {"messages": [AIMessage("allowed: " + interrupt("may I?"))]}

    class State(TypedDict):
        messages: Annotated[list[Any], add_messages]

    graph = StateGraph(State)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    kid = {"name": "kid", "description": "helps", "runnable": graph.compile()}
    crew = crews(kid)
    code = (
        "let tries = 0; tries++; let got;"
        f"try {{ got = {ASK} }} catch (e) {{ got = 'caught' }} [got, tries]"
    )
    assert await crew.run(code) == ""  # the guest could not swallow it
    pending = (await crew.agent.aget_state({"configurable": {"thread_id": "t"}})).interrupts
    assert [item.value for item in pending] == ["may I?"]
    first = [event for event in crew.events if event["phase"] == "start"]

    assert (
        await crew.run(code, given=Command(resume="yes")) == '<result>["allowed: yes", 1]</result>'
    )
    assert [event["id"] for event in crew.events if event["phase"] == "start"] == [first[0]["id"]]
    assert [event["phase"] for event in crew.events] == ["start", "complete"]


@both
async def test_files_of_subagents_reach_the_parent_each_kept(crews: Any, use_async: bool) -> None:
    def reply(messages: list[Any], names: list[str]) -> Any:
        if isinstance(messages[-1], ToolMessage):
            return "written"
        name = next(m.text for m in messages if isinstance(m, HumanMessage))
        return crews.calls("write_file", {"file_path": f"/{name}.txt", "content": name})

    code = (
        "await Promise.all(['left', 'right', 'middle'].map("
        "description => task({description, subagentType: 'kid'})))"
    )
    crew = crews(crews.kid(reply))
    assert await crew.run(code, use_async) == '<result>["written", "written", "written"]</result>'
    assert sorted(crew.state["files"]) == ["/left.txt", "/middle.txt", "/right.txt"]
    assert crew.state["files"]["/left.txt"]["content"] == "left"
    kinds = [message.type for message in crew.state["messages"]]
    assert kinds == ["human", "ai", "tool", "ai"]  # no message of a subagent among them


async def test_a_file_that_one_subagent_removes_stays_removed(crews: Any) -> None:
    old = {"content": "old", "encoding": "utf-8", "created_at": "", "modified_at": ""}

    def answer(state: dict[str, Any]) -> dict[str, Any]:
        name = state["messages"][-1].text
        files = {"/new.txt": old} if name == "write" else {"/old.txt": None}
        return {"messages": [AIMessage(name)], "files": files}

    crew = crews({"name": "kid", "description": "helps", "runnable": RunnableLambda(answer)})
    await crew.run(
        "const ask = description => task({description, subagentType: 'kid'});"
        "await ask('write'); await ask('remove')",
        given={"messages": [HumanMessage("go")], "files": {"/old.txt": old}},
    )
    assert sorted(crew.state["files"]) == ["/new.txt"]


@pytest.mark.engines("javascript")
async def test_parallel_updates_of_a_reducer_key_are_all_kept(crews: Any) -> None:
    from deepagents.graph import DeepAgentState

    class State(DeepAgentState):  # type: ignore[type-arg]
        found: Annotated[list[str], operator.add]

    def answer(state: dict[str, Any]) -> dict[str, Any]:
        text = state["messages"][-1].text
        return {"messages": [AIMessage(text)], "found": [text]}

    kid = {"name": "kid", "description": "helps", "runnable": RunnableLambda(answer)}
    crew = crews(kid, agent_options={"state_schema": State})
    await crew.run(
        "const ask = description => task({description, subagentType: 'kid'});"
        "await Promise.all(['a', 'b', 'c'].map(ask))"
    )
    assert sorted(crew.state["found"]) == ["a", "b", "c"]


async def test_variables_of_the_agent_and_of_its_subagents_are_apart(crews: Any) -> None:
    from interpstack_langchain import CodeInterpreterMiddleware

    inner = CodeInterpreterMiddleware()
    crews.made.append(inner)

    def reply(messages: list[Any], names: list[str]) -> Any:
        if isinstance(messages[-1], ToolMessage):
            return messages[-1].text
        return crews.calls("eval", {"code": "typeof mine + typeof task"}, "inner-1")

    crew = crews(crews.kid(reply, middleware=[inner]))
    answer = await crew.run(f"globalThis.mine = 1; {ASK}")
    assert "undefinedundefined" in answer


@tool
def task(text: str) -> str:
    """A tool of the agent that happens to have the name."""
    return text


async def test_another_tool_of_that_name_is_no_dispatcher(crews: Any) -> None:
    from langchain.agents import create_agent

    middleware = crews().agent and crews.made[-1]
    agent = create_agent(_model_of(crews, "typeof task"), tools=[task], middleware=[middleware])
    result = await agent.ainvoke({"messages": [("user", "go")]})
    assert result["messages"][-2].text == "<result>undefined</result>"


def _model_of(crews: Any, code: str) -> Any:
    def reply(messages: list[Any], names: list[str]) -> Any:
        if isinstance(messages[-1], ToolMessage):
            return "done"
        return crews.calls("eval", {"code": code})

    return crews.kid(reply)["model"]
