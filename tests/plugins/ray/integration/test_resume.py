"""An eval that waits for an approval on one node, and goes on elsewhere. Needs the extra `ray`."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from clusters import Nodes, nodes
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from interpstack import BridgeRegistry, Cell, InterpreterStack, Limits, Settlement, bridge
from interpstack_langchain import CodeInterpreterMiddleware

pytest.importorskip("ray")

CONFIG: Any = {"configurable": {"thread_id": "t"}}
CODE = """
const found = await tools.search({query: "x"});
const receipt = await tools.pay({euros: 9});
`${found} ${receipt}`;
"""

#: Calls of the tools, in order.
calls: list[str] = []


@tool
async def search(query: str) -> str:
    """Search."""
    calls.append(f"search {query}")
    return query.upper()


@tool
async def pay(euros: int) -> str:
    """Pay."""
    calls.append(f"pay {euros}")
    return "receipt"


class ScriptedModel(GenericFakeChatModel):
    """Says what it is told to say."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedModel:
        return self


@pytest.fixture(scope="module")
def cluster() -> Iterator[Nodes]:
    """Two nodes, each with a resource of its own: `node0` and `node1`."""
    with nodes(2) as found:
        yield found


def _options(node: int) -> dict[str, Any]:
    return {"actor_options": {"resources": {f"node{node}": 1}}}


def _server(node: int, saver: InMemorySaver) -> tuple[Any, InterpreterStack]:
    """An agent whose guests run on one node."""
    engine = InterpreterStack("ray:quickjs", options=_options(node)).engine
    middleware = CodeInterpreterMiddleware(
        engine=engine, ptc=[search, pay], interrupt_on={"pay": True}
    )
    call: Any = {"name": "eval", "args": {"code": CODE}, "id": uuid.uuid4().hex}
    says = [AIMessage("", tool_calls=[{**call, "type": "tool_call"}])] if node == 0 else []
    model = ScriptedModel(messages=iter([*says, AIMessage("done")]), disable_streaming=True)
    return create_agent(model, middleware=[middleware], checkpointer=saver), middleware.stack


def _nodes_of(stack: InterpreterStack) -> set[str]:
    engine: Any = stack.engine
    return {actor.about["pid"] for actor in engine.pool.actors}


@pytest.mark.usefixtures("cluster")
async def test_an_approval_on_one_node_is_answered_on_another() -> None:
    calls.clear()
    saver = InMemorySaver()
    agent, stack = _server(0, saver)
    state = await agent.ainvoke({"messages": [("user", "go")]}, CONFIG)
    assert len(state["__interrupt__"]) == 1
    assert calls == ["search x"]
    first = _nodes_of(stack)
    stack.close()

    agent, stack = _server(1, saver)
    resume: Any = Command(resume={"decisions": [{"type": "approve"}]})
    state = await agent.ainvoke(resume, CONFIG)
    (found,) = [one.text for one in state["messages"] if isinstance(one, ToolMessage)]
    assert found == "<result>X receipt</result>"
    assert calls == ["search x", "pay 9"]  # each once
    assert not first & _nodes_of(stack)
    stack.close()


@bridge("ask")
async def _ask() -> None:
    raise AssertionError("the test answers")


@pytest.mark.usefixtures("cluster")
def test_a_cell_is_suspended_on_one_node_and_resumed_on_another() -> None:
    registry = BridgeRegistry()
    registry.bridge(_ask)
    bridges = registry.freeze()
    engines = [InterpreterStack("ray:quickjs", options=_options(node)).engine for node in (0, 1)]
    realm = engines[0].open(Limits(), bridges)
    source = "let steps = 1; steps += await ask({}); steps += await ask({}); steps"
    execution = realm.start(Cell(source=source, seed=1))
    (request,) = execution.poll(0.0, 30.0).requests
    image = realm.image()
    engines[0].close()

    opened = engines[1].open(Limits(), bridges, image)
    resumed = opened.resume()
    resumed.settle([Settlement(request.id, "10")])
    (second,) = resumed.poll(0.0, 30.0).requests
    resumed.settle([Settlement(second.id, "100")])
    completion = resumed.poll(0.0, 30.0).completion
    assert completion is not None
    assert completion.text == "111"
    engines[1].close()
