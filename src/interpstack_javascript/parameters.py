"""Functions in default parameters, in a form that QuickJS runs correctly.

In `(a, b = () => a) => { a = 5; return b(); }`, body and default share the parameter `a`. QuickJS
gives the body a copy of its own, so the default sees the value that `a` had when the call began.
So these parameters become variables of the body, `(a, ...$p) => { let [b = () => a] = $p; … }`,
which means the same, on every engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interpstack_javascript.edits import Edit
from interpstack_javascript.parser.parsing import Node, children

__all__ = ["FUNCTIONS", "is_candidate", "parameter_edits"]

FUNCTIONS: Final = frozenset(
    {"ArrowFunctionExpression", "FunctionDeclaration", "FunctionExpression"}
)
_REST: Final = "$p"
_OPENING: Final = len("=>")


def is_candidate(function: Node, parent: Node | None) -> bool:
    """Whether a function has parameters that are more than names, and may have a rest parameter."""
    if parent is not None and parent.get("kind") == "set":
        return False
    return any(each["type"] != "Identifier" for each in function["params"])


def parameter_edits(function: Node, units: str) -> Iterator[Edit]:
    """The edits of a function whose defaults see another value than its body; none for others.

    Args:
        function: The function.
        units: The source, a character for each UTF-16 code unit.
    """
    params, body = function["params"], function["body"]
    if function.get("generator") or body is None:
        return
    first = next((index for index, each in enumerate(params) if _has_function(each)), None)
    if first is None:
        return
    names = {name for each in params for name in _bound(each)}
    read = {name for each in params[first:] for name in _named_in_functions(each)}
    written = {name for part in (*params, body) for name in _written(part)}
    if not names & read & written or names & _declared(body):
        return
    if any(each["type"] == "TSParameterProperty" for each in params):
        return
    is_arrow, is_block = (
        function["type"] == "ArrowFunctionExpression",
        body["type"] == "BlockStatement",
    )
    begin, end = params[first]["start"], params[-1]["end"]
    close = _find(units, end, ")")
    opening = "=> {" if is_arrow else "{"
    yield begin, begin, f"...{_REST}) {opening} let ["
    yield close, close + 1, f"] = {_REST};"
    if is_arrow:
        arrow = _find(units, close + 1, "=>")
        yield arrow, arrow + _OPENING, " " * _OPENING
    if is_block:
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


def _walk(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += children(found)


def _has_function(node: Node) -> bool:
    return any(each["type"] in FUNCTIONS for each in _walk(node))


def _named_in_functions(node: Node) -> Iterator[str]:
    """Names that functions in a parameter mention."""
    for each in _walk(node):
        if each["type"] in FUNCTIONS:
            yield from (one["name"] for one in _walk(each) if one["type"] == "Identifier")


def _written(node: Node) -> Iterator[str]:
    """Names that are assigned to anywhere in a node."""
    for each in _walk(node):
        kind = each["type"]
        if kind == "AssignmentExpression":
            yield from _bound(each["left"])
        elif kind == "UpdateExpression":
            yield from _bound(each["argument"])
        elif kind in ("ForInStatement", "ForOfStatement"):
            yield from _bound(each["left"])


def _bound(pattern: Node) -> Iterator[str]:
    """Names in a pattern: those that it binds, and those in its defaults."""
    return (each["name"] for each in _walk(pattern) if each["type"] == "Identifier")


def _declared(body: Node) -> set[str]:
    """Names that the body of a function declares for all of it: then it has its own variables."""
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
            found.update(name for each in node["declarations"] for name in _bound(each["id"]))
        waiting += children(node)
    return found
