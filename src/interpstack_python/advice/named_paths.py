"""What the code of a cell names in some lines: paths that begin with a variable of the guest.

The variable of a `for`, of a comprehension, and the parameter of a lambda that sorts or maps stand
for any element of a list. What else is local has gone with its function.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from interpstack.guests import cut

__all__ = ["Lines", "Path", "Read", "imported", "names_in", "suspects", "tree_of"]

#: A name, then for each step: "[key" for an item, ".name" for an attribute, an index, and `None`
#: for any element of a list.
Path = tuple[str | int | None, ...]

#: Characters of a cell that is read again, and nodes that are looked at.
_CHARS: Final = 50_000
_NODES: Final = 50_000
#: Steps of a path, and suspects of an error.
_STEPS: Final = 30
_MOST: Final = 12
#: Functions that pass elements to a lambda.
_PASSING: Final = frozenset({"filter", "map", "max", "min", "sorted"})
#: Functions whose answers have the same elements.
_KEEPING: Final = frozenset({"filter", "list", "reversed", "sorted", "tuple"})
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@attrs.frozen
class Lines:
    """The lines of an error, from 1."""

    first: int
    last: int


@attrs.frozen(eq=False)
class Read:
    """A part of a cell that fails if what it names is not there.

    Attributes:
        path: What it names; empty for what cannot be led back to a variable of the guest.
        owner: The text of what the last step is looked for in.
        name: The last step.
        called: The name of the function whose answer that is, as in `tools.search`.
    """

    path: Path
    owner: str
    name: str | int | None
    called: str


def tree_of(source: str) -> ast.Module | None:
    """The tree of a cell; `None` if it does not parse, or is too large."""
    if len(source) > _CHARS:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def suspects(tree: ast.Module, source: str, lines: Lines) -> Sequence[Read]:
    """The items and attributes that these lines read, outer ones after what they read of."""
    search = _ReadSearch(source, lines)
    search.look(tree)
    return search.found[:_MOST]


def names_in(tree: ast.Module, lines: Lines) -> Sequence[str]:
    """The names that these lines read."""
    return [
        node.id
        for node in _nodes(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and _touches(node, lines)
    ]


def imported(tree: ast.Module, lines: Lines) -> Sequence[str]:
    """The modules that these lines import."""
    found: list[str] = []
    for node in _nodes(tree):
        if isinstance(node, ast.Import) and _touches(node, lines):
            found += (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and _touches(node, lines):
            found.append(node.module or "")
    return found


def _nodes(tree: ast.Module) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = [tree]
    for _ in range(_NODES):
        if not waiting:
            return
        node = waiting.pop()
        yield node
        waiting += reversed(list(ast.iter_child_nodes(node)))


def _touches(node: ast.AST, lines: Lines) -> bool:
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    return bool(first <= lines.last and (last or first) >= lines.first)


class _ReadScope:
    """Names of a function, a comprehension or a loop; empty paths for unknown ones."""

    def __init__(self, outer: _ReadScope | None) -> None:
        self.outer = outer
        self.names: dict[str, Path] = {}

    def path(self, name: str) -> Path | None:
        scope: _ReadScope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


class _ReadSearch:
    """Collects the suspects of one cell."""

    def __init__(self, source: str, lines: Lines) -> None:
        self._source = source
        self._lines = lines
        self.found: list[Read] = []
        self._given: dict[int, Path] = {}  # parameters of lambdas

    def look(self, tree: ast.Module) -> None:
        waiting: list[tuple[ast.AST, _ReadScope]] = [(tree, _ReadScope(None))]
        for _ in range(_NODES):
            if not waiting:
                break
            node, scope = waiting.pop()
            inner = self._enter(node, scope)
            if isinstance(node, (ast.Attribute, ast.Subscript)) and _touches(node, self._lines):
                self._note(node, inner)
            below = [(one, inner) for one in ast.iter_child_nodes(node)]
            waiting += reversed(below)
        self.found.reverse()  # what is read first comes first

    def _enter(self, node: ast.AST, scope: _ReadScope) -> _ReadScope:
        if isinstance(node, _SCOPES):
            inner = _ReadScope(scope)
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            for one in (*every, node.args.vararg, node.args.kwarg):
                if one is not None:
                    inner.names[one.arg] = ()
            if id(node) in self._given and every:
                inner.names[every[0].arg] = self._given[id(node)]
            if not isinstance(node, ast.Lambda):
                for one_inside in ast.walk(node):
                    if isinstance(one_inside, ast.Name) and isinstance(one_inside.ctx, ast.Store):
                        inner.names.setdefault(one_inside.id, ())
            return inner
        if isinstance(node, _COMPREHENSIONS):
            inner = _ReadScope(scope)
            for each in node.generators:
                self._bind(each.target, each.iter, inner)
            return inner
        if isinstance(node, (ast.For, ast.AsyncFor)):
            inner = _ReadScope(scope)
            self._bind(node.target, node.iter, inner)
            return inner
        if isinstance(node, ast.Call):
            self._note_lambda(node, scope)
        return scope

    def _bind(self, target: ast.expr, elements: ast.expr, scope: _ReadScope) -> None:
        path = self._elements(elements, scope)
        if isinstance(target, ast.Name):
            scope.names[target.id] = (*path, None) if path else ()
            return
        for one in ast.walk(target):
            if isinstance(one, ast.Name):
                scope.names[one.id] = ()
        if not isinstance(target, ast.Tuple) or not isinstance(elements, ast.Call):
            return
        is_enumerated = isinstance(elements.func, ast.Name) and elements.func.id == "enumerate"
        last = target.elts[-1]
        if is_enumerated and len(target.elts) == 2 and elements.args and isinstance(last, ast.Name):
            path = self._elements(elements.args[0], scope)
            scope.names[last.id] = (*path, None) if path else ()

    def _note_lambda(self, call: ast.Call, scope: _ReadScope) -> None:
        given = [*call.args, *(each.value for each in call.keywords)]
        lambdas = [one for one in given if isinstance(one, ast.Lambda)]
        elements: ast.expr | None = None
        if isinstance(call.func, ast.Name) and call.func.id in _PASSING:
            elements = next((one for one in call.args if not isinstance(one, ast.Lambda)), None)
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "sort":
            elements = call.func.value
        path = () if elements is None or not lambdas else self._elements(elements, scope)
        if path:
            self._given[id(lambdas[0])] = (*path, None)

    def _elements(self, node: ast.expr, scope: _ReadScope) -> Path:
        """The path of the list whose elements an expression has."""
        for _ in range(_STEPS):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                break
            if node.func.id not in _KEEPING or not node.args:
                break
            node = node.args[-1] if node.func.id == "filter" else node.args[0]
        return self._path(node, scope)

    def _path(self, node: ast.expr, scope: _ReadScope) -> Path:
        steps: list[str | int | None] = []
        while len(steps) <= _STEPS:
            if isinstance(node, ast.Name):
                known = scope.path(node.id)
                if known is not None:
                    return (*known, *reversed(steps)) if known else ()
                return (node.id, *reversed(steps))
            if isinstance(node, ast.Attribute):
                steps.append(f".{node.attr}")
                node = node.value
            elif isinstance(node, ast.Subscript):
                step = _step(node)
                if step == "":
                    return ()
                steps.append(step)
                node = node.value
            elif isinstance(node, ast.Call) and (key := _got(node)) is not None:
                steps.append(f"[{key}")
                node = node.func.value  # type: ignore[attr-defined]
            else:
                return ()
        return ()

    def _note(self, node: ast.Attribute | ast.Subscript, scope: _ReadScope) -> None:
        if not isinstance(node.ctx, ast.Load) and isinstance(node, ast.Subscript):
            return
        step = f".{node.attr}" if isinstance(node, ast.Attribute) else _step(node)
        owner = ast.get_source_segment(self._source, node.value) or ""
        called = _dotted(node.value.func) if isinstance(node.value, ast.Call) else ""
        self.found.append(Read(self._path(node, scope), cut(owner, 80), step, called))


def _dotted(node: ast.expr) -> str:
    """A function as it is called: `tools.search`; empty for other expressions."""
    names: list[str] = []
    while isinstance(node, ast.Attribute) and len(names) < _STEPS:
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def _step(node: ast.Subscript) -> str | int | None:
    """The key or the index of an item; `None` if the tree does not tell it, "" for a slice."""
    key = node.slice
    if isinstance(key, ast.Slice):
        return ""
    if isinstance(key, ast.UnaryOp) and isinstance(key.op, ast.USub):
        inner = key.operand.value if isinstance(key.operand, ast.Constant) else None
        return -inner if type(inner) is int else None
    if not isinstance(key, ast.Constant):
        return None
    if isinstance(key.value, str):
        return f"[{key.value}"
    return key.value if type(key.value) is int else ""


def _got(call: ast.Call) -> str | None:
    """The key of `row.get("key")`; `None` for other calls."""
    is_get = isinstance(call.func, ast.Attribute) and call.func.attr == "get"
    if not is_get or len(call.args) != 1 or call.keywords:
        return None
    key = call.args[0]
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
