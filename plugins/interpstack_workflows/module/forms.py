"""The two forms of a workflow: a module with a default export, and a script with a top-level body.

Scripts written for Claude Code have the second form: `meta` is their only export, and the body
that follows it may `return`. Such a body becomes the default export of a module in place: the
metadata and the imports, which cannot stand in a function, move behind the body, and the head of
the function stands where the metadata stood. So no line and no column of the body changes.

Tried before: the head of the function in front of the first statement, which moved the columns of
scripts of one line; a table of moved columns, which the stacks of errors in the guest do not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import attrs

from interpstack.guests import place_at
from interpstack_javascript.cells import escape
from interpstack_javascript.edits import LINE_BREAK, Edit, edited
from interpstack_javascript.parser.parsing import (
    Node,
    SourceFault,
    parse,
    text_of,
    units_of,
)
from interpstack_javascript.readings import reading_of, telling_faults
from interpstack_javascript.scripts import ENDLESS
from interpstack_workflows.errors import MetadataError

__all__ = ["TopLevelScript", "parsed_tree", "placed", "top_level_script"]

#: Seconds that parsing may take.
_SECONDS: Final = 5.0
_TYPED: Final = (".ts", ".mts")
#: The head of the function, shorter than any valid `export const meta = {…}`.
_HEAD: Final = "export default async()=>{"
#: Statements that do nothing where they stand.
_IDLE: Final = frozenset(
    {
        "ClassDeclaration",
        "EmptyStatement",
        "FunctionDeclaration",
        "ImportDeclaration",
        "TSDeclareFunction",
        "TSInterfaceDeclaration",
        "TSTypeAliasDeclaration",
    }
)
_BOTH: Final = (
    "the script has both forms of a workflow: a default export, and a body at top level that"
    " returns a value, as scripts for Claude Code have it. Keep one: move the `return` into the"
    " exported function, or leave out `export default`"
)
_OTHERS: Final = (
    "a script with a body at top level, as for Claude Code, exports `meta` alone; leave out the"
    " other export, or write the body as `export default async (args) => {…}`"
)
_FIRST: Final = (
    "a script with a body at top level, as for Claude Code, begins with `export const meta = {…}`;"
    " move this statement behind it"
)


@attrs.frozen
class TopLevelScript:
    """A script whose body stands at top level.

    Attributes:
        head: Its text up to the end of its metadata.
        module: The script as a module with a default export, whose body stands where it stood.
        moved: For each line of the module behind the body, the line of the script that it was.
    """

    head: str
    module: str
    moved: Mapping[int, int]


@lru_cache(maxsize=64)
def top_level_script(source: str, name: str) -> TopLevelScript | None:
    """Return a source as a script with its body at top level; `None` if it is a module, or broken.

    Args:
        source: The text of the workflow.
        name: The name of its file, which says whether it is TypeScript.

    Raises:
        MetadataError: The source has parts of both forms, so that it is unclear what would run.
    """
    source = escape(source)
    program, faults, returns = parsed_tree(source, name)
    meta = next((one for one in program["body"] if _is_meta(one)), None)
    if faults or meta is None:
        return None
    exported = _exported(program, meta)
    if returns and "default" in exported:
        raise placed(source, name, returns[0], _BOTH)
    if returns and exported:
        raise placed(source, name, next(iter(exported.values())), _OTHERS)
    if exported or not (returns or any(_acts(one) for one in program["body"])):
        return None
    before = next((one for one in program["body"] if not _may_precede(one)), meta)
    if before is not meta:
        if not returns:
            return None
        raise placed(source, name, before["start"], _FIRST)
    units = units_of(source)
    return _as_module(units, program, meta)


def parsed_tree(source: str, name: str) -> tuple[Node, tuple[SourceFault, ...], list[int]]:
    """Return the tree of a workflow, its faults, and the offsets of its `return`s at top level.

    These are no faults here.

    Args:
        source: The text, escaped.
        name: The name of its file.
    """
    ending = "mts" if name.endswith(_TYPED) else "mjs"
    parsed = parse(source, name=f"source.{ending}", seconds=_SECONDS, whole=True)
    reading = reading_of(ending, parsed, ENDLESS)
    if reading is None:
        return parsed.program, tuple(telling_faults(source, parsed)), []
    return reading.program, (), sorted(each["start"] for each in reading.returns)


def placed(source: str, name: str, offset: int | None, fault: str) -> MetadataError:
    """Return the error about an index of a source's UTF-16 code units, or about all of it."""
    if offset is None:
        return MetadataError(f"{name}: {fault}")
    place = place_at(source, len(text_of(units_of(source)[:offset])))
    text = f"{name}:{place.line}:{place.column}: {fault}"
    return MetadataError(text, place.line, place.column)


