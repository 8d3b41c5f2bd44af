"""Every option of a middleware, an engine or a command is on its page, with its default."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from interpstack_cli import main
from interpstack_js_repl import JsReplMiddleware
from interpstack_langchain import BackgroundOptions, CodeInterpreterMiddleware
from interpstack_node.engine import NodeEngine
from interpstack_process.engine import ProcessEngine
from interpstack_ray.engine import RayEngine

DOCS = Path(__file__).parents[2] / "docs"
COMMANDS = DOCS / "how-to" / "use-the-command-line.md"


def options(function: Callable[..., Any]) -> dict[str, Any]:
    """The named options of a function or class, with their defaults."""
    return {
        name: one.default
        for name, one in inspect.signature(function).parameters.items()
        if one.kind is not inspect.Parameter.VAR_KEYWORD
    }


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of all rows below a heading, of tables that begin with a name in code."""
    text = (DOCS / page).read_text("utf-8")
    section = re.split(rf"^## {heading}$", text, flags=re.MULTILINE)[1]
    section = re.split(r"^## ", section, flags=re.MULTILINE)[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [line.strip("| ").split(" | ") for line in lines]


def names(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


#: Tables of options with their defaults: the page, the heading, whose options they are.
TABLES = [
    ("how-to/use-in-langchain.md", "Arguments", CodeInterpreterMiddleware),
    ("reference/js-repl.md", "Arguments", JsReplMiddleware),
    ("how-to/run-cells-in-the-background.md", "In an agent", BackgroundOptions),
    ("how-to/use-worker-processes.md", "Options", ProcessEngine),
    ("how-to/use-a-ray-cluster.md", "Options", RayEngine),
]


@pytest.mark.parametrize(
    ("page", "heading", "owner"), [*TABLES, ("reference/node.md", "Options", NodeEngine)]
)
def test_the_page_lists_every_option(page: str, heading: str, owner: Callable[..., Any]) -> None:
    listed = [name for row in rows(page, heading) for name in names(row[0])]
    assert sorted(listed) == sorted(options(owner))


@pytest.mark.parametrize(("page", "heading", "owner"), TABLES)
def test_defaults_in_code_are_the_ones_of_the_page(
    page: str, heading: str, owner: Callable[..., Any]
) -> None:
    defaults, compared = options(owner), 0
    for first, found, *_ in rows(page, heading):
        for name, text in zip(names(first), re.findall(r"`([^`]+)`", found), strict=False):
            if text.isidentifier() and text not in ("True", "False", "None"):
                continue  # the name of a constant, or of another option
            assert ast.literal_eval(text) == defaults[name], name
            compared += 1
    assert compared > 1


def commands(group: click.Group) -> list[tuple[str, click.Command]]:
    """All commands, with the words to call them."""
    context = click.Context(group)
    found: list[tuple[str, click.Command]] = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = commands(command) if isinstance(command, click.Group) else []
        found += [(f"{name} {rest}", one) for rest, one in inner] or [(name, command)]
    return found


@pytest.mark.parametrize(
    ("name", "command"), commands(main), ids=[name for name, _ in commands(main)]
)
def test_the_page_has_every_option_of_a_command(name: str, command: click.Command) -> None:
    beside = (
        "test-your-engine.md",
        "run-workflows.md",
        "serve-mcp.md",
        "use-mcp-servers.md",
        "inspect-runs.md",
        "learn-types.md",
    )
    pages = [COMMANDS, *(DOCS / "how-to" / other for other in beside)]
    page = "".join(path.read_text("utf-8") for path in pages)
    for option in command.params:
        if isinstance(option, click.Option):
            assert [one for one in option.opts if re.search(rf"[` ]{one}\b", page)], option.opts
