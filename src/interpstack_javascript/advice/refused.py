"""Advice for a source that does not parse: what to write instead, from its tree and its lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import attrs

from interpstack_javascript.edits import LINE_BREAK
from interpstack_javascript.errors import SourceError
from interpstack_javascript.parser.parsing import FUNCTIONS, Node, children, text_of, units_of, walk
from interpstack_javascript.readings import object_reading
from interpstack_javascript.scripts import Clock
from interpstack_python.shapes import looks_like_python

__all__ = ["awaiting_advice", "block_advice", "first_call_of_await", "foreign_advice"]

_FIELDS: Final = frozenset({"AccessorProperty", "PropertyDefinition", "StaticBlock"})
#: Methods that call a function for each element, and do not wait for what it returns.
_EACH: Final = frozenset(
    {"every", "filter", "find", "findIndex", "findLast", "findLastIndex", "reduce", "reduceRight"}
    | {"some"}
)
_TIMERS: Final = frozenset({"setImmediate", "setInterval", "setTimeout"})
_SORTS: Final = frozenset({"sort", "toSorted"})
#: Characters of code that a message quotes.
_MOST: Final = 40
#: The beginning of a statement in SQL.
_SQL: Final = re.compile(
    r"\s*+(?:select\s[^;]{0,400}?\sfrom\s|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s"
    r"|create\s+table\s)",
    re.IGNORECASE,
)
#: The beginning of a command for a shell, which is no statement of JavaScript.
_SHELL: Final = re.compile(
    r"\s*+(?:\$ )?(?:sudo +)?(?:apt|apt-get|awk|bash|brew|cat|cd|chmod|cp|curl|docker|echo|find|git"
    r"|grep|head|ls|mkdir|mv|node|npm|npx|pip|pip3|python|python3|rm|sed|sh|tail|touch|uv|wc|wget"
    r"|yarn)"
    r" +[\w./~*\"'$-]"
)


def awaiting_advice(source: str, program: Node, start: int) -> str:
    """What to write for an `await` in a function that is not async.

    Args:
        source: The source.
        program: Its tree, as far as there is one.
        start: Where the `await` is, in code units.

    Returns:
        The message; empty if nothing waits there, or in an async function.
    """
    around = _around(program, start)
    waits = around and _waits_at(around[-1], start)
    inner = next(
        (at for at in reversed(range(len(around))) if around[at]["type"] in FUNCTIONS | _FIELDS),
        None,
    )
    if not waits or inner is None or around[inner].get("async"):
        return ""
    function = _PlainFunction(units_of(source), around[inner], around[:inner])
    return f"await works in async functions only: {function.advice()}"


def first_call_of_await(program: Node) -> int | None:
    """Where a source first calls `await` as a function, if it has no other use for the name."""
    names = 0
    calls = list[int]()

    def enter(node: Node) -> None:
        nonlocal names
        names += _is_await(node)
        if node["type"] == "CallExpression" and _is_await(node["callee"]):
            calls.append(node["start"])

    walk(program, enter)
    return min(calls) if calls and names == len(calls) else None


def _is_await(node: Node) -> bool:
    return node["type"] == "Identifier" and bool(node["name"] == "await")


def _around(program: Node, start: int) -> list[Node]:
    """The nodes around a place, outermost first, down to the one that waits there."""
    path, node = list[Node](), program
    while True:
        path.append(node)
        if _waits_at(node, start):
            return path
        below = (each for each in children(node) if each["start"] <= start < each["end"])
        inner = next(below, None)
        if inner is None:
            return path
        node = inner


def _waits_at(node: Node, start: int) -> bool:
    if node["type"] == "CallExpression" and _is_await(node["callee"]):
        return bool(node["start"] == start)
    if node["type"] == "AwaitExpression":
        return bool(node["start"] == start)
    waits = node["type"] == "ForOfStatement" and node.get("await")
    return bool(waits and node["start"] <= start < node["left"]["start"])


@attrs.frozen(eq=False)
class _PlainFunction:
    """A function that is not async, or a part of a class that takes no `await`.

    Attributes:
        units: The source.
        node: The function.
        around: The nodes around it, outermost first.
    """

    units: str
    node: Node
    around: Sequence[Node]

    def advice(self) -> str:
        outer = self.around[-1]
        if self.node["type"] in _FIELDS:
            return "await the value before the class, and use it there"
        if (
            outer["type"] in ("CallExpression", "NewExpression")
            and self.node is not outer["callee"]
        ):
            return self._of_callback(outer["callee"])
        if outer["type"] in ("MethodDefinition", "Property") and outer.get("kind") in (
            "constructor", "get", "set",
        ):  # fmt: skip
            return "constructors, getters and setters cannot wait; use an async method"
        if outer["type"] in ("MethodDefinition", "Property") and (
            outer["type"] == "MethodDefinition" or outer["method"]
        ):
            name = self._quoted(outer["key"], "method")
            return f"make the method async, as in async {name}(…) {{ … }}, and await its calls"
        name = self._name(outer)
        if not name:
            return f"make the function async: {self._head()}"
        return f"make the function async: {self._head()}, and await its calls: await {name}(…)"

    def _of_callback(self, callee: Node) -> str:
        head = self._head()
        if callee.get("name") in _TIMERS:
            return (
                f"nothing waits for the callback of {callee['name']}. Wait before the call: "
                "await new Promise((resolve) => setTimeout(resolve, ms))"
            )
        if callee["type"] != "MemberExpression" or callee["computed"]:
            return f"make the callback async: {head}"
        method = callee["property"].get("name", "")
        each = self._quoted(callee["object"], "list")
        together = f"await Promise.all({each}.map({head}))"
        loop = f"for (const {self._item(method)} of {each}) {{ … }}"
        if method == "forEach":
            return (
                f"make the callback async: {head}. Nothing waits for forEach, so use {loop} or "
                f"{together}"
            )
        if method == "map":
            return f"make the callback async, and wait for all: {together}"
        if method == "flatMap":
            return f"make the callback async, and wait for all: ({together}).flat()"
        if method in _EACH:
            return f"{method} does not wait for its callback. Use {loop}"
        if method in _SORTS:
            return f"{method} does not wait for its callback. Await what it compares before"
        return f"make the callback async: {head}"

    def _head(self) -> str:
        """The function with `async`, and without its body."""
        arrow = self.node["type"] == "ArrowFunctionExpression"
        head = self._text(self.node["start"], self.node["body"]["start"]).strip()
        if arrow:
            return f"async {head} …" if head.endswith("=>") else "async (…) => …"
        name = (self.node.get("id") or {}).get("name", "")
        return f"async {head} {{ … }}" if head else f"async function {name}(…) {{ … }}"

    def _item(self, method: str) -> str:
        place = 1 if method.startswith("reduce") else 0
        given = self.node["params"][place : place + 1]
        return self._quoted(given[0], "item") if given else "item"

    def _name(self, outer: Node) -> str:
        own = self.node.get("id") or (outer["id"] if outer["type"] == "VariableDeclarator" else {})
        return str(own.get("name", ""))

    def _quoted(self, node: Node, otherwise: str) -> str:
        return self._text(node["start"], node["end"]) or otherwise

    def _text(self, start: int, end: int) -> str:
        """A piece of the source; empty if it is long, or on several lines."""
        text = self.units[start:end] if end - start <= _MOST else ""
        return "" if LINE_BREAK.search(text) else text_of(text)


def block_advice(source: str, endings: Sequence[str], clock: Clock) -> SourceError | None:
    """What to write for an object at the end with a semicolon behind it, which makes it a block."""
    whole = source.rstrip().rstrip(";")
    if not source.rstrip().endswith(";"):
        return None
    found = object_reading(whole, endings, clock)
    if found is None or found.final is None:
        return None
    offset = len(text_of(units_of(whole)[: found.final["start"]]))
    return SourceError("this is a block; for an object, leave out the semicolon behind it", offset)


def foreign_advice(source: str, offset: int) -> str:
    """What to say first of a source that is in another language; empty if it is not.

    Args:
        source: The source.
        offset: Index of the character at fault.
    """
    if _SQL.match(source):
        return "this looks like SQL; cells are JavaScript: pass it to a function as a text"
    if _SHELL.match(source):
        return "this looks like a shell command; cells are JavaScript, and there is no shell here"
    lines = LINE_BREAK.split(source)
    row = len(LINE_BREAK.findall(source, 0, offset))
    if not looks_like_python(lines, min(row, len(lines) - 1)):
        return ""
    return "this looks like Python; cells are JavaScript"
