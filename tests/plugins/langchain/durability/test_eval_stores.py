"""The stores for the journals of one middleware's evals."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from graph_tasks import stored_checkpoint, task_config, tool_request
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from interpstack_langchain.durability.checkpoint_stores import CheckpointStore, Shared
from interpstack_langchain.durability.eval_stores import EvalStores


@tool
def own() -> str:
    """A tool that only code has."""
    return ""


@pytest.fixture
def saver() -> InMemorySaver:
    return InMemorySaver()


@pytest.fixture
def request_(saver: InMemorySaver) -> Any:
    config = task_config(saver=saver, checkpoint=stored_checkpoint(saver))
    return tool_request(config=config, store="the graph's store")


def test_without_a_checkpointer_there_is_no_store() -> None:
    assert EvalStores().open(tool_request(config=task_config()), "a", True) is None


def test_a_store_has_what_the_request_and_the_middleware_have(
    request_: Any, saver: InMemorySaver
) -> None:
    made: list[dict[str, Any]] = []
    stores = EvalStores(Shared(pause_grace=2.0), [own])
    stores.open(request_, "a#2", False, lambda **given: made.append(given))  # type: ignore[arg-type, func-returns-value]
    (given,) = made
    assert given["key"].endswith("|a#2")
    assert (given["store"], given["shared"]) == ("the graph's store", stores.shared)
    assert (given["writes"].checkpoint.saver, given["writes"].is_async) == (saver, False)
    assert (given["editable"].own, given["editable"].eval_name) == ([own], "eval")


def test_all_stores_of_a_middleware_share_one_memory() -> None:
    assert EvalStores().shared is not EvalStores().shared


async def test_runs_of_one_eval_go_one_after_another_and_others_beside_them(request_: Any) -> None:
    stores, log = EvalStores(), list[str]()
    ready = asyncio.Event()

    async def run(name: str, label: str) -> None:
        store = stores.open(request_, name, True)
        assert isinstance(store, CheckpointStore)
        async with stores.alone(store):
            log.append(f"{label} begins")
            if label == "first":
                ready.set()
                await other_eval
            assert store.in_flight is not None
            log.append(f"{label} ends")

    first = asyncio.ensure_future(run("a", "first"))
    other_eval = asyncio.ensure_future(run("b", "other"))
    await ready.wait()
    await asyncio.gather(first, other_eval, run("a", "second"))
    assert [line for line in log if "other" not in line] == [
        "first begins",
        "first ends",
        "second begins",
        "second ends",
    ]
    assert log.index("other ends") < log.index("first ends")


async def test_an_eval_without_a_store_excludes_nobody() -> None:
    stores = EvalStores()
    async with stores.alone(None), stores.alone(None):
        pass
