"""Readings of a source that is no script, or means something else as one: what its author meant.

* `return` outside of functions ends the cell with its value.
* An object at the end, as in `{a: 1, b: 2}`, is the value of the cell, as in Node's REPL. A script
  has a block there.

The parser decides: it goes on behind a `return`, and reads the end of the source as an expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from interpstack_javascript.parser.parsing import (
    Node,
    Parsed,
    SourceFault,
    children,
    parse,
    text_of,
    units_of,
)
from interpstack_javascript.scripts import Clock

__all__ = [
    "Reading",
    "ending_with_object",
    "may_be_object",
    "object_reading",
    "other_reading",
    "reading_of",
    "telling_faults",
]

#: What begins the expression that is read in place of a block: it ends the statement before.
_BEGIN: Final = ";("
_RETURN: Final = "return"
#: Nodes in which a `return` is not the cell's.
_INNER: Final = frozenset(
    {"ArrowFunctionExpression", "FunctionDeclaration", "FunctionExpression", "StaticBlock"}
)
#: Tokens as far as brackets need them; a quote alone has no end.
_TOKEN: Final = re.compile(
    r"(?P<skip>\s++|//[^\n\r\u2028\u2029]*+|/\*(?:[^*]|\*(?!/))*+\*/)"
    r"|(?P<text>\"(?:\\[\s\S]|[^\"\\\n\r])*+\"|'(?:\\[\s\S]|[^'\\\n\r])*+')"
    r"|(?P<endless>[\"']|/\*)|(?P<open>[(\[{`])|(?P<close>[)\]}])"
    r"|(?P<slash>/)|(?P<other>[^\s\"'`/()\[\]{}]++)"
)
#: The text of a template up to its end or to the code in it.
_TEMPLATE: Final = re.compile(r"(?:[^`\\$]|\\[\s\S]|\$(?!\{))*+(`|\$\{)")
_REGEX: Final = re.compile(r"/(?:[^/\\\[\n\r]|\\.|\[(?:[^\]\\\n\r]|\\.){0,200}+\]){1,500}+/\w*+")
#: Ends of what may stand before a regular expression.
_BEFORE_REGEX: Final = tuple("(,=:[!&|?{};+-*%<>~^")
#: Tokens between two questions to the clock.
_PER_PAUSE: Final = 2048


@attrs.frozen(eq=False)
class Reading:
    """How a source is read.

    Attributes:
        program: Its tree.
        ending: The ending of the file's name with which the parser read it.
        is_module: See `Parsed`.
        returns: The `return` statements that end the cell.
        final: The object that it ends with, which a script would read as a block.
    """

    program: Node
    ending: str
    is_module: bool
    returns: Sequence[Node] = ()
    final: Node | None = None

    @property
    def is_typescript(self) -> bool:
        return self.ending.endswith("ts")


def may_be_object(statement: Node) -> bool:
    """Whether a statement is a block that may be an object: it holds nothing, names or a label."""
    if statement["type"] != "BlockStatement" or len(statement["body"]) > 1:
        return False
    for inner in statement["body"]:
        if inner["type"] == "ExpressionStatement":
            return inner["expression"]["type"] in ("Identifier", "SequenceExpression")
        return bool(inner["type"] == "LabeledStatement")
    return True


def ending_with_object(source: str, reading: Reading, clock: Clock) -> Reading:
    """The reading with an object in place of the block at its end, if that is one."""
    start = reading.program["body"][-1]["start"]
    return _object_at(source, start, reading.ending, clock) or reading


def other_reading(source: str, tried: Sequence[tuple[str, Parsed]], clock: Clock) -> Reading | None:
    """How to read a source that does not parse; `None` if nobody can.

    Args:
        source: The source.
        tried: The endings of names with which the parser has read it, and what it found.
        clock: The cell's clock.
    """
    if _RETURN in source:
        for ending, parsed in tried:
            found = reading_of(ending, parsed, clock)
            if found is None:
                continue
            ends = found.program["body"] and may_be_object(found.program["body"][-1])
            return ending_with_object(source, found, clock) if ends else found
    return object_reading(source, [ending for ending, _ in tried], clock)


def object_reading(source: str, endings: Sequence[str], clock: Clock) -> Reading | None:
    """How to read a source that ends with an object; `None` if it does not."""
    start = _last_brace(units_of(source), clock)
    if start is None:
        return None
    readings = (_object_at(source, start, ending, clock) for ending in endings)
    return next((found for found in readings if found is not None), None)


def reading_of(ending: str, parsed: Parsed, clock: Clock) -> Reading | None:
    """The reading of a source that has no fault but `return` outside of functions; else `None`.

    Args:
        ending: The ending of the name with which the parser has read it.
        parsed: What the parser found.
        clock: Its time is not exceeded.
    """
    if not parsed.faults:
        return Reading(parsed.program, ending, parsed.is_module)
    program = parsed.recovered(clock.pause)
    returns = {each["start"]: each for each in _returns(program)}
    if not all(fault.start in returns for fault in parsed.faults):
        return None
    is_module = program["sourceType"] == "module"
    return Reading(program, ending, is_module, tuple(returns.values()))


def telling_faults(source: str, parsed: Parsed) -> Sequence[SourceFault]:
    """The faults of a source without those of a `return`, unless there are no others."""
    if len(parsed.faults) == 1:
        return parsed.faults
    units = units_of(source)
    others = [each for each in parsed.faults if units[each.start : each.end] != _RETURN]
    return others or parsed.faults


def _returns(program: Node) -> Iterator[Node]:
    waiting = [program]
    while waiting:
        node = waiting.pop()
        if node["type"] == "ReturnStatement":
            yield node
        elif node["type"] not in _INNER:
            waiting += children(node)


# -- an object at the end ------------------------------------------------------------------------


def _last_brace(units: str, clock: Clock) -> int | None:
    """Where the last `{` is that is in no other bracket; roughly, since the parser decides."""
    stack, last, before = list[str](), None, ";"
    at = count = 0
    while at < len(units):
        count += 1
        if count % _PER_PAUSE == 0:
            clock.pause()
        in_text = bool(stack) and stack[-1] == "`"
        found = (_TEMPLATE if in_text else _TOKEN).match(units, at)
        if found is None or (kind := found.lastgroup) == "endless":
            return None
        if in_text:
            if found[1] == "`":
                stack.pop()
            else:
                stack.append("{")
        elif kind == "open":
            last = at if found[0] == "{" and not stack else last
            stack.append(found[0])
        elif kind == "close":
            if not stack:
                return None
            stack.pop()
        elif kind == "slash" and before.endswith(_BEFORE_REGEX):
            found = _REGEX.match(units, at) or found
        if kind != "skip":
            before = found[0]
        at = found.end()
    return None if stack else last


def _object_at(source: str, start: int, ending: str, clock: Clock) -> Reading | None:
    """The reading of a source whose last statement is an object.

    Args:
        source: The source.
        start: Index of the code unit at which the object begins.
        ending: The ending of a name for the parser.
        clock: The cell's clock.
    """
    units = units_of(source)
    before = text_of(units[:start])
    found = _read(f"{before}{_BEGIN}{text_of(units[start:])}\n)", ending, clock)
    if found is None:
        return None
    body = found.program["body"]
    last = body.pop()
    outer = last.get("expression") or {}
    inner = outer.get("expression") or {}
    if last["start"] != start + 1 or outer.get("type") != "ParenthesizedExpression":
        return None
    if inner.get("type") != "ObjectExpression" or not all(map(_is_plain, inner["properties"])):
        return None
    if not _begins_statement(before, start, ending, clock):
        return None
    if body[-1]["type"] == "EmptyStatement" and body[-1]["start"] == start:
        body.pop()
    last["expression"] = inner
    body.append(last)
    _move_back(found.program, start)
    last["end"] = found.program["end"] = inner["end"]
    return attrs.evolve(found, final=inner)


def _read(source: str, ending: str, clock: Clock) -> Reading | None:
    """A reading whose tree is nobody else's."""
    parsed = parse(
        source, name=f"cell.{ending}", seconds=clock.left(), pause=clock.pause, fresh=True
    )
    return reading_of(ending, parsed, clock)


def _begins_statement(before: str, start: int, ending: str, clock: Clock) -> bool:
    """Whether a block behind this text would be a statement of the top level."""
    found = _read(f"{before}{{}}", ending, clock)
    if found is None or not found.program["body"]:
        return False
    last = found.program["body"][-1]
    return last["type"] == "BlockStatement" and bool(last["start"] == start)


def _is_plain(member: Node) -> bool:
    """Whether a member of an object is no method and no accessor."""
    return member["type"] == "SpreadElement" or (member["kind"] == "init" and not member["method"])


def _move_back(program: Node, start: int) -> None:
    """Move all places behind the text that was put in to where they are in the source."""
    waiting = [program]
    while waiting:
        node = waiting.pop()
        for key in ("start", "end"):
            if node[key] > start:
                node[key] = max(start, node[key] - len(_BEGIN))
        waiting += children(node)
