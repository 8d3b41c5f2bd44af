"""Lines of code that may have made each call: those that name the called bridge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["call_lines", "calls_of_lines"]


def call_lines(code: str, bridges: Iterable[str]) -> Mapping[str, Sequence[int]]:
    """The lines that name each bridge, from 1; none for bridges that no line names.

    A journal does not say which line made a call, so a bridge on several lines has several.

    Args:
        code: The code.
        bridges: Names of bridges, such as `tools.pay` and `task`.
    """
    lines = code.split("\n")
    return {name: _naming(lines, name) for name in dict.fromkeys(bridges)}


def _naming(lines: Sequence[str], bridge: str) -> list[int]:
    outer, _, name = bridge.rpartition(".")
    own = re.escape(name)
    by_item = rf"|{re.escape(outer)}\s*\[\s*[\"'`]{own}[\"'`]\s*\]" if outer else ""
    named = re.compile(rf"(?<![\w$.]){re.escape(bridge)}(?![\w$]){by_item}")
    found = [number for number, line in enumerate(lines, 1) if named.search(line)]
    if found or not outer:
        return found
    # Code may take the functions out of their namespace: `const {pay} = tools`.
    alone = re.compile(rf"(?<![\w$.]){own}\s*\(")
    return [number for number, line in enumerate(lines, 1) if alone.search(line)]


def calls_of_lines(
    lines: Mapping[str, Sequence[int]], bridges: Iterable[str]
) -> Mapping[int, Mapping[str, int]]:
    """Counts of the calls that each line may have made, by bridge.

    Args:
        lines: See `call_lines`.
        bridges: The bridge of each call.
    """
    found: dict[int, dict[str, int]] = {}
    for bridge in bridges:
        for line in lines.get(bridge, ()):
            counts = found.setdefault(line, {})
            counts[bridge] = counts.get(bridge, 0) + 1
    return found
