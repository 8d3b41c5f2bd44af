"""Agents show what their tools have answered, and learn from new answers."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.tools import tool

from interpstack import ConfigurationError
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_learned import LearnedTypes, read_types
from interpstack_state import MemoryStore

ADVICE = "- Look at one answer of type `unknown` first."


@tool
def search(q: str) -> dict:
    """Search."""
    return {"hits": [{"title": q}, {"title": q}], "total": 2}


@tool
def count(q: str) -> int:
    """Count."""
    return len(q)


def signatures(chat: Any) -> dict[str, str]:
    """The signatures in the last prompt, by name."""
    lines = str(chat.model.seen[-1][0].text).splitlines()
    return {
        line.partition("(")[0]: line for line in lines if line.startswith(("search(", "count("))
    }


async def test_the_next_agent_knows_what_the_first_one_saw(talk: Any) -> None:
    store = MemoryStore()
    types = LearnedTypes(store)
    first = talk(tools=[search, count], ptc=["search", "count"], learn_types=types)
    code = "(await Promise.all(['a', 'b'].map(q => tools.search({q})))).length"
    assert await first.run(code) == ["<result>2</result>"]
    unknown = "search(input: { q: string }): Promise<Record<string, unknown>>"
    assert signatures(first)["search"] == unknown
    await first.run("await tools.count({q: 'a'})")
    assert signatures(first)["search"] == unknown  # as long as the agent lives
    assert ADVICE in first.model.seen[-1][0].text
    types.save()
    second = talk(tools=[search, count], ptc=["search", "count"], learn_types=LearnedTypes(store))
    await second.run("1")
    assert signatures(second) == {
        "search": "search(input: { q: string }): "
        "Promise<{ hits: { title: string }[]; total: number }> // seen 2 times",
        "count": "count(input: { q: string }): Promise<number>",
    }
    assert ADVICE not in second.model.seen[-1][0].text


async def test_nothing_is_learned_from_what_a_person_answered(talk: Any) -> None:
    store = MemoryStore()
    types = LearnedTypes(store)
    chat = talk(
        tools=[search],
        ptc=["search"],
        learn_types=types,
        interrupt_on={"search": {"allowed_decisions": ["approve", "respond"]}},
    )
    await chat.turn("await tools.search({q: 'a'})")
    result = await chat.decide({"type": "respond", "message": "no need"})
    assert "no need" in result["messages"][-2].text
    types.save()
    assert len(read_types(store)) == 0
    await chat.turn("await tools.search({q: 'a'})")
    await chat.decide({"type": "approve"})
    types.save()
    assert [one.shape.seen for one in read_types(store)] == [1]


async def test_without_the_option_nothing_is_learned(talk: Any) -> None:
    chat = talk(tools=[search], ptc=["search"])
    await chat.run("await tools.search({q: 'a'})")
    assert chat.middleware.options.learn_types is None
    assert signatures(chat)["search"].endswith("Promise<Record<string, unknown>>")


def test_a_wrong_option_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTERPSTACK_TYPES", raising=False)
    for wrong in (1, True, "ftp://types"):
        with pytest.raises(ConfigurationError):
            CodeInterpreterMiddleware(learn_types=wrong)  # type: ignore[arg-type]
