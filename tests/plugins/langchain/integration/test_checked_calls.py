"""Calls of tools that cannot succeed are refused before the code has an effect."""

from __future__ import annotations

import json
from html import unescape
from typing import Annotated, Any, Literal

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool, tool
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from scripted import Script

from interpstack import ConfigurationError, InterpreterStack
from interpstack.guests import NOT_RUN
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_langchain.evals.answer_marks import was_refused

saved: list[str] = []


@tool
def save(text: str, copies: int = 1) -> str:
    """Save a text."""
    saved.append(text)
    return "saved"


@tool
def search(q: str, limit: int = 10, order: Literal["new", "old"] = "new") -> list[str]:
    """Search."""
    return [q]


@tool
def lenient(words: Annotated[str, BeforeValidator(str)], count: Annotated[int, Field(gt=0)]) -> str:
    """Take anything as words."""
    return words * count


class Filled(BaseModel):
    """Names and values that the model mends itself."""

    model_config = ConfigDict(populate_by_name=True)
    name: str
    size: int = Field(alias="theSize")

    @model_validator(mode="before")
    @classmethod
    def mend(cls, given: Any) -> Any:
        return {"name": "unnamed", "theSize": 1, **given}


@tool(args_schema=Filled)
def mended(name: str, size: int) -> str:
    """Mend the input."""
    return f"{name} {size}"


plain = StructuredTool(
    name="plain",
    description="Described by a schema alone.",
    args_schema={
        "type": "object",
        "properties": {"n": {"type": "integer"}, "s": {"type": "string"}},
        "required": ["n"],
    },
    func=lambda **given: str(sorted(given)),
)
TOOLS = [save, search, lenient, mended, plain]


async def message_for(code: str, **options: Any) -> ToolMessage:
    interpreter = CodeInterpreterMiddleware(ptc=[one.name for one in TOOLS], mode="call", **options)
    agent: Any = create_agent(Script(), TOOLS, middleware=[interpreter])
    saved.clear()
    state = await agent.ainvoke({"messages": [("user", json.dumps([code]))]})
    return next(one for one in state["messages"] if isinstance(one, ToolMessage))


async def answer_to(code: str, **options: Any) -> str:
    return unescape((await message_for(code, **options)).text)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("tools.serch({q: 'a'})", "tools has no 'serch'; did you mean tools.search?"),
        ("tools.search({query: 'a'})", "tools.search has no field 'query'; its fields are: q: "),
        ("tools.search({query})", "tools.search has no field 'query'; its fields are: q: "),
        ("tools.search({q: 5})", "search: q: Input should be a valid string; given: q is 5; "),
        ("tools.search({})", "search: q: Field required; its fields are: q: string"),
        ("tools.search({limit: size})", "search: q: Field required; its fields are: q: string"),
        ("tools.search({q: query, limit: 'x'})", "search: limit: Input should be a valid integer"),
        ("tools.search({q: query, order: 'best'})", "search: order: Input should be 'new' or"),
        ("tools.search({q: query, limit: null})", "search: limit: Input should be a valid integer"),
        ("tools.lenient({words: 'a'})", "lenient: count: Field required; "),
        ("tools.mended({size: query, name: 5})", "mended: name: Input should be a valid string; "),
        ("tools.plain({n: 'three'})", "tools.plain: field 'n' takes integer; got \"three\"; its "),
        ("tools.plain({s: query})", "tools.plain needs the field 'n'; its fields are: n: number"),
    ],
)
async def test_a_call_that_cannot_succeed_is_refused(call: str, words: str) -> None:
    code = f"const query = 'a', size = 2; await tools.save({{text: query}});\nawait {call}"
    answer = await answer_to(code)
    kind = "TypeError" if words.startswith("tools") else "ToolError"  # as that of the call
    assert f'<error type="{kind}">{NOT_RUN}\n  at cell:2:7: {words}' in answer
    assert saved == []
    unchecked = await answer_to(code, check="off")
    assert NOT_RUN not in unchecked
    assert saved == ["a"]
    if "plain" not in call:  # else the tool takes what its schema does not
        assert f'<error type="{kind}">' in unchecked
        assert words in unchecked


async def test_the_answer_to_refused_code_says_so_beside_its_text() -> None:
    assert was_refused(await message_for("await tools.save({txt: 'a'})"))
    assert not was_refused(await message_for("await tools.save({text: 'a'}); throw 1"))
    assert not was_refused(await message_for(f"throw new TypeError({json.dumps(NOT_RUN)})"))


@pytest.mark.parametrize(
    "call",
    [
        "tools.search({q: 'a', limit: '3'})",
        "tools.search({q: 'a', limit: 3.0, order: 'old'})",
        "tools.lenient({words: 5, count: '2'})",
        "tools.lenient({words: {a: 1}, count: 1})",
        "tools.lenient({words: null, count: 1})",
        "tools.mended({})",
        "tools.mended({size: 3})",
        "tools.plain({n: '3', s: 5})",
        "tools.plain({n: 3, s: null})",
        "tools.search(Object.fromEntries([['q', 'a']]))",
    ],
)
async def test_what_a_tool_takes_is_not_refused(call: str) -> None:
    code = f"const query = 'a', size = 2; await tools.save({{text: query}});\nawait {call}"
    assert "<result>" in await answer_to(code)
    assert saved == ["a"]


def test_the_check_belongs_to_a_ready_stack() -> None:
    with (
        InterpreterStack(plugins=["ptc"]) as stack,
        pytest.raises(ConfigurationError, match=r"check belongs to the stack .*check\)"),
    ):
        CodeInterpreterMiddleware(stack=stack, check="off")
