"""Names of servers and tools in code."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import types

from interpstack import ConfigurationError
from interpstack_javascript.language import JAVASCRIPT
from interpstack_mcp.catalog import ToolCatalog, made_catalog, server_names
from interpstack_mcp.connections.listing import Listing
from interpstack_mcp.limits import McpLimits
from interpstack_python.language import PYTHON


def catalog(
    *names: str, language: Any = JAVASCRIPT, limits: Any = None, offered: Any = None, **fields: Any
) -> ToolCatalog:
    tools = tuple(
        types.Tool(name=name, input_schema={"type": "object"}, **fields) for name in names
    )
    return made_catalog(
        {"s": Listing(tools, "Words.")},
        {"s": None if offered is None else frozenset(offered)},
        language,
        limits or McpLimits(),
        lambda server, tool: print,
    )


@pytest.mark.parametrize(
    ("name", "javascript", "python"),
    [
        ("get_current_time", "getCurrentTime", "get_current_time"),
        ("get-sum", "getSum", "get_sum"),
        ("files/read", "filesRead", "files_read"),
        ("2fa", "_2fa", "_2fa"),
        ("class", "class", "class_"),
        ("import", "import", "import_"),
        ("then", "then_", "then"),
    ],
)
def test_names_are_spelt_as_the_language_does(name: str, javascript: str, python: str) -> None:
    assert list(catalog(name).tools) == [f"s.{javascript}"]
    made = catalog(name, language=PYTHON)
    assert list(made.tools) == [f"s.{python}"]
    assert made.tools[f"s.{python}"].name == f"mcp.s.{name}"


def test_tools_of_one_name_are_left_out_and_named() -> None:
    made = catalog("get-sum", "get_sum", "add")
    assert list(made.tools) == ["s.add"]
    (fault,) = made.faults
    assert "'get-sum' and 'get_sum' of 's' are not offered" in fault
    assert "getSum" in fault


def test_a_server_without_tools_is_named() -> None:
    assert catalog().faults == ("MCP server 's' has no tools",)
    gone = made_catalog(
        {"s": Listing(fault="gone")}, {}, JAVASCRIPT, McpLimits(), lambda *one: print
    )
    assert gone.faults == ("MCP server 's' is not available: gone",)


def test_tools_are_bounded_and_others_stay() -> None:
    made = catalog("x" * 129, "add", "..")
    assert list(made.tools) == ["s.add"]
    assert ["128 are accepted" in fault for fault in made.faults] == [True, False]
    made = catalog("add", description="x" * 100, limits=McpLimits(tool_bytes=100))
    assert not made.tools
    assert "at most 100 are accepted (McpLimits.tool_bytes)" in made.faults[0]


@pytest.mark.parametrize(
    ("support", "offered"), [("required", []), ("optional", ["s.add"]), ("forbidden", ["s.add"])]
)
def test_a_tool_that_runs_only_as_a_task_is_not_offered(support: Any, offered: list[str]) -> None:
    made = catalog("add", execution=types.ToolExecution(task_support=support))
    assert list(made.tools) == offered
    refusal = "MCP tool 'add' of 's' is not offered: the server runs it only as a task, which code"
    assert [fault.startswith(refusal) for fault in made.faults] == [True] * (not offered)


def test_the_configuration_selects_tools_that_exist() -> None:
    made = catalog("add", "hidden", offered=["add", "ad"])
    assert list(made.tools) == ["s.add"]
    assert made.faults == ("MCP server 's' has no tool 'ad', which 'tools' lists",)


def test_a_server_that_is_gone_keeps_its_known_tools() -> None:
    tool = types.Tool(name="add", input_schema={"type": "object"})
    listings = {"a b": Listing((tool,), fault="it is gone")}
    made = made_catalog(listings, {}, JAVASCRIPT, McpLimits(), lambda *one: print)
    assert (list(made.tools), made.faults) == (
        ["aB.add"],
        ("MCP server 'a b' is not available: it is gone",),
    )


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["search"], "'search' is a function of mcp itself; rename it"),
        (["ä"], "'ä' is not a name in code"),
        (["a-b", "a_b"], "'a-b' and 'a_b' would both be mcp.aB in JavaScript; rename one"),
    ],
)
def test_names_of_servers_that_code_cannot_use_are_refused(names: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        server_names(names, JAVASCRIPT)
