"""V8 under the other plugins: tools, skills, an agent."""

from __future__ import annotations

import time
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from interpstack import (
    Bridge,
    BridgeRegistry,
    BridgeSet,
    Cell,
    InterpreterStack,
    Limits,
    Session,
    Settlement,
    bridge,
)
from interpstack_langchain import CodeInterpreterMiddleware


class _ScriptedModel(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **kwargs: Any) -> _ScriptedModel:
        return self


async def _same(value: Any) -> Any:
    return value


def _echo_bridges() -> BridgeSet:
    return BridgeRegistry([Bridge(name="host.echo", handler=_same, raw=True)]).freeze()


def _script(*codes: str) -> _ScriptedModel:
    messages = []
    for number, code in enumerate(codes):
        call = {"name": "eval", "args": {"code": code}, "id": f"call-{number}"}
        messages += [AIMessage("", tool_calls=[call]), AIMessage("done")]
    return _ScriptedModel(messages=iter(messages))


@tool
def read_price(item: str) -> float:
    """Price of one item."""
    return {"tea": 3.5, "milk": 1.25}[item]


async def test_an_agent_keeps_its_variables_between_turns() -> None:
    agent = create_agent(
        _script(
            "const both = ['tea', 'milk'].map((item) => tools.readPrice({item}));"
            "const prices = await Promise.all(both); console.log(prices.length); prices",
            "prices[0] + prices[1]",
            "try { await tools.readPrice({item: 'gold'}) } catch (e) { e.name }",
        ),
        tools=[read_price],
        middleware=[CodeInterpreterMiddleware(engine="v8", ptc=["read_price"])],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    texts = []
    for _ in range(3):
        result = await agent.ainvoke({"messages": [("user", "?")]}, config)
        texts.append([m.text for m in result["messages"] if m.type == "tool"][-1])
    assert "[3.5, 1.25]" in texts[0]
    assert "2" in texts[0]
    assert "4.75" in texts[1]
    assert "ToolError" in texts[2]


async def test_a_thread_of_an_agent_may_change_its_engine() -> None:
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "1"}}
    texts = []
    for engine, code in [("quickjs", "let n = 40"), ("v8", "n += 1"), ("quickjs", "n + 1")]:
        agent = create_agent(
            _script(code),
            tools=[],
            middleware=[CodeInterpreterMiddleware(engine=engine)],
            checkpointer=saver,
        )
        result = await agent.ainvoke({"messages": [("user", "?")]}, config)  # type: ignore[arg-type]
        texts.append([m.text for m in result["messages"] if m.type == "tool"][-1])
    assert "41" in texts[1]
    assert "42" in texts[2]


async def test_bridges_run_at_once(session: Session) -> None:
    outcome = await session.eval(
        "const all = await Promise.all([...Array(100).keys()].map((n) => host.echo(n)));"
        "all.reduce((a, b) => a + b)"
    )
    assert (outcome.text, outcome.usage.requests, outcome.usage.crossings) == ("4950", 100, 2)


async def test_modules_may_await_what_the_host_answers() -> None:
    files = {
        "@/skills/m/index.js": "export {x} from './b.ts'; export const y = await host.echo(2)",
        "@/skills/m/b.ts": "export const x: number = await Promise.resolve(1)",
    }
    from interpstack_v8.engine import V8Engine

    realm = V8Engine().open(Limits(), BridgeSet())
    source = "import {x, y} from '@/skills/m'; const {default: z} = {default: 3}; [x, y, z]"
    realm.bind(_echo_bridges())
    execution = realm.start(Cell(source=source))
    (request,) = execution.poll(time.time(), 5.0).requests
    assert (request.bridge, request.wire) == ("module", "@/skills/m")
    execution.settle([Settlement(request.id, '"@/skills/m/index.js"', modules=files)])
    (request,) = execution.poll(time.time(), 5.0).requests
    assert (request.bridge, request.wire) == ("host.echo", 2)
    execution.settle([Settlement(request.id, "2")])
    completion = execution.poll(time.time(), 5.0).completion
    assert completion is not None
    assert (completion.error, completion.text) == (None, "[1, 2, 3]")
    realm.close()


def test_synchronous_callers_and_describe() -> None:
    @bridge
    def add(a: int, b: int) -> int:
        return a + b

    with InterpreterStack(engine="v8", bridges=[add]) as stack, stack.session() as session:
        assert session.eval_sync("await add({a: 1, b: 2})").text == "3"
        assert stack.engine.name == "v8"