def _is_meta(statement: Node) -> bool:
    declared = statement.get("declaration") or {}
    return statement["type"] == "ExportNamedDeclaration" and any(
        one["id"].get("name") == "meta" for one in declared.get("declarations") or ()
    )


def _exported(program: Node, meta: Node) -> dict[str, int]:
    """Return where a module exports something else than its metadata: offsets by names."""
    found: dict[str, int] = {}
    for statement in program["body"]:
        kind, start = statement["type"], statement["start"]
        if kind == "ExportDefaultDeclaration":
            found.setdefault("default", start)
        elif kind in ("ExportAllDeclaration", "TSExportAssignment"):
            found.setdefault("*", start)
        elif kind == "ExportNamedDeclaration" and statement.get("exportKind") != "type":
            names = [
                one["exported"].get("name", one["exported"].get("value"))
                for one in statement.get("specifiers") or ()
            ]
            declarations = (statement.get("declaration") or {}).get("declarations") or ()
            names += [one["id"].get("name", "…") for one in declarations]
            if not names and statement is not meta and statement.get("declaration"):
                names = [(statement["declaration"].get("id") or {}).get("name", "…")]
            for each in names:
                if statement is not meta or each != "meta":
                    found.setdefault(each, start)
    return found


def _acts(statement: Node) -> bool:
    """Return whether a statement does something where it stands."""
    if statement["type"] in _IDLE or statement["type"].startswith("Export"):
        return False
    return not _is_directive(statement)


def _may_precede(statement: Node) -> bool:
    """Return whether a statement may stand before the metadata."""
    return statement["type"] in ("ImportDeclaration", "EmptyStatement") or _is_directive(statement)


def _is_directive(statement: Node) -> bool:
    return bool(statement.get("directive"))


def _as_module(units: str, program: Node, meta: Node) -> TopLevelScript:
    start, end = meta["start"], meta["end"]
    edits: list[Edit] = [(start, end, _headed(units[start:end]))]
    behind = [meta]
    for statement in program["body"]:
        if statement["start"] > start and _stands_in_modules_alone(statement):
            edits.append((statement["start"], statement["end"], _blank(units, statement)))
            behind.append(statement)
    parts = [edited(units, edits).text, "\n}\n"]
    line, moved = _lines("".join(parts)), dict[int, int]()
    for statement in behind:
        before, text = units[: statement["start"]], units[statement["start"] : statement["end"]]
        first, count = _lines(before), _lines(text)
        moved.update((line + each, first + each) for each in range(count))
        column = len(LINE_BREAK.split(before)[-1])
        parts.append(f"{' ' * column}{text};\n")
        line += count
    return TopLevelScript(text_of(units[:end]), text_of("".join(parts)), moved)


def _lines(text: str) -> int:
    """Return the number of lines of a text, the last of which may be empty."""
    return 1 + sum(1 for _ in LINE_BREAK.finditer(text))


def _stands_in_modules_alone(statement: Node) -> bool:
    return statement["type"] in ("ImportDeclaration", "ExportNamedDeclaration")


def _headed(statement: str) -> str:
    """Return the head of the function, with spaces and line breaks in place of a statement."""
    first = LINE_BREAK.search(statement)
    width = len(statement) if first is None else first.start()
    return _HEAD.ljust(width) + _spaces(statement[width:])


def _blank(units: str, node: Node) -> str:
    return _spaces(units[node["start"] : node["end"]])


def _spaces(text: str) -> str:
    return re.sub(r"[^\n\r\u2028\u2029]", " ", text)
