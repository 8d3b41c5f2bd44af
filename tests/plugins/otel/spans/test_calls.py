"""Spans and measurements of calls."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry.trace import StatusCode
from traces import Traces

from interpstack import HostOffer, InterpreterStack, bridge
from interpstack_otel.api import Payloads
from interpstack_subagents.api import Dispatch, Subagents


@bridge(concurrency=1)
async def slow(n: int) -> int:
    await asyncio.sleep(0.02)
    return n


@bridge(budget=1)
def once() -> str:
    return "a secret"


@bridge
def broken() -> None:
    raise LookupError("a secret")


async def run(traces: Traces, code: str, offer: HostOffer | None = None) -> str:
    stack = InterpreterStack(
        plugins=["ptc", "subagents", traces.plugin], bridges=[slow, once, broken]
    )
    async with stack.session("s") as session:
        session.bind(offer or HostOffer())
        return (await session.eval(code)).text


def of(span: Any) -> dict[str, Any]:
    return dict(span.attributes)


async def test_the_wait_for_a_slot_is_measured(traces: Traces) -> None:
    await run(traces, "await Promise.all([1, 2, 3].map(n => slow({n})))")
    waits = sorted(of(span)["interpstack.call.queue_seconds"] for span in traces.spans("execute"))
    assert len(waits) == 3
    assert waits[2] > waits[1] > waits[0]
    assert traces.points("interpstack.call.waiting") == [({}, 0)]
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "slow"}
    assert traces.points("interpstack.call.queue_time") == [(tool, 3)]
    assert traces.points("interpstack.call.duration") == [
        ({**tool, "interpstack.call.outcome": "ok"}, 3)
    ]


async def test_the_ends_of_calls(traces: Traces) -> None:
    code = """
    await once({}); await once({}).catch(e => e); await broken({}).catch(e => e)
    await import('gone').catch(e => e)
    """
    await run(traces, code)
    ends = [
        (span.name, of(span)["interpstack.call.outcome"], of(span).get("error.type"))
        for span in [*traces.spans("execute"), *traces.spans("interpstack.import")]
    ]
    assert ends == [
        ("execute_tool once", "ok", None),
        ("execute_tool once", "refused", "CallBudgetExceeded"),
        ("execute_tool broken", "error", "ToolError"),
        ("interpstack.import", "error", "ModuleNotFound"),
    ]
    failed = traces.spans("execute")[2]
    assert (failed.status.status_code, failed.status.description) == (StatusCode.ERROR, None)
    assert traces.points("interpstack.limit.hits") == [({"interpstack.limit.kind": "requests"}, 1)]
    assert "secret" not in str([span.to_json() for span in traces.spans()])


async def test_payloads_are_shown_on_demand_and_redacted() -> None:
    def redact(kind: str, tool: str, text: str) -> str:
        return f"{kind}/{tool}: {text.replace('secret', '***')}"

    traces = Traces(payloads=Payloads(redact, chars=40))
    await run(traces, "await slow({n: 7}); await once({}); await broken({})")
    seven, shown, failed = traces.spans("execute")
    assert of(seven)["gen_ai.tool.call.arguments"] == 'arguments/slow: {"n": 7}'
    assert of(shown)["gen_ai.tool.call.result"] == 'answer/once: "a ***"'
    assert failed.status.description == "error/broken: a ***"
    source = of(traces.one("interpstack.eval"))["interpstack.cell.source"]
    assert source == "source/: await slow({n: 7}); await once("


async def test_a_subagent_is_an_agent_that_is_invoked(traces: Traces) -> None:
    async def dispatch(wanted: Dispatch, context: Any) -> str:
        return wanted.description

    offer = HostOffer(parts=[Subagents(dispatch)])
    code = "await task({description: 'd', subagentType: '%s'})"
    assert await run(traces, code % "kid", offer) == "d"
    assert await run(traces, code % "<b>\\n", offer) == "d"
    known, hostile = traces.spans("invoke_agent")
    assert (known.name, of(known)["gen_ai.agent.name"]) == ("invoke_agent kid", "kid")
    assert hostile.name == "invoke_agent"
    assert "gen_ai.agent.name" not in of(hostile)


async def test_a_cancelled_eval_cancels_its_calls(traces: Traces) -> None:
    begun = asyncio.Event()

    @bridge
    async def forever() -> None:
        begun.set()
        await asyncio.Event().wait()

    async with InterpreterStack(plugins=[traces.plugin], bridges=[forever]).session() as session:
        running = asyncio.ensure_future(session.eval("await forever({})"))
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    spans = [traces.one("execute_tool forever"), traces.one("interpstack.eval")]
    ends = [value for span in spans for name, value in of(span).items() if name.endswith("outcome")]
    assert ends == ["cancelled", "cancelled"]
    assert traces.points("interpstack.call.waiting") == [({}, 0)]
    assert traces.points("interpstack.eval.active")[0][1] == 0
