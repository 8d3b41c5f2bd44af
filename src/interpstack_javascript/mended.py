"""Modules of JavaScript in a form that QuickJS runs as the language says; cells have it, too."""

from __future__ import annotations

import json

from interpstack.guests import place_at
from interpstack_javascript.captures import has_default, shared_parameter
from interpstack_javascript.edits import edited
from interpstack_javascript.flags import NO_SETS, has_sets
from interpstack_javascript.loops import loop_edits
from interpstack_javascript.parser.parsing import Node, parse, text_of, units_of, walk
from interpstack_javascript.scripts import Clock

__all__ = ["mended_module"]


def mended_module(source: str, clock: Clock) -> str:
    """A module in which QuickJS gives the values that the language gives.

    Lines stay as they are; columns behind an edit move in its line. A module that would give wrong
    values becomes one that throws a `SyntaxError` when it is imported.

    Args:
        source: The source, without characters that engines cannot read.
        clock: Says how long this may take.
    """
    parsed = parse(source, name="source.mjs", seconds=clock.left(), pause=clock.pause)
    functions: list[Node] = []
    with_sets: list[Node] = []

    def enter(node: Node) -> None:
        if node["type"] == "Literal" and has_sets(node):
            with_sets.append(node)
        if "params" in node and isinstance(node["params"], list) and has_default(node):
            functions.append(node)

    walk(parsed.program, enter)
    units = units_of(source)
    if with_sets:
        return _refusal(NO_SETS, source, units, with_sets[0]["start"])
    fault = shared_parameter(parsed.program, functions, len(units), clock.pause)
    if fault is not None:
        return _refusal(fault.message, source, units, fault.start)
    loops = loop_edits(parsed.program, source, clock.pause)  # none if the source does not parse
    edits = [*loops.last, *loops.edits]  # one may begin where another ends
    return text_of(edited(units, edits).text) if edits else source


def _refusal(message: str, source: str, units: str, start: int) -> str:
    """A module that says why this source is no module."""
    place = place_at(source, len(text_of(units[:start])))
    text = f"{message} (line {place.line}, column {place.column})"
    return f"throw new SyntaxError({json.dumps(text)})"
