"""`continue` in loops whose variables are captured, in a form that QuickJS runs correctly.

In `for (let i = 0; …; …)`, each round has variables of its own. QuickJS makes no new ones after a
`continue`: functions of all rounds then share one variable, and see its last value. So a `continue`
of such a loop becomes a `break` out of its body, which means the same, on every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import attrs

from interpstack_javascript.edits import Edit
from interpstack_javascript.parser.parsing import Node, children

__all__ = ["loop_edits"]

_FUNCTIONS: Final = frozenset(
    {"ArrowFunctionExpression", "FunctionDeclaration", "FunctionExpression", "StaticBlock"}
    | {"AccessorProperty", "PropertyDefinition"}
)
_LOOPS: Final = frozenset(
    {"DoWhileStatement", "ForInStatement", "ForOfStatement", "ForStatement", "WhileStatement"}
)
_KEYWORD: Final = len("continue")
#: Nodes between two questions to the clock.
_PER_PAUSE: Final = 2048


@attrs.define(eq=False)
class _LoopAround:
    """A loop around a node.

    Attributes:
        node: The loop.
        labels: Its labels.
        outer: The loop around it in the same function.
        is_captured: Whether a function is made in it.
        continues: The statements that continue it.
    """

    node: Node
    labels: tuple[str, ...]
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


def loop_edits(program: Node, pause: Callable[[], None] = lambda: None) -> Iterator[Edit]:
    """The edits of a source in which loops with captured variables are continued.

    Args:
        program: The tree of the source.
        pause: Called at intervals; an exception from it ends the work.
    """
    found: list[_LoopAround] = []
    taken: set[str] = set()
    waiting: list[tuple[Node, _LoopAround | None, tuple[str, ...]]] = [(program, None, ())]
    count = 0
    while waiting:
        node, loop, labels = waiting.pop()
        count += 1
        if count % _PER_PAUSE == 0:
            pause()
        kind, below = node["type"], tuple[str, ...]()
        if kind in _FUNCTIONS:
            _capture(loop)
            loop = None
        elif kind == "LabeledStatement":
            taken.add(node["label"]["name"])
            below = (*labels, node["label"]["name"])
        elif kind in _LOOPS:
            loop = _LoopAround(node, labels, loop)
            found.append(loop)
        elif kind == "ContinueStatement":
            _note(node, loop)
        waiting += [(each, loop, below) for each in children(node)]
    names = (name for name in map("${}".format, _numbers()) if name not in taken)
    for loop in found:
        if loop.is_wrong:
            yield from _edits_of(loop, next(names))


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
