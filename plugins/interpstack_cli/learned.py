"""`interpstack types`: the types that were learned from tools' answers, to review and to remove."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, Final

import click

from interpstack import ConfigurationError
from interpstack_cli.installed.info import print_table
from interpstack_cli.printing import write
from interpstack_javascript import JAVASCRIPT
from interpstack_javascript.signatures import render_type
from interpstack_learned import (
    VARIABLE,
    LearnedVersion,
    MalformedTypes,
    forget_types,
    read_types,
    reviewed_text,
)
from interpstack_state import BlobStore, open_store

__all__ = ["command"]

#: Characters of a type in the list.
_TYPE_CHARS: Final = 60


@click.group("types")
def command() -> None:
    """Review the types that were learned from the answers of tools."""


def _store_option(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--store",
        "url",
        metavar="URL",
        help=f"The store of the types, as sqlite:///types.db. [default: {VARIABLE}]",
    )(function)


@command.command("list")
@_store_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_types(url: str | None, *, as_json: bool) -> None:
    """List the tools whose types were learned, each with its versions.

    A version is a digest of the tool's description and schemas.
    """
    with _opened(url) as store:
        known = _read(store)
    rows = [
        {"tool": one.tool, "version": one.version, "seen": one.shape.seen, "learned": _day(one)}
        for one in known
    ]
    if as_json:
        write(json.dumps(rows, indent=2))
        return
    if not rows:
        write("Nothing was learned yet.")
        return
    shown = [
        [str(value) for value in row.values()] + [_cut(_type(one))]
        for row, one in zip(rows, known, strict=True)
    ]
    print_table("Learned types", ["tool", "version", "seen", "learned", "answer"], shown)


@command.command("show")
@_store_option
@click.argument("tool")
def show_types(url: str | None, tool: str) -> None:
    """Show the types of TOOL as TypeScript, with all that is known."""
    with _opened(url) as store:
        write(_typescript(_chosen(_read(store), [tool])))


@command.command("export")
@_store_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "declarations"]),
    default="json",
    show_default=True,
    help="JSON can be edited, and used with LearnedTypes(types=FILE); declarations are TypeScript.",
)
@click.argument("tools", nargs=-1, metavar="[TOOL]...")
def export_types(url: str | None, form: str, tools: tuple[str, ...]) -> None:
    """Print the types of all tools, or of each TOOL, for review."""
    with _opened(url) as store:
        known = _chosen(_read(store), tools) if tools else _read(store)
    write(reviewed_text(known).rstrip("\n") if form == "json" else _typescript(known))


@command.command("forget")
@_store_option
@click.option("--all", "forgets_all", is_flag=True, help="Forget every tool.")
@click.argument("tools", nargs=-1, metavar="[TOOL]...")
def forget(url: str | None, tools: tuple[str, ...], *, forgets_all: bool) -> None:
    """Remove what was learned of each TOOL, in all its versions.

    Agents that are running keep the signatures that they have.
    """
    if bool(tools) == forgets_all:
        raise click.UsageError("Name tools to forget, or pass --all.")
    with _opened(url) as store:
        if forgets_all:
            count = forget_types(store)
        else:
            _chosen(_read(store), tools)
            count = sum(forget_types(store, tool) for tool in tools)
    write(f"Forgot {count} {'type' if count == 1 else 'types'}.")


@contextmanager
def _opened(url: str | None) -> Iterator[BlobStore]:
    given = url or os.environ.get(VARIABLE, "")
    if not given:
        raise click.UsageError(f"Pass --store URL, or set {VARIABLE}.")
    with open_store(given, create=False, space="types") as store:
        try:
            yield store
        except MalformedTypes as error:
            raise ConfigurationError(
                f"the stored types cannot be read: {error}; `interpstack types forget --all` "
                "removes them"
            ) from error


def _read(store: BlobStore) -> list[LearnedVersion]:
    return sorted(read_types(store), key=lambda one: (one.tool, -one.used, one.version))


def _chosen(known: Sequence[LearnedVersion], tools: Sequence[str]) -> list[LearnedVersion]:
    names = {one.tool for one in known}
    for tool in tools:
        if tool not in names:
            near = "".join(f"; did you mean {one!r}?" for one in get_close_matches(tool, names, 1))
            raise ConfigurationError(f"nothing was learned of a tool {tool!r:.80}{near}")
    return [one for one in known if one.tool in tools]


def _typescript(known: Sequence[LearnedVersion]) -> str:
    """Declarations of the types, each under a name of its own."""
    taken: dict[str, int] = {}
    made = []
    for one in known:
        name = re.sub(r"[^A-Za-z0-9_]", "", JAVASCRIPT.identifier(one.tool))
        name = f"{name[:1].upper()}{name[1:]}Answer"
        name = f"_{name}" if name[0].isdecimal() else name
        taken[name] = taken.get(name, 0) + 1
        name += str(taken[name]) if taken[name] > 1 else ""
        tool = json.dumps(one.tool).replace("*/", "*\\/")
        times = "once" if one.shape.seen == 1 else f"{one.shape.seen} times"
        note = f"{tool}, version {one.version}, seen {times}"
        made.append(f"/** {note} */\nexport type {name} = {_type(one)}")
    return "\n\n".join(made)


def _type(one: LearnedVersion) -> str:
    return render_type(one.shape.schema())


def _cut(text: str) -> str:
    return text if len(text) <= _TYPE_CHARS else f"{text[: _TYPE_CHARS - 1]}…"


def _day(one: LearnedVersion) -> str:
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(one.used))
    except (OverflowError, OSError, ValueError):  # a time of a damaged store
        return "unknown"
