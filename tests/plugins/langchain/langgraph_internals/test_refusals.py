"""Calls of models that a handler refuses are no faults in the log; faults of handlers are."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from agent_graphs import Acting
from langchain_core.callbacks import BaseCallbackHandler

from interpstack_accounts.api import Account, Budget, BudgetExceeded
from interpstack_langchain.durability.spending import Reports
from interpstack_langchain.langgraph_internals.refusals import refusal
from interpstack_langchain.workflows.agents.metering import Meter, TokenLimitExceeded
from interpstack_workflows.api import AgentFailed


class _Handler(BaseCallbackHandler):
    """A handler that keeps models from being called, on purpose or by a fault of its own."""

    raise_error = True

    def __init__(self, error: Exception) -> None:
        self.error = error

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        raise self.error


async def _call(how: str, handler: BaseCallbackHandler, model: Acting) -> None:
    if how == "ainvoke":
        await model.ainvoke("x", {"callbacks": [handler]})
    else:
        model.invoke("x", {"callbacks": [handler]})


def _used_up() -> tuple[BaseCallbackHandler, type[Exception]]:
    account = Account(Budget(tokens=1))
    account.spend({"tokens": 5}, calls=1)
    return Reports(account, None, account), BudgetExceeded


def _limited() -> tuple[BaseCallbackHandler, type[Exception]]:
    return Meter(max_tokens=0), TokenLimitExceeded


def _marked() -> tuple[BaseCallbackHandler, type[Exception]]:
    return _Handler(refusal(AgentFailed("no"))), AgentFailed


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.parametrize("refusing", [_used_up, _limited, _marked])
async def test_a_refused_call_is_not_logged(
    refusing: Any, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    handler, error = refusing()
    model = Acting()
    with caplog.at_level(logging.DEBUG), pytest.raises(error):
        await _call(how, handler, model)
    assert [record.getMessage() for record in caplog.records if "allback" in record.msg] == []
    assert model.seen == []


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_a_fault_of_a_handler_is_logged(how: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises(OSError, match="broken"):
        await _call(how, _Handler(OSError("broken")), Acting())
    assert "Error in _Handler.on_chat_model_start callback: OSError('broken')" in caplog.text
