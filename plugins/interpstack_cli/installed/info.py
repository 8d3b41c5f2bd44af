"""`interpstack plugins`: installed engines and plugins with their capabilities."""

from __future__ import annotations

import json

import click

from interpstack_cli.installed.survey import Survey, survey
from interpstack_cli.printing import encodable, output, write

__all__ = ["command", "print_table"]


@click.command("plugins")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """List engines and plugins with their capabilities.

    Engines are shown with isolation class and capabilities, plugins with version and hooks, and
    broken plugins with the reason.
    """
    found = survey()
    if as_json:
        write(json.dumps(found.to_dict(), indent=2))
    else:
        _show(found)


def _show(found: Survey) -> None:
    engines = [
        [data["name"], data["isolation"], data["language"], ", ".join(data["capabilities"])]
        for data in (engine.to_dict() for engine in found.engines)
    ]
    print_table("Engines", ["name", "isolation", "language", "capabilities"], engines)
    plugins = [
        [
            p.name,
            p.version,
            p.distribution,
            "\n".join(h.removeprefix("interpstack_") for h in p.hooks),
        ]
        for p in found.plugins
    ]
    print_table("Plugins", ["name", "version", "distribution", "hooks"], plugins)
    absent = [[p.name, f"{p.distribution}[{p.extra}]"] for p in found.failed if p.extra]
    if absent:
        print_table("Not installed", ["name", "comes with"], absent)
    failed = [[p.name, p.distribution, p.reason] for p in found.failed if not p.extra]
    if failed:
        print_table("Cannot be loaded", ["name", "distribution", "reason"], failed, style="red")


def print_table(title: str, columns: list[str], rows: list[list[str]], style: str = "") -> None:
    """Write a table to standard output."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, style=style, pad_edge=False
    )
    for column in columns:
        table.add_column(column, overflow="fold")
    with output() as stream:
        for row in rows:
            table.add_row(*(Text(encodable(cell, stream)) for cell in row))
        Console(file=stream, safe_box=True).print(table)
