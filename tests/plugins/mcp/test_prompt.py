"""The prompt section."""

from __future__ import annotations

import pytest
from mcp import types

from interpstack import GuestLanguage
from interpstack_javascript.language import JAVASCRIPT
from interpstack_mcp.catalog import ToolCatalog, made_catalog
from interpstack_mcp.connections.listing import Listing
from interpstack_mcp.limits import McpLimits
from interpstack_mcp.prompt import servers_section
from interpstack_python.language import PYTHON


def catalog(count: int, language: GuestLanguage) -> ToolCatalog:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    tools = tuple(
        types.Tool(name=f"tool_{n}", description="Does it.", input_schema=schema)
        for n in range(count)
    )
    listings = {"many": Listing(tools)}
    return made_catalog(listings, {}, language, McpLimits(), lambda *one: print)


@pytest.mark.parametrize("language", [JAVASCRIPT, PYTHON, GuestLanguage(name="code")])
def test_many_tools_take_no_more_room(language: GuestLanguage) -> None:
    servers = ["many", *(f"server{n}" for n in range(200))]
    text = servers_section(servers, catalog(500, language), language, "eval")
    assert len(text) < 2000
    assert "mcp.search" in text
    assert "mcp.describe" in text
    assert "`many`" in text
    assert "more." in text
    assert "tool_1" not in text


def test_few_tools_are_shown_with_their_signatures() -> None:
    text = servers_section(["many"], catalog(2, JAVASCRIPT), JAVASCRIPT, "eval")
    assert "On `mcp.many`:" in text
    assert "tool_0(input?: { text?: string })" in text
    assert "mcp.search" not in text
    assert len(text) < 2000
    unknown = servers_section(["many"], None, JAVASCRIPT, "eval")
    assert 'await mcp.search("words")' in unknown
