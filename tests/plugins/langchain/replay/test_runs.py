"""Runs of recorded evals whose variables were lost: the notice belongs to the answer."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import tool

from interpstack_langchain import CodeInterpreterMiddleware


@tool
def price(item: str) -> float:
    """Price of an item."""
    return len(item) / 2


async def test_an_answer_with_a_notice_of_lost_functions_is_as_recorded(
    thread: Any, said: Any
) -> None:
    def interpreter() -> CodeInterpreterMiddleware:
        return CodeInterpreterMiddleware(engine="node", ptc=["price"])

    first = thread(interpreter(), tools=[price])
    await first.turn(said(("eval", {"code": "let n = 1; const f = () => n; f()"})))
    second = thread(interpreter(), tools=[price])  # has the database, and nothing else
    code = "n += await tools.price('tea'); n"
    (answer,) = await second.turn(said(("eval", {"code": code})))
    assert "Not restored: f" in answer
    found = await second.replayed("--engine", "node")
    assert [one["text"] for one in found] == ["<result>1</result>", answer]
    assert found[1]["recorded_answer"] == answer
    assert "Not restored: f" in " ".join(found[1]["notes"])
