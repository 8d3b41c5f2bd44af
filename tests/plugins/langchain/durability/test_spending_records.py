"""Tests of interpstack_langchain.durability.spending_records."""

from __future__ import annotations

import threading
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import BaseMessage

from interpstack_langchain.durability import spending_records
from interpstack_langchain.durability.spending_records import SpendingRecorder


@pytest.fixture
def happened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    answers: list[Any] = []

    async def awaited() -> None:
        answers.append("recorded")

    monkeypatch.setattr(spending_records, "record_drawn", awaited)
    monkeypatch.setattr(spending_records, "record_drawn_soon", lambda: answers.append("soon"))
    return answers


@pytest.fixture
def handler(happened: list[Any]) -> SpendingRecorder:
    return SpendingRecorder(
        lambda run_id: happened.append("begin"),
        lambda response, run_id: happened.append("failed" if response is None else "end"),
    )


class Fails(FakeListChatModel):
    """A model that cannot be reached."""

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        raise ConnectionError("no model")


async def test_a_call_waits_until_the_amounts_are_recorded(
    handler: SpendingRecorder, happened: list[Any]
) -> None:
    model = FakeListChatModel(responses=["a"], callbacks=[handler])
    await model.ainvoke("x")
    assert happened == ["begin", "recorded", "end", "recorded"]


async def test_a_call_that_fails_ends_too(handler: SpendingRecorder, happened: list[Any]) -> None:
    with pytest.raises(ConnectionError):
        await Fails(responses=[], callbacks=[handler]).ainvoke("x")
    assert happened == ["begin", "recorded", "failed", "recorded"]


async def test_an_error_of_the_recorder_stops_the_call(handler: SpendingRecorder) -> None:
    def refused(run_id: Any) -> None:
        raise RuntimeError("stopped")

    stopped = SpendingRecorder(refused, lambda response, run_id: None)
    with pytest.raises(RuntimeError, match="stopped"):
        await FakeListChatModel(responses=["a"], callbacks=[stopped]).ainvoke("x")


async def test_the_recorder_of_a_blocking_call_does_not_wait(
    handler: SpendingRecorder, happened: list[Any]
) -> None:
    """Its event loop stands still until the call is over: whoever waits for it waits for ever."""
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.append(handler.on_llm_start))
    thread.start()
    thread.join()
    await seen[0]({}, ["x"], run_id=uuid4())
    assert happened == ["begin", "soon"]
