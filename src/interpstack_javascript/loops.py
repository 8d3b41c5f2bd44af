"""Loops in a form that QuickJS runs correctly.

In `for (let i = 0; …; …)`, each round has variables of its own. QuickJS makes no new ones after a
`continue`: functions of all rounds then share one variable, and see its last value. So a `continue`
of such a loop becomes a `break` out of its body, which means the same, on every engine.

A `for await` that ends early calls `return` of its iterator. QuickJS does not wait for it, so that
the `finally` of a generator would run behind the code after the loop, and its errors be lost. So
such a loop goes over an iterable of the kernel (`kernel/closing.js`), which notes the promise, and
a `finally` behind the loop waits for that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import attrs

from interpstack_javascript.edits import Edit
from interpstack_javascript.parser.parsing import Node, children, walk

__all__ = ["LoopEdits", "loop_edits"]

_FUNCTIONS: Final = frozenset(
    {"ArrowFunctionExpression", "FunctionDeclaration", "FunctionExpression", "StaticBlock"}
    | {"AccessorProperty", "PropertyDefinition"}
)
_LOOPS: Final = frozenset(
    {"DoWhileStatement", "ForInStatement", "ForOfStatement", "ForStatement", "WhileStatement"}
)
_KEYWORD: Final = len("continue")
#: Names like those that are given to `for await` loops.
_NAMES: Final = re.compile(r"\$loop\d+")
#: Nodes between two questions to the clock.
_PER_PAUSE: Final = 2048


@attrs.frozen
class LoopEdits:
    """The edits of all loops of a source.

    Attributes:
        edits: Edits of what begins at a place.
        last: Edits that close what ends at a place, inner loops first.
    """

    edits: list[Edit] = attrs.Factory(list)
    last: list[Edit] = attrs.Factory(list)


@attrs.define(eq=False)
class _LoopAround:
    """A loop around a node.

    Attributes:
        node: The loop.
        labels: Its labels.
        start: Where it starts, its labels included.
        outer: The loop around it in the same function.
        is_captured: Whether a function is made in it.
        continues: The statements that continue it.
    """

    node: Node
    labels: tuple[str, ...]
    start: int
    outer: _LoopAround | None
    is_captured: bool = False
    continues: list[Node] = attrs.Factory(list)

    def capture(self) -> None:
        """Note that a function is made in it."""
        self.is_captured = True

    @property
    def is_wrong(self) -> bool:
        """Whether QuickJS runs it in another way."""
        first = self.node.get("init") or {}
        declares = first.get("type") == "VariableDeclaration" and first["kind"] == "let"
        return declares and self.is_captured and bool(self.continues)


def loop_edits(program: Node, source: str, pause: Callable[[], None] = lambda: None) -> LoopEdits:
    """The edits of a source in which QuickJS runs loops as the language says.

    Args:
        program: The tree of the source.
        source: The source.
        pause: Called at intervals; an exception from it ends the work.
    """
    found: list[_LoopAround] = []
    taken: set[str] = set()
    waiting: list[tuple[Node, _LoopAround | None, tuple[str, ...], int | None]] = [
        (program, None, (), None)
    ]
    count = 0
    while waiting:
        node, loop, labels, start = waiting.pop()
        count += 1
        if count % _PER_PAUSE == 0:
            pause()
        kind, below, begin = node["type"], tuple[str, ...](), None
        if kind in _FUNCTIONS:
            _capture(loop)
            loop = None
        elif kind == "LabeledStatement":
            taken.add(node["label"]["name"])
            below = (*labels, node["label"]["name"])
            begin = node["start"] if start is None else start
        elif kind in _LOOPS:
            loop = _LoopAround(node, labels, node["start"] if start is None else start, loop)
            found.append(loop)
        elif kind == "ContinueStatement":
            _note(node, loop)
        waiting += [(each, loop, below, begin) for each in children(node)]
    labels_left = (name for name in map("${}".format, _numbers()) if name not in taken)
    used = set(_NAMES.findall(source))
    names_left = (name for name in map("$loop{}".format, _numbers()) if name not in used)
    made = LoopEdits()
    for loop in found:
        if loop.is_wrong:
            made.edits.extend(_edits_of(loop, next(labels_left)))
        if loop.node.get("await") and not _yields(loop.node["left"]):
            _close(loop, next(names_left), made)
    made.last.reverse()  # inner loops are found behind outer ones, and end before them
    return made


def _yields(head: Node) -> bool:
    """Whether the variables of a loop are set with `yield`: QuickJS takes none there in a `try`."""
    found = False

    def enter(node: Node) -> bool:
        nonlocal found
        found = found or node["type"] == "YieldExpression"
        return not found and node["type"] not in _FUNCTIONS

    walk(head, enter)
    return found


def _close(loop: _LoopAround, name: str, made: LoopEdits) -> None:
    """Wait behind a `for await` for the end of its iterator."""
    start, end, over = loop.start, loop.node["end"], loop.node["right"]
    made.edits.append((start, start, f"{{ const {name} = $mport.asyncLoop(); try {{ "))
    made.edits.append((over["start"], over["start"], f" {name}.over("))  # as in `of[1, 2]`
    made.last.append((over["end"], over["end"], ")"))
    waiting = f"if ({name}.isClosing()) await {name}.closed();"
    caught = f"catch ({name}Error) {{ {name}.failed(); throw {name}Error; }}"
    made.last.append((end, end, f" }} {caught} finally {{ {waiting} }} }}"))


def _numbers() -> Iterator[int]:
    number = 0
    while True:
        number += 1
        yield number


def _capture(loop: _LoopAround | None) -> None:
    while loop is not None and not loop.is_captured:
        loop.capture()
        loop = loop.outer


def _note(statement: Node, loop: _LoopAround | None) -> None:
    label = (statement.get("label") or {}).get("name")
    while loop is not None and label is not None and label not in loop.labels:
        loop = loop.outer
    if loop is not None:
        loop.continues.append(statement)


def _edits_of(loop: _LoopAround, name: str) -> Iterator[Edit]:
    begin = loop.node["body"]["start"]
    yield begin, begin, f"{name}:"
    for statement in loop.continues:
        start, label = statement["start"], statement.get("label")
        end = label["end"] if label else start + _KEYWORD
        yield start, end, f"break {name}".ljust(end - start)
