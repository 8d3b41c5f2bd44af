"""What the code of a cell names at a place: paths that begin with a variable of the guest.

The names of a function's parameters and of a block's variables are led back to paths, where the
tree says what they stand for: the parameter of a callback of an array's method, and the variable of
a `for` over an array, stand for any element of it. What else is local has gone with its function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from interpstack.guests import cut
from interpstack_javascript.parser.expressions import (
    UNNAMED,
    WRAPPERS,
    key_name,
    member_name,
    unwrapped,
)
from interpstack_javascript.parser.parsing import CLASSES, FUNCTIONS, Node, children, text_of

__all__ = ["PASSING", "FaultPlace", "Path", "Suspect", "last_path", "suspects"]

#: A name, then names, indices, and `None` for any element of an array.
Path = tuple[str | int | None, ...]

#: Nodes that are looked at in one cell.
_NODES: Final = 50_000
#: Steps of a path, and names that stand for one another in a row.
_STEPS: Final = 30
#: Code units between the place of an error and a suspect.
_NEAR: Final = 2000
#: Suspects of an error.
_MOST: Final = 12
#: Methods of arrays that pass elements to a function, and which of its parameters they are.
PASSING: Final = {
    **dict.fromkeys(("every", "filter", "find", "findIndex", "findLast", "findLastIndex"), (0,)),
    **dict.fromkeys(("flatMap", "forEach", "map", "some"), (0,)),
    **dict.fromkeys(("reduce", "reduceRight"), (1,)),
    **dict.fromkeys(("sort", "toSorted"), (0, 1)),
}
#: Methods whose answers have the same elements.
_KEEPING: Final = frozenset(
    {"concat", "filter", "reverse", "slice", "sort", "toReversed", "toSorted", "values"}
)
#: Built-ins whose functions throw for an argument that is `undefined`.
_DEMANDING: Final = frozenset({"Array", "Map", "Object", "Promise", "Reflect", "Set"})
#: Nodes whose parts may not run though the node does.
_BRANCHES: Final = FUNCTIONS | {
    "ClassBody",
    "ConditionalExpression",
    "ForInStatement",
    "ForOfStatement",
    "ForStatement",
    "IfStatement",
    "LogicalExpression",
    "SwitchStatement",
    "TryStatement",
    "WhileStatement",
}


@attrs.frozen
class FaultPlace:
    """Where an error came about, in UTF-16 code units of the cell.

    Attributes:
        start: Where its line begins; 0 if the line is not known.
        end: Where its line ends.
        at: The place in the line; `None` for any.
        has_line: Whether the line is known.
    """

    start: int
    end: int
    at: int | None
    has_line: bool = True


@attrs.frozen(eq=False)
class Suspect:
    """A part of a cell that fails if what it names is not there.

    Attributes:
        use: `read` needs a value that is neither `undefined` nor `null`, `call` a function,
            `iterate` something with elements, and `name` a variable.
        path: What it names; empty for what cannot be led back to a variable of the guest.
        source: Where its value came from, for a variable of the cell; empty if it is not known.
        text: Its text, in one line.
        mark: Where engines say that it failed.
        member: The name of what is read of it; empty if the tree does not tell.
        is_member: Whether it is used by a member.
        is_called: Whether that member is called at the same place.
        span: Where the whole begins and ends.
    """

    use: str
    path: Path
    source: Path
    text: str
    mark: int
    member: str
    is_member: bool
    is_called: bool
    span: tuple[int, int]


class _PathScope:
    """Names of a part of the cell, and the paths that they stand for; empty for unknown ones."""

    def __init__(self, outer: _PathScope | None, *, is_function: bool = False) -> None:
        self.outer = outer
        self.in_function: bool = is_function or (outer is not None and outer.in_function)
        self.names: dict[str, Path] = {}

    def path(self, name: str) -> Path | None:
        """What a name stands for; `None` for a variable of the guest."""
        scope: _PathScope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


def suspects(program: Node, units: str, place: FaultPlace) -> Sequence[Suspect]:
    """The parts of a cell that may have failed at a place, the most likely ones first.

    Args:
        program: The tree of the cell.
        units: Its source, a character for each UTF-16 code unit.
        place: Where it failed.
    """
    search = _SuspectSearch(program, units, place)
    search.look()
    at = place.at
    if at is None:  # what is read first comes first
        return sorted(search.found, key=lambda one: one.mark)[:_MOST]
    if any(start <= at <= end for start, end in search.thrown):
        return ()  # code made the error
    near = [one for one in search.found if abs(one.mark - at) <= _NEAR]
    near.sort(key=lambda one: (not one.span[0] <= at <= one.span[1], abs(one.mark - at)))
    return near[:_MOST]


def last_path(program: Node, units: str) -> tuple[Path, bool]:
    """What the last statement of a cell reads, if that is a path and nothing else.

    Returns:
        The path, which is empty for anything else, and whether it is a list of what each element
        has, as in `rows.map((row) => row.title)`.
    """
    search = _SuspectSearch(program, units, FaultPlace(0, 0, None))
    search.note_top()
    node = last_value(program)
    if node is None:
        return (), False
    if node["type"] == "CallExpression":
        return search.mapped(node), True
    path = search.path_of(node, search.top)
    if len(path) == 1:
        path = search.sources.get(str(path[0]), ())
    return (path if len(path) > 1 and None not in path else ()), False


def last_value(program: Node) -> Node | None:
    """The expression whose value is that of a cell; `None` if its last statement has none."""
    body: list[Node] = program["body"]
    node = body[-1] if body else None
    if node is not None and node["type"] == "VariableDeclaration":
        node = node["declarations"][-1]
        node = node.get("init") if node["id"]["type"] == "Identifier" else None
    elif node is not None and node["type"] == "ReturnStatement":
        node = node.get("argument")
    else:
        node = node["expression"] if node and node["type"] == "ExpressionStatement" else None
    return None if node is None else unwrapped(node)


class _SuspectSearch:
    """Collects the suspects of one cell."""

    def __init__(self, program: Node, units: str, place: FaultPlace) -> None:
        self._program = program
        self._units = units
        self._place = place
        self.top = _PathScope(None)
        self.found: list[Suspect] = []
        self.thrown: list[tuple[int, int]] = []  # where code makes an error that it throws
        self.sources: dict[str, Path] = {}  # of variables of the cell
        self._declared: set[str] = set()
        self._given: dict[int, dict[int, Path]] = {}  # parameters of callbacks, by function

    def note_top(self) -> None:
        """Note what the variables of the cell stand for, and its other names."""
        for statement in self._program["body"]:
            if statement["type"] == "VariableDeclaration":
                for each in statement["declarations"]:
                    init = each.get("init")
                    path = () if init is None else self.path_of(init, self.top)
                    self._bind(each["id"], path, self.sources)
            elif statement.get("id") and "name" in statement["id"]:
                self._declared.add(statement["id"]["name"])
            for each in statement.get("specifiers") or ():
                if each.get("local"):
                    self._declared.add(each["local"]["name"])
        self._declared.update(self.sources)

    def look(self) -> None:
        """Visit the nodes of the cell, without recursion."""
        self.note_top()
        waiting: list[tuple[Node, _PathScope, bool]] = [
            (one, self.top, True) for one in reversed(self._program["body"])
        ]
        for _ in range(_NODES):
            if not waiting:
                return
            node, scope, is_sure = waiting.pop()
            place = self._place
            if place.has_line and not (node["start"] <= place.end and node["end"] >= place.start):
                continue
            inner = self._enter(node, scope)
            if place.has_line or is_sure:
                self._note(node, inner)
            is_sure = is_sure and node["type"] not in _BRANCHES
            below = [(one, inner, is_sure) for one in _parts(node)]
            below.reverse()
            waiting += below

    # -- names -----------------------------------------------------------------------------

    def _enter(self, node: Node, scope: _PathScope) -> _PathScope:
        kind = node["type"]
        if kind in FUNCTIONS:
            return self._function(node, scope)
        if kind in ("BlockStatement", "StaticBlock"):
            inner = _PathScope(scope)
            for statement in node["body"]:
                self._declare(statement, inner)
            return inner
        if kind in ("ForOfStatement", "ForInStatement", "ForStatement"):
            return self._loop(node, scope)
        if kind == "CatchClause" and node.get("param"):
            inner = _PathScope(scope)
            self._bind(node["param"], (), inner.names)
            return inner
        if kind == "CallExpression":
            self._note_callback(node, scope)
        return scope

    def _declare(self, statement: Node, scope: _PathScope) -> None:
        if statement["type"] == "VariableDeclaration":
            if statement["kind"] == "var" and not scope.in_function:
                return  # a variable of the cell
            for each in statement["declarations"]:
                init = each.get("init")
                path = () if init is None else self.path_of(init, scope)
                self._bind(each["id"], path, scope.names)
        elif statement["type"] in ("ClassDeclaration", "FunctionDeclaration") and statement["id"]:
            scope.names[statement["id"]["name"]] = ()

    def _function(self, node: Node, scope: _PathScope) -> _PathScope:
        inner = _PathScope(scope, is_function=True)
        if node["type"] == "FunctionExpression" and node.get("id"):
            inner.names[node["id"]["name"]] = ()
        given = self._given.pop(node["start"], {})
        for index, parameter in enumerate(node["params"]):
            self._bind(parameter, given.get(index, ()), inner.names)
        return inner

    def _loop(self, node: Node, scope: _PathScope) -> _PathScope:
        inner = _PathScope(scope)
        head = node.get("init") if node["type"] == "ForStatement" else node["left"]
        path: Path = ()
        if node["type"] == "ForOfStatement":
            elements = self._elements(node["right"], scope)
            path = (*elements, None) if elements else ()
        if head is not None and head["type"] == "VariableDeclaration":
            for each in head["declarations"]:
                self._bind(each["id"], path, inner.names)
        return inner

    def _note_callback(self, node: Node, scope: _PathScope) -> None:
        """Note which parameters of a callback stand for elements."""
        callee, given = unwrapped(node["callee"]), node["arguments"]
        if callee["type"] != "MemberExpression" or callee["computed"]:
            return
        name = callee["property"].get("name", "")
        if name in PASSING and given:
            elements, function, places = callee["object"], given[0], PASSING[name]
        elif name == "from" and len(given) == 2 and callee["object"].get("name") == "Array":
            elements, function, places = given[0], given[1], (0,)
        else:
            return
        if function["type"] not in FUNCTIONS:
            return
        path = self._elements(elements, scope)
        if path:
            self._given[function["start"]] = dict.fromkeys(places, (*path, None))

    def _bind(self, pattern: Node | None, path: Path, names: dict[str, Path]) -> None:
        waiting: list[tuple[Node | None, Path]] = [(pattern, path)]
        while waiting:
            node, at = waiting.pop()
            if node is None:
                continue
            kind = node["type"]
            if kind == "Identifier":
                names[node["name"]] = at if len(at) <= _STEPS else ()
            elif kind == "ObjectPattern":
                for each in node["properties"]:
                    key = key_name(each) if each["type"] == "Property" else None
                    target = each["value"] if each["type"] == "Property" else each["argument"]
                    waiting.append((target, (*at, key) if at and key is not None else ()))
            elif kind == "ArrayPattern":
                for index, one in enumerate(node["elements"]):
                    waiting.append((one, (*at, index) if at else ()))
            elif kind == "AssignmentPattern":
                waiting.append((node["left"], ()))
            elif kind in ("RestElement", "TSParameterProperty"):
                waiting.append((node.get("argument") or node.get("parameter"), ()))

    # -- paths -----------------------------------------------------------------------------

    def path_of(self, node: Node, scope: _PathScope) -> Path:
        """The path of an expression; empty if it is none, or begins with an unknown variable."""
        steps: list[str | int | None] = []
        while len(steps) <= _STEPS:
            node = unwrapped(node)
            kind = node["type"]
            if kind == "Identifier":
                known = scope.path(node["name"])
                if known is not None:
                    return (*known, *reversed(steps)) if known else ()
                return (node["name"], *reversed(steps))
            if kind == "MemberExpression":
                step = member_name(node)
                if step is UNNAMED:
                    return ()
                steps.append(step)
                node = node["object"]
            elif kind == "CallExpression" and (index := _index_at(node)) is not None:
                steps.append(index)
                node = unwrapped(node["callee"])["object"]
            else:
                return ()
        return ()

    def mapped(self, call: Node) -> Path:
        """The path of what `rows.map((row) => row.title)` lists; empty for other calls."""
        callee, given = unwrapped(call["callee"]), call["arguments"]
        if callee["type"] != "MemberExpression" or callee["computed"] or len(given) != 1:
            return ()
        function = given[0]
        if callee["property"].get("name") != "map" or function["type"] not in FUNCTIONS:
            return ()
        self._note_callback(call, self.top)
        scope, body = self._function(function, self.top), function["body"]
        if body["type"] == "BlockStatement":
            statement = body["body"][0] if len(body["body"]) == 1 else {}
            if statement.get("type") != "ReturnStatement":
                return ()
            body = statement.get("argument")
        path = () if body is None else self.path_of(body, scope)
        return path if path.count(None) == 1 and path[-1] is not None else ()

    def _elements(self, node: Node, scope: _PathScope) -> Path:
        """The path of the array whose elements an expression has."""
        for _ in range(_STEPS):
            node = unwrapped(node)
            if node["type"] != "CallExpression":
                break
            callee = unwrapped(node["callee"])
            is_method = callee["type"] == "MemberExpression" and not callee["computed"]
            if not is_method or callee["property"].get("name") not in _KEEPING:
                break
            self._note_callback(node, scope)
            node = callee["object"]
        return self.path_of(node, scope)

    # -- suspects --------------------------------------------------------------------------

    def _note(self, node: Node, scope: _PathScope) -> None:
        kind = node["type"]
        if kind == "MemberExpression" and not node["optional"]:
            self._add("read", node["object"], scope, _mark(node), node)
        elif kind in ("CallExpression", "NewExpression") and not node.get("optional"):
            self._note_call(node, scope)
        elif kind == "SpreadElement" or (kind == "ForOfStatement" and not node.get("await")):
            elements = node["argument"] if kind == "SpreadElement" else node["right"]
            self._add("iterate", elements, scope, _mark(elements), node)
        elif kind == "VariableDeclarator" and node.get("init"):
            self._note_pattern(node["id"], node["init"], scope)
        elif kind == "ThrowStatement":
            made = unwrapped(node["argument"])
            if made["type"] in ("CallExpression", "NewExpression"):
                self.thrown.append((made["start"], made["callee"]["end"]))
        elif kind == "Identifier":
            known = scope.path(node["name"])
            if known is None and node["name"] not in self._declared:
                self._add("name", node, scope, node["start"], node)

    def _note_call(self, node: Node, scope: _PathScope) -> None:
        callee = unwrapped(node["callee"])
        if callee["type"] in ("Identifier", "MemberExpression"):
            self._add("call", callee, scope, _mark(callee), node)
        root = callee
        while root["type"] == "MemberExpression":
            root = unwrapped(root["object"])
        if root.get("name") in _DEMANDING:
            for each in node["arguments"][:2]:
                if unwrapped(each)["type"] in ("Identifier", "MemberExpression"):
                    self._add("read", each, scope, _mark(callee), node)

    def _note_pattern(self, pattern: Node, init: Node, scope: _PathScope) -> None:
        """What a destructuring reads: the value, and in it what is taken apart, too."""
        use = {"ArrayPattern": "iterate", "ObjectPattern": "read"}.get(pattern["type"])
        if use is None:
            return
        self._add(use, init, scope, _mark(init), pattern)
        path, waiting = self.path_of(init, scope), [pattern]
        if not path or pattern["type"] != "ObjectPattern":
            return
        paths = [path]
        while waiting:
            node, at = waiting.pop(), paths.pop()
            for each in node["properties"]:
                key = key_name(each) if each["type"] == "Property" else None
                if key is None or each["value"]["type"] != "ObjectPattern":
                    continue
                inner = (*at, key)
                span = each["start"], each["end"]
                self.found.append(
                    Suspect("read", inner, (), "", each["value"]["start"], "", False, False, span)
                )
                if len(inner) < _STEPS:
                    waiting.append(each["value"])
                    paths.append(inner)

    def _add(self, use: str, node: Node, scope: _PathScope, mark: int, whole: Node) -> None:
        node = unwrapped(node)
        path = self.path_of(node, scope)
        source: Path = ()
        if path and path[0] in self.sources and scope.path(str(path[0])) is None:
            known = self.sources[str(path[0])]
            source = (*known, *path[1:]) if len(known) > 1 else ()
        text = cut(text_of(self._units[node["start"] : min(node["end"], node["start"] + 400)]), 80)
        member, is_called, is_member = "", False, whole["type"] == "MemberExpression"
        if is_member:
            step = member_name(whole)
            if step is not None and step is not UNNAMED:
                member = str(step)
            after = self._units[whole["end"] : whole["end"] + 40].lstrip()
            is_called = after.startswith(("(", "`"))
        span = whole["start"], whole["end"]
        self.found.append(
            Suspect(use, path, source, text, mark, member, is_member, is_called, span)
        )


def _parts(node: Node) -> Iterator[Node]:
    """The nodes below one, but for names that are no variables."""
    kind = node["type"]
    named = node.get("property" if kind == "MemberExpression" else "key")
    hides = kind in (
        "MemberExpression",
        "MethodDefinition",
        "Property",
        "PropertyDefinition",
    ) and not node.get("computed")
    if kind in ("LabeledStatement", "BreakStatement", "ContinueStatement"):
        hides, named = True, node.get("label")
    if kind.startswith(("Import", "Export", "TS")) and kind not in WRAPPERS | {"ImportExpression"}:
        return
    ids = [node.get("id"), *(node.get("params") or ())] if kind in FUNCTIONS else []
    if kind in CLASSES:
        ids = [node.get("id")]
    elif kind == "VariableDeclarator":
        ids = [node["id"]]
    elif kind == "CatchClause":
        ids = [node.get("param")]
    elif kind == "Identifier":
        return
    elif kind == "AssignmentExpression" and node["operator"] == "=":
        ids = [node["left"]] if node["left"]["type"] == "Identifier" else []
    for one in children(node):
        if (hides and one is named) or any(one is each for each in ids):
            continue
        yield one


def _index_at(call: Node) -> int | None:
    """The index of `rows.at(0)`; `None` for other calls."""
    callee, given = unwrapped(call["callee"]), call["arguments"]
    if callee["type"] != "MemberExpression" or callee["computed"] or len(given) != 1:
        return None
    value = given[0].get("value") if given[0]["type"] == "Literal" else None
    if not isinstance(value, (int, float)) or callee["property"].get("name") != "at":
        return None
    return int(value) if value == value // 1 and 0 <= value < 2**32 else None


def _mark(node: Node) -> int:
    node = unwrapped(node)
    if node["type"] != "MemberExpression":
        return int(node["start"])
    return int(node["object"]["end"] if node["computed"] else node["property"]["start"])
