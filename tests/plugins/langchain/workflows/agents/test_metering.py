"""Tokens of models, and their limit."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from agent_graphs import Acting
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, Generation, LLMResult

from interpstack_langchain.workflows.agents.metering import Meter, TokenLimitExceeded
from interpstack_workflows.api import AgentFailed, Price, Prices, WorkflowRunner, WorkflowUsage


async def test_calls_of_models_are_added_up_async_and_sync() -> None:
    meter, model = Meter(), Acting()
    await model.ainvoke("a", {"callbacks": [meter]})
    model.invoke("b", {"callbacks": [meter, meter]})
    assert meter.usage == WorkflowUsage(input_tokens=20, output_tokens=10)


async def test_no_model_is_called_beyond_the_limit() -> None:
    meter, model = Meter(max_tokens=15), Acting()
    await model.ainvoke("a", {"callbacks": [meter]})
    with pytest.raises(TokenLimitExceeded, match="has used 15 of 15 tokens"):
        await model.ainvoke("b", {"callbacks": [meter]})
    with pytest.raises(TokenLimitExceeded):
        model.invoke("b", {"callbacks": [meter]})
    assert len(model.seen) == 1


async def test_a_limit_needs_models_that_report() -> None:
    silent = Acting(tokens=None)
    free = Meter()
    await silent.ainvoke("a", {"callbacks": [free]})
    free.check()
    meter = Meter(max_tokens=100)
    await silent.ainvoke("a", {"callbacks": [meter]})
    with pytest.raises(AgentFailed, match="reports no usage_metadata") as raised:
        meter.check()
    assert raised.value.final
    with pytest.raises(AgentFailed):
        await silent.ainvoke("b", {"callbacks": [meter]})


def test_a_run_counts_once_whatever_it_reports() -> None:
    meter, run = Meter(), uuid4()
    message = AIMessage(
        "x", usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    )
    result = LLMResult(generations=[[ChatGeneration(message=message)]])
    meter.on_llm_end(result, run_id=run)
    meter.on_llm_end(result, run_id=run)
    meter.on_llm_end(LLMResult(generations=[[Generation(text="t")]]), run_id=uuid4())
    meter.on_llm_end(LLMResult(generations=[]), run_id=uuid4())
    assert meter.usage == WorkflowUsage(input_tokens=3, output_tokens=2)


_TOKENS = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}


def ended(meter: Meter, usage: dict[str, Any] | None, **metadata: Any) -> None:
    """One call of a model that reports these."""
    message = AIMessage("x", usage_metadata=usage, response_metadata=metadata)
    meter.on_llm_end(LLMResult(generations=[[ChatGeneration(message=message)]]), run_id=uuid4())


@pytest.mark.parametrize(
    ("usage", "metadata", "cost"),
    [
        ({"total_cost": 0.5, "input_cost": 9}, {}, 0.5),
        ({"input_cost": 0.25, "output_cost": 0.5}, {}, 0.75),
        ({}, {"cost": 2}, 2.0),
        ({}, {"token_usage": {"cost": 0.125}}, 0.125),
        ({}, {"model_name": "acme", "cost": 0}, 0.0),  # what is reported comes before a price
        ({}, {"model_name": "acme"}, 0.0025),
        ({}, {"model": "acme", "cost": "much"}, 0.0025),
        ({"input_token_details": {"cache_read": 1000}}, {"model_name": "acme"}, 0.0006),
        ({}, {"model_name": "other"}, 0.0),
        ({"input_cost": 0.25}, {}, 0.0),
    ],
)
def test_costs_are_reported_or_priced(
    usage: dict[str, Any], metadata: dict[str, Any], cost: float
) -> None:
    meter = Meter(prices=Prices({"acme": Price(input=2, output=5, cached_input=0.1)}))
    ended(meter, _TOKENS | usage, **metadata)
    assert meter.usage.cost == pytest.approx(cost)
    assert meter.usage.tokens == 1100
    meter.check()


def test_a_model_that_names_itself_only_at_the_start_has_its_price() -> None:
    meter, run = Meter(prices=Prices({"acme": Price(input=2, output=5)}), needs_cost=True), uuid4()
    meter.on_chat_model_start({}, [], run_id=run, metadata={"ls_model_name": "acme"})
    message = AIMessage("x", usage_metadata=_TOKENS)
    meter.on_llm_end(LLMResult(generations=[[ChatGeneration(message=message)]]), run_id=run)
    assert meter.usage.cost == pytest.approx(0.0025)
    meter.check()


@pytest.mark.parametrize("usage", [_TOKENS, None])
def test_a_budget_of_cost_needs_costs(usage: dict[str, Any] | None) -> None:
    meter = Meter(prices=Prices({"acme": Price(input=2, output=5)}), needs_cost=True)
    ended(meter, _TOKENS, model_name="acme")
    meter.check()
    ended(meter, usage, model_name="other")
    with pytest.raises(AgentFailed, match="the model 'other' reports no cost and has") as raised:
        meter.check()
    assert raised.value.final
    assert raised.value.usage.cost == pytest.approx(0.0025)
    with pytest.raises(AgentFailed):
        meter.on_chat_model_start(run_id=uuid4())


async def test_a_budget_of_cost_is_enforced_or_fails() -> None:
    source = (
        "export const meta = {name: 'n', description: 'd', phases: []}\n"
        "const text = (error) => error.message\n"
        "export default async () => [await agent('a').catch(text), await agent('b').catch(text)]"
    )
    price = {"input": 10_000, "output": 20_000}  # 0.2 a call
    for prices, ended_as in (
        ({"acting": price}, ["answer to a", "the budget of the run is used up: 0.2 of 0.15 cost"]),
        ({}, ["the model 'acting' reports no cost and has no price"] * 2),
    ):
        model = Acting(metadata={"ls_model_name": "acting"})
        async with WorkflowRunner(agents={"default": model}, prices=prices) as one:
            done = await one.run(source, budget={"cost": 0.15})
            assert [text[: len(end)] for text, end in zip(done.result, ended_as, strict=True)] == (
                ended_as
            )
            assert done.usage.get("cost", 0) == pytest.approx(0.2 if prices else 0)
            free = await one.run(source)
            assert free.result == ["answer to a", "answer to b"]
