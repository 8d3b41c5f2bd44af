"""Objects of LangChain as agents of runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agent_graphs import Acting
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph
from pydantic import BaseModel, Field
from workflow_runs import runner, script, spent
from workflow_talk import Talk, workflow

from interpstack import ConfigurationError
from interpstack_langchain.workflows import LangChainAgent, WorkflowMiddleware
from interpstack_langchain.workflows.agents.langchain_agent import agent_of
from interpstack_workflows.api import Agent, AgentCall, AgentProgressEvent


async def _value(agent: Any, body: str = "return agent('go')", **options: Any) -> Any:
    async with runner(agent, **options) as one:
        result = await one.run(script(body))
    assert result.status == "completed", result.error
    return result.result


async def _error(agent: Any, body: str) -> str:
    async with runner(agent) as one:
        result = await one.run(script(body))
    assert result.error is not None
    return f"{result.error['name']}: {result.error['message']}"


def _graph(node: Any, **options: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile(**options)


async def _later(prompt: str) -> str:
    return f"later {prompt}"


def _upper(prompt: str) -> str:
    """Shout."""
    return prompt.upper()


@pytest.mark.parametrize(
    ("target", "value"),
    [
        (create_agent(Acting(), []), "answer to go"),
        (create_deep_agent(Acting()), "answer to go"),
        (Acting(), "answer to go"),
        (_graph(lambda state: {"messages": [("ai", "sync")]}), "sync"),
        (RunnableLambda(_later), "later go"),
        (RunnableLambda(_upper), "GO"),
        (ChatPromptTemplate.from_template("say {it}") | Acting(), "answer to say go"),
    ],
    ids=["create_agent", "deep", "model", "graph", "async", "sync", "chain"],
)
async def test_objects_of_langchain_are_agents(target: Any, value: str) -> None:
    assert await _value(target) == value


async def test_sync_tools_run_beside_the_loop() -> None:
    agent = create_agent(Acting(turns=[[("_upper", {"prompt": "x"})]]), [_upper])
    assert await _value(agent) == "answer to go"


async def test_they_are_agents_by_name_beside_functions() -> None:
    async with runner(_later, agents={"model": Acting(), "plain": _later}) as one:
        body = "return parallel(['model', 'plain'].map(n => () => agent('go', {agentType: n})))"
        result = await one.run(script(body))
    assert result.result == ["answer to go", "later go"]


@pytest.mark.parametrize("use_async", [True, False], ids=["ainvoke", "invoke"])
async def test_graphs_are_agents_of_workflows_that_a_model_starts(use_async: bool) -> None:
    reader = create_agent(Acting(turns=[[("_upper", {"prompt": "x"})]]), [_upper], name="reader")
    async with WorkflowMiddleware(agents={"default": reader}) as middleware:
        talk = Talk(middleware, use_async)
        source = workflow("return agent('in a tool')")
        answer = await talk.do("start", source=source, wait_seconds=30)
    assert 'result: "answer to in a tool"' in answer
    assert "1 agents, 30 tokens" in answer
    assert "(called where no agentType is given): reader" in str(talk.seen[0][0].content)


async def test_a_node_of_a_graph_may_run_workflows() -> None:
    inner = create_agent(Acting(turns=[[("_upper", {"prompt": "x"})]]), [_upper])

    async def node(state: Any, config: RunnableConfig) -> Any:
        return {"messages": [("ai", await _value(inner))]}

    assert await _value(_graph(node)) == "answer to go"


async def test_tokens_of_all_models_count() -> None:
    sub = {
        "name": "helper",
        "description": "helps",
        "system_prompt": "help",
        "model": Acting(tokens=(100, 50), turns=[[("_upper", {"prompt": "y"})]]),
        "tools": [_upper],
    }
    task: dict[str, Any] = {"description": "do it", "subagent_type": "helper"}
    deep = create_deep_agent(Acting(turns=[[("task", task), ("task", task)]]), subagents=[sub])

    def nested(prompt: str) -> str:
        """Ask an agent from a sync tool."""
        return str(deep.invoke({"messages": [("user", prompt)]})["messages"][-1].text)

    outer = create_agent(Acting(turns=[[("nested", {"prompt": "z"})]]), [nested])
    for agent, direct in ((deep, 2), (outer, 4)):
        events: list[Any] = []
        async with runner(agent, events=events.append) as one:
            result = await one.run(script("return agent('go')"), budget=10_000)
        used = {"input_tokens": direct * 10 + 400, "output_tokens": direct * 5 + 200, "agents": 1}
        assert spent(result) == used
    progress = [e.provider_event for e in events if isinstance(e, AgentProgressEvent)]
    assert {"tool_call", "tool_result", "message"} <= {one["type"] for one in progress}


async def test_tokens_of_an_agent_that_fails_count() -> None:
    agent = create_agent(Acting(turns=[[("nothing", {})]], failing=["", "down"]), [_upper])
    async with runner(agent) as one:
        result = await one.run(script("return agent('go', {retry: {maxAttempts: 2}})"))
    assert result.result == "answer to go"
    assert spent(result) == {"input_tokens": 20, "output_tokens": 10, "agents": 2}


class _Answer(BaseModel):
    city: str
    people: int


_SCHEMA = (
    "{type: 'object', required: ['city', 'people'], properties: "
    "{city: {type: 'string'}, people: {type: 'integer'}}}"
)


async def test_answers_fit_the_schema_of_a_call() -> None:
    body = f"return agent('go', {{schema: {_SCHEMA}}})"
    expected = {"city": "Bonn", "people": 3}
    text = '```json\n{"city": "Bonn", "people": 3}\n```'
    for target in (Acting(text=text), create_agent(Acting(text=text), [])):
        assert await _value(target, body) == expected
    call = ("_Answer", {"city": "Bonn", "people": 3})
    own = create_agent(Acting(turns=[[call]]), [], response_format=ToolStrategy(_Answer))
    assert await _value(own, body) == expected
    assert await _value(own) == expected, "it has no text"
    stubborn = Acting(text="Bonn has 3")
    assert (await _error(stubborn, body)).startswith("StructuredOutputError")
    assert len(stubborn.seen) == 2
    assert "JSON Schema:\n{" in stubborn.seen[0][0].text
    assert "Your last answer did not match" in stubborn.seen[1][0].text


class _Native(Acting):
    """A model whose provider enforces schemas."""

    asked: list[Any] = Field(default_factory=list)
    parsed: Any = None

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
        self.asked.append((schema, kwargs))
        return self | (lambda raw: {"raw": raw, "parsed": self.parsed, "parsing_error": None})


async def test_a_model_that_answers_by_schemas_gets_the_schema() -> None:
    body = f"return agent('go', {{schema: {_SCHEMA}}})"
    model = _Native(profile={"structured_output": True}, parsed={"city": "Bonn", "people": 3})
    assert await _value(model, body) == {"city": "Bonn", "people": 3}
    ((schema, options),) = model.asked
    assert (schema["title"], schema["type"], options) == ("answer", "object", {"include_raw": True})
    assert model.seen[0][0].text == "go"
    unparsed = _Native(profile={"structured_output": True}, text='{"city": "X", "people": 1}')
    assert await _value(unparsed, body) == {"city": "X", "people": 1}
    plain = _Native(text='{"city": "X", "people": 1}')
    await _value(plain, body)
    assert plain.asked == []


class _Capped(Acting):
    """A model with a limit of its own."""

    max_tokens: int = 1000


async def test_the_limit_of_tokens_reaches_the_models() -> None:
    capped = _Capped()
    assert await _value(capped, "return agent('go', {maxTokens: 40})") == "answer to go"
    assert capped.options == [{"max_tokens": 40}]
    turns = [[("_upper", {"prompt": "x"})]] * 5
    looping = Acting(turns=turns)
    error = await _error(create_agent(looping, [_upper]), "return agent('go', {maxTokens: 40})")
    assert error == "TokenLimitExceeded: the agent has used 45 of 40 tokens"
    assert len(looping.seen) == 3
    silent = await _error(Acting(tokens=None), "return agent('go', {maxTokens: 40})")
    assert silent.startswith("AgentFailed: a model of the agent reports no usage_metadata")


async def test_wishes_that_an_agent_does_not_take_are_refused() -> None:
    model = Acting()
    retried = "return agent('go', {model: 'acme/big', retry: {maxAttempts: 5}})"
    assert await _error(model, retried) == (
        "AgentFailed: agent 'default' takes no model, and the call asks for 'big'; leave it out, or"
        " have the host name its key: LangChainAgent(…, configurable={'model': key})"
    )
    assert "takes no thinking" in await _error(
        LangChainAgent(model, configurable={"model": "m"}),
        "return agent('go', {model: 'big?thinking=high'})",
    )
    assert model.seen == []


async def test_wishes_are_handed_on_by_their_keys() -> None:
    def node(state: Any, config: RunnableConfig) -> Any:
        named = {k: config["configurable"].get(k) for k in ("m", "model_provider", "effort")}
        return {"messages": [("ai", str(named))], "structured_response": named}

    class State(MessagesState):
        structured_response: Any

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    keys = {"model": "m", "provider": "model_provider", "thinking": "effort"}
    agent = LangChainAgent(builder.compile(), configurable=keys)
    body = "return agent('go', {model: 'acme/big?thinking=high', schema: {}})"
    assert await _value(agent, body) == {"m": "big", "model_provider": "acme", "effort": "high"}


async def test_a_function_makes_the_agent_of_a_call() -> None:
    calls: list[AgentCall] = []

    def make(call: AgentCall) -> Any:
        calls.append(call)
        return create_agent(Acting(text=f"{call.provider} {call.model}"), [])

    body = "return agent('go', {model: 'acme/big', label: 'l'})"
    assert await _value(LangChainAgent(make, description="Makes."), body) == "acme big"
    assert [call.label for call in calls] == ["l"]
    wrong: Any = lambda call: "no graph"  # noqa: E731
    assert "takes a compiled graph" in await _error(LangChainAgent(wrong), "return agent('go')")


async def test_the_configuration_names_the_step() -> None:
    seen: list[Any] = []

    def node(state: Any, config: RunnableConfig) -> Any:
        seen.append(config["metadata"])
        return {"messages": [("ai", "x")]}

    await _value(_graph(node), "phase('P'); return agent('go', {label: 'l'})")
    (metadata,) = seen
    assert metadata["workflow_step"].startswith("run_")
    assert (metadata["workflow_phase"], metadata["workflow_label"]) == ("P", "l")


async def test_a_run_that_is_cancelled_stops_its_graphs() -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def node(state: Any) -> Any:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with runner(_graph(node)) as one:
        handle = await one.start(script("return agent('go')"))
        await begun.wait()
        await one.cancel(handle.run_id)
        assert (await handle.result()).status == "cancelled"
    assert stopped.is_set()


async def test_an_interrupt_inside_another_runnable_is_refused() -> None:
    from langgraph.types import interrupt

    graph = _graph(lambda state: {"messages": [("ai", interrupt("sure?"))]})
    chain = RunnableLambda(lambda text: {"messages": [("user", text)]}) | graph
    message = await _error(chain, "return agent('go', {retry: {maxAttempts: 3}})")
    assert "name the graph itself as agent" in message


def test_objects_that_cannot_be_agents_are_refused_with_a_reason() -> None:
    class Other(BaseModel):
        words: list[str]

    builder = StateGraph(Other)
    builder.add_node("node", lambda state: {})
    builder.add_edge(START, "node")
    with pytest.raises(ConfigurationError, match=r"agent 'x': .* needs messages; .* has: words"):
        agent_of(builder.compile(), "x")
    asks = _graph(lambda state: {}, interrupt_before=["node"])
    with pytest.raises(ConfigurationError, match="interrupt_after asks no question; use interrupt"):
        agent_of(asks, "x")
    with pytest.raises(ConfigurationError, match="runs elsewhere"):
        agent_of(RemoteGraph("g", url="http://localhost:1"), "x")
    assert agent_of("text", "x") is None
    for wrong in ("text", LangChainAgent):
        with pytest.raises(ConfigurationError, match="takes a compiled graph"):
            LangChainAgent(wrong)
    with pytest.raises(
        ConfigurationError, match="takes model, provider, thinking, cwd; got effort"
    ):
        LangChainAgent(Acting(), configurable={"effort": "e"})


async def test_the_command_line_takes_them_by_name(tmp_path: Path) -> None:
    import sys

    from click.testing import CliRunner

    from interpstack_workflows.commands.command import command

    (tmp_path / "team_of_graphs.py").write_text(
        "from agent_graphs import Acting\nfrom langchain.agents import create_agent\n"
        "graph = create_agent(Acting(), [])\n"
    )
    (tmp_path / "w.workflow.js").write_text(script("return agent('go')"))
    sys.path.insert(0, str(tmp_path))
    try:
        given = ["run", str(tmp_path / "w.workflow.js"), "--agents", "team_of_graphs:graph"]
        done = await asyncio.to_thread(
            CliRunner().invoke, command, [*given, "--db", str(tmp_path / "runs.db")]
        )
    finally:
        sys.path.remove(str(tmp_path))
    assert done.exit_code == 0, done.output
    assert '"answer to go"' in done.output


def test_agents_are_agents() -> None:
    agent = agent_of(create_agent(Acting(), [], name="reader"), "x")
    assert isinstance(agent, Agent)
    assert agent.description == "reader"
