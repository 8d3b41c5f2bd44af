"""Wrong calls of bridges are found before the cell runs; nothing else is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from interpstack import Bridge, CellContext, HostOffer, HostTool, InterpreterStack, Session
from interpstack_monty.engine import MontyEngine
from interpstack_monty.prompt import python_section
from interpstack_subagents.api import Subagents

SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": "integer", "default": 5},
        "kind": {"enum": ["news", "papers"]},
        "scores": {"type": "array", "items": {"type": "number"}},
        "where": {"type": "object", "properties": {"site": {"type": "string"}}},
    },
    "required": ["query"],
}
ANSWER = {
    "type": "array",
    "items": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
}


async def search(given: dict[str, Any], context: CellContext) -> Any:
    return [{"title": given["query"]}]


async def free(value: Any) -> Any:
    return value


@pytest.fixture(scope="module")
def stack() -> Any:
    async def dispatch(wanted: Any, context: Any) -> str:
        return str(wanted.subagent_type)

    tool = HostTool(name="web_search", call=search, input_schema=SCHEMA, output_schema=ANSWER)
    offer = HostOffer(tools=[tool], parts=[Subagents(dispatch)])
    bridges = [Bridge(name="tools.mine.free", handler=free, raw=True)]
    with InterpreterStack("monty", ["console", "ptc", "subagents"], bridges=bridges) as made:
        yield made, offer


@pytest.fixture
async def session(stack: Any) -> AsyncIterator[Session]:
    made, offer = stack
    async with made.session() as opened:
        opened.bind(offer)
        yield opened


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("await tools.web_search()", "required parameter `query`"),
        ("await tools.web_search(q='a')", "`q` does not match any known parameter"),
        ("await tools.web_search(query=5)", "Expected `str`, found `Literal[5]`"),
        ("await tools.web_search(query='a', limit='b')", "Expected `int`"),
        ("await tools.web_search(query='a', limit=None)", "Expected `int`, found `None`"),
        ("await tools.web_search(query='a', kind='books')", "Expected `Literal["),
        ("await tools.web_search('a')", "required parameter `query`"),
        ("await tools.web_serch(query='a')", "`tools` has no attribute `web_serch`"),
        ("tools.web_search(query='a')[0]", "is an `await` missing?"),
        ("for row in tools.web_search(query='a'): pass", "is an `await` missing?"),
        ("len(tools.web_search(query='a'))", "is an `await` missing?"),
        ("await task(description='a')", "`subagent_type`"),
        ("await task(description='a', subagentType='b')", "`subagentType` does not match"),
        ("def late():\n    return tools.web_search(q=1)", "cell:4"),
    ],
)
async def test_certain_mistakes(session: Session, source: str, said: str) -> None:
    outcome = await session.eval(f"print('never')\nx = 1\n{source}")
    assert outcome.error.name == "TypeError"
    assert said in outcome.error.message
    assert "nothing of the cell has run" in outcome.error.message
    assert "cell:3" in outcome.error.message or "cell:4" in outcome.error.message
    assert outcome.console == ""
    assert (await session.eval("x")).error.name == "NameError"


@pytest.mark.parametrize(
    "source",
    [
        "(await tools.web_search(query='a'))[0]['title']",
        "tools.web_search(query='a')",
        "d = {'query': 'a', 'limit': 3}\nawait tools.web_search(**d)",
        "await tools.web_search(query='a', scores=[1, 2])",
        "w = {'site': 'b'}\nawait tools.web_search(query='a', where=w)",
        "def kind() -> str: return 'news'\nawait tools.web_search(query='a', kind=kind())",
        "import json\nawait tools.web_search(query=json.loads('\"a\"'))",
        "q = None if False else 'a'\nawait tools.web_search(query=q)",
        "earlier = 'a'\nawait tools.web_search(query=earlier)",
        "await tools.mine.free(anything=1)",
        "await tools._search('web')",
        "await task(description='a', subagent_type='b', label='c')",
        "tools = 5\ntools + 1",
        "class A: pass\na = A()\na.tools = 1\na.tools",
        "def f(tools: str): return tools\nf(3)",
        "import re\nre.match('t', 'tools').group(0)",
        "x: int = 'tools'\nx",
        "try:\n    import nothing  # tools\nexcept ImportError:\n    pass",
        "getattr(tools, 'nothing', 3)",
        "rows = await tools.web_search(query='a')\n[r.get('nothing') for r in rows]",
    ],
)
async def test_everything_else_runs(session: Session, source: str) -> None:
    await session.eval("earlier: object = 5\nf = 1")
    outcome = await session.eval(source)
    assert outcome.error is None


async def test_errors_of_python_stay_what_they_are(session: Session) -> None:
    for source, name in [("tools. = 1", "SyntaxError"), ("tools + nothing", "NameError")]:
        assert (await session.eval(source)).error.name == name


async def test_checking_can_be_turned_off(stack: Any) -> None:
    with InterpreterStack(MontyEngine(type_check=False), ["ptc"]) as made:
        async with made.session() as session:
            session.bind(stack[1])
            outcome = await session.eval("print('ran')\nawait tools.web_search(q=1)")
    assert outcome.error.name != "TypeError" or "before running" not in outcome.error.message


async def test_tools_and_subagents_are_called_by_name(session: Session) -> None:
    outcome = await session.eval(
        "rows = await tools.web_search(query='cats')\n"
        "kind = await task(description='look', subagent_type='reader')\n"
        "rows[0]['title'], kind, (await tools._search('web'))[0]['name']"
    )
    assert (outcome.error, outcome.text) == (None, "('cats', 'reader', 'web_search')")
    described = (await session.eval("await tools._describe('web_search')")).text
    assert "async def web_search(*, query: str, limit: int = 5" in described


@pytest.mark.parametrize("engine", ["monty", "process:monty"])
async def test_checks_and_the_prompt_are_the_same_in_worker_processes(engine: str) -> None:
    tool = HostTool(name="web_search", call=search, input_schema=SCHEMA, output_schema=ANSWER)
    async with InterpreterStack(engine, ["ptc"]) as stack, stack.session() as session:
        session.bind(HostOffer(tools=[tool]))
        outcome = await session.eval("await tools.web_search(query=5)")
        assert outcome.error is not None
        assert outcome.error.name == "TypeError"
        assert outcome.usage is not None
        assert outcome.usage.requests == 0  # it was found before the cell ran
        assert python_section() in stack.prompt(session.offer)


async def test_a_stack_that_checks_nothing_has_no_cell_checked() -> None:
    tool = HostTool(name="web_search", call=search, input_schema=SCHEMA, output_schema=ANSWER)
    with InterpreterStack("monty", ["console", "ptc"], check="off") as stack:
        session = stack.session("one")
        session.bind(HostOffer(tools=[tool]))
        outcome = await session.eval("print('begun')\nawait tools.web_search(q='a')")
        assert outcome.error is not None
        assert "begun" in outcome.console
