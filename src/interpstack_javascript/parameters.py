"""Functions in default parameters, in a form that QuickJS runs correctly.

In `(a, b = () => a) => { a = 5; return b(); }`, body and default share the parameter `a`. QuickJS
gives the body a copy of its own, so the default sees the value that `a` had when the call began.
So these parameters become variables of the body, `(a, ...$p) => { let [b = () => a] = $p; … }`,
which means the same, on every engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from interpstack_javascript.edits import Edit
from interpstack_javascript.parser.parsing import Node, children

__all__ = ["FUNCTIONS", "is_candidate", "parameter_edits"]

FUNCTIONS: Final = frozenset(
    {"ArrowFunctionExpression", "FunctionDeclaration", "FunctionExpression"}
)
_REST: Final = "$p"
_OPENING: Final = len("=>")
#: How often nodes are looked at, in a source of no length and for each of its code units.
_LOOKS, _LOOKS_A_UNIT = 10_000, 4


def is_candidate(function: Node, parent: Node | None) -> bool:
    """Whether a function has parameters that are more than names, and may have a rest parameter."""
    if parent is not None and parent.get("kind") == "set":
        return False
    return any(each["type"] != "Identifier" for each in function["params"])


def parameter_edits(functions: Iterable[Node], units: str) -> list[Edit]:
    """The edits of the functions whose defaults would see other values than their bodies.

    This takes linear time: where functions nest so deep in defaults that it would take longer, the
    functions that are left stay as they are.

    Args:
        functions: Candidates of one source.
        units: The source, a character for each UTF-16 code unit.
    """
    looker, edits = _Looker(_LOOKS + _LOOKS_A_UNIT * len(units)), list[Edit]()
    try:
        for function in functions:
            first = looker.first_wrong(function)
            if first is not None:
                edits += _edits_of(function, first, units)
    except _TooDeep:
        return edits
    return edits


def _edits_of(function: Node, first: Node, units: str) -> Iterator[Edit]:
    params, body = function["params"], function["body"]
    is_arrow = function["type"] == "ArrowFunctionExpression"
    begin = first["start"]
    close = _find(units, params[-1]["end"], ")")
    opening = "=> {" if is_arrow else "{"
    yield begin, begin, f"...{_REST}) {opening} let ["
    yield close, close + 1, f"] = {_REST};"
    if is_arrow:
        arrow = _find(units, close + 1, "=>")
        yield arrow, arrow + _OPENING, " " * _OPENING
    if body["type"] == "BlockStatement":
        yield body["start"], body["start"] + 1, " "
        return
    yield body["start"], body["start"], "return "
    yield function["end"], function["end"], " }"


def _find(units: str, start: int, token: str) -> int:
    """Where a token is, behind white space, comments, a comma, and the type of a result."""
    at = start
    while not units.startswith(token, at):
        if units.startswith("//", at):
            at = min(len(units), *(units.find(end, at) % (len(units) + 1) for end in "\n\r"))
        elif units.startswith("/*", at):
            at = units.index("*/", at) + 2
        else:
            at += 1
    return at


class _TooDeep(Exception):
    """To look at all nodes would take too long."""


class _Looker:
    """Looks at the nodes of functions, each of which may be in many functions.

    Args:
        most: How often it may look at a node.
    """

    def __init__(self, most: int) -> None:
        self._left = most

    def first_wrong(self, function: Node) -> Node | None:
        """The first parameter with a function, if that would see other values than the body.

        Raises:
            _TooDeep: It has looked at too many nodes.
        """
        params, body = function["params"], function["body"]
        if function.get("generator") or body is None:
            return None
        first = next((at for at, each in enumerate(params) if self._has_function(each)), None)
        if first is None or any(each["type"] == "TSParameterProperty" for each in params):
            return None
        names = {name for each in params for name in self._bound(each)}
        read = {name for each in params[first:] for name in self._bound(each)}
        written = {name for part in (*params, body) for name in self._written(part)}
        is_wrong = names & read & written and not names & self._declared(body)
        return params[first] if is_wrong else None

    def _walk(self, node: Node) -> Iterator[Node]:
        waiting = [node]
        while waiting:
            self._left -= 1
            if self._left < 0:
                raise _TooDeep
            found = waiting.pop()
            yield found
            waiting += children(found)

    def _has_function(self, node: Node) -> bool:
        return any(each["type"] in FUNCTIONS for each in self._walk(node))

    def _bound(self, pattern: Node) -> Iterator[str]:
        """Names in a pattern: those that it binds, and those in its defaults."""
        return (each["name"] for each in self._walk(pattern) if each["type"] == "Identifier")

    def _written(self, node: Node) -> Iterator[str]:
        """Names that are assigned to anywhere in a node."""
        for each in self._walk(node):
            kind = each["type"]
            if kind == "AssignmentExpression":
                yield from self._bound(each["left"])
            elif kind == "UpdateExpression":
                yield from self._bound(each["argument"])
            elif kind in ("ForInStatement", "ForOfStatement"):
                yield from self._bound(each["left"])

    def _declared(self, body: Node) -> set[str]:
        """Names that the body of a function declares for all of it: then it has its own."""
        found: set[str] = set()
        waiting = [body]
        while waiting:
            node = waiting.pop()
            kind = node["type"]
            if kind in FUNCTIONS:
                if kind == "FunctionDeclaration" and node.get("id"):
                    found.add(node["id"]["name"])
                continue
            if kind == "VariableDeclaration" and node["kind"] == "var":
                declared = node["declarations"]
                found.update(name for each in declared for name in self._bound(each["id"]))
            waiting += children(node)
        return found
