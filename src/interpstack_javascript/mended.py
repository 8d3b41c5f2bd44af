"""Modules of JavaScript in a form that QuickJS runs as the language says; cells have it, too."""

from __future__ import annotations

from interpstack_javascript.edits import edited
from interpstack_javascript.loops import loop_edits
from interpstack_javascript.parameters import FUNCTIONS, is_candidate, parameter_edits
from interpstack_javascript.parser.parsing import Node, children, parse, text_of, units_of, walk
from interpstack_javascript.scripts import Clock

__all__ = ["mended_module"]


def mended_module(source: str, clock: Clock) -> str:
    """A module in which QuickJS gives the values that the language gives.

    Lines stay as they are; columns behind an edit move in its line.

    Args:
        source: The source, without characters that engines cannot read.
        clock: Says how long this may take.
    """
    parsed = parse(source, name="source.mjs", seconds=clock.left(), pause=clock.pause)
    functions: list[Node] = []
    walk(parsed.program, lambda node: _note(node, functions))
    units = units_of(source)
    edits = [*loop_edits(parsed.program, clock.pause)]  # none where the source does not parse
    edits += parameter_edits(functions, units)
    return text_of(edited(units, edits).text) if edits else source


def _note(parent: Node, functions: list[Node]) -> None:
    """Note the functions directly below a node."""
    functions += [
        node
        for node in children(parent)
        if node["type"] in FUNCTIONS and is_candidate(node, parent)
    ]
