"""Tokens of models, and their limit."""

from __future__ import annotations

from uuid import uuid4

import pytest
from agent_graphs import Acting
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, Generation, LLMResult

from interpstack_langchain.workflows.agents.metering import Meter, TokenLimitExceeded
from interpstack_workflows.api import AgentFailed, Usage


async def test_calls_of_models_are_added_up_async_and_sync() -> None:
    meter, model = Meter(), Acting()
    await model.ainvoke("a", {"callbacks": [meter]})
    model.invoke("b", {"callbacks": [meter, meter]})
    assert meter.usage == Usage(input_tokens=20, output_tokens=10)


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
    told = LLMResult(generations=[[ChatGeneration(message=message)]])
    meter.on_llm_end(told, run_id=run)
    meter.on_llm_end(told, run_id=run)
    meter.on_llm_end(LLMResult(generations=[[Generation(text="t")]]), run_id=uuid4())
    meter.on_llm_end(LLMResult(generations=[]), run_id=uuid4())
    assert meter.usage == Usage(input_tokens=3, output_tokens=2)
