"""Tools by their names in guests."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import BridgeError, ConfigurationError, HostTool
from interpstack_javascript import JAVASCRIPT
from interpstack_ptc.bridges import tool_bridges
from interpstack_ptc.names import guest_name, guest_names
from interpstack_python import PYTHON


async def _call(given: dict[str, Any], context: Any) -> None:
    """Never called."""


def tool(name: str) -> HostTool:
    return HostTool(name=name, call=_call)


@pytest.mark.parametrize(
    ("language", "made"), [(JAVASCRIPT, "webSearch"), (PYTHON, "web_search")], ids=["js", "python"]
)
def test_names_are_those_of_the_language(language: Any, made: str) -> None:
    assert guest_name("web-search", language) == made
    assert list(guest_names([tool("web-search")], language)) == [made]


def test_a_name_of_which_nothing_is_left_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="rename the tool, or leave it out of ptc"):
        guest_name("日本", JAVASCRIPT)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"'a-b' and 'a_b' would both be tools\.aB"):
        guest_names([tool("a-b"), tool("a_b")], JAVASCRIPT)
    same = tool("a")
    assert guest_names([same, same], JAVASCRIPT) == {"a": same}


@pytest.mark.parametrize(
    ("name", "language", "made"),
    [("delete", JAVASCRIPT, "delete"), ("import", PYTHON, "import_"), ("print", PYTHON, "print")],
)
def test_words_of_the_language_are_members_of_tools(name: str, language: Any, made: str) -> None:
    bridges = {bridge.name for bridge in tool_bridges([tool(name)], language)}
    assert f"tools.{made}" in bridges
    assert all(language.name_fault(bridge) == "" for bridge in bridges)


def test_a_tool_that_code_would_call_unasked_is_refused() -> None:
    with pytest.raises(
        BridgeError, match=r"tool 'then' .*JavaScript calls 'then' by itself; .*ptc"
    ):
        list(tool_bridges([tool("then")], JAVASCRIPT))
    assert "tools.then" in {bridge.name for bridge in tool_bridges([tool("then")], PYTHON)}
