"""Tools in Python: their names, their section of the prompt, their calls."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interpstack import ConfigurationError, HostOffer, HostTool, InterpreterStack
from interpstack_ptc.api import ToolSignatures
from interpstack_ptc.names import guest_name
from interpstack_python import PYTHON
from interpstack_testing import FakeEngine

Make = Callable[..., HostTool]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("web_search", "web_search"),
        ("webSearch", "webSearch"),
        ("web-search", "web_search"),
        ("web search.v2", "web_search_v2"),
        ("_private", "_private"),
        ("del", "del_"),
    ],
)
def test_names_stay_as_they_are(given: str, expected: str) -> None:
    assert guest_name(given, PYTHON) == expected


@pytest.mark.parametrize("given", ["", "_", "1st", "größe", "a+b", "--"])
def test_names_that_are_no_identifiers_are_refused(given: str) -> None:
    with pytest.raises(ConfigurationError, match="rename the tool, or leave it out"):
        guest_name(given, PYTHON)


def test_two_tools_of_one_name_are_refused(make_tool: Make) -> None:
    with InterpreterStack(FakeEngine(), ["ptc"]) as stack:
        with pytest.raises(ConfigurationError, match=r"tools\.a_b"):
            stack.bridge_set(HostOffer(tools=[make_tool("a-b"), make_tool("a_b")]))
        stack.bridge_set(HostOffer(tools=[make_tool("a_b"), make_tool("aB")]))


async def test_the_prompt_speaks_python(make_tool: Make) -> None:
    tools = [make_tool(f"look_up_{n}", description="D.") for n in range(3)]
    with InterpreterStack(FakeEngine(), ["console", "ptc"]) as stack:
        text = stack.prompt(HostOffer(tools=tools))
        assert "async def look_up_2() -> Any:" in text
        assert "asyncio.gather" in text
        assert "`print`" in text
        assert len(text.partition("```python")[0]) < 1200
        short = stack.prompt(HostOffer(tools=tools, parts=[ToolSignatures(max_chars=10)]))
        assert "look_up_0, look_up_1, look_up_2" in short
        assert 'tools._search("words")' in short
        async with stack.session() as session:
            session.bind(HostOffer(tools=tools))
            assert (await session.eval("await tools.look_up_1(a=1)")).text == "{'a': 1}"
            assert "by name" in (await session.eval("await tools.look_up_1('a')")).error.message
