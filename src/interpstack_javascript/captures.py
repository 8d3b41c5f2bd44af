"""Functions in default values of parameters that QuickJS would run in another way.

In `(a, b = () => a) => { a = 5; return b(); }`, the body and the default share the parameter `a`.
QuickJS gives the body a copy of its own, so `b` would see the value that `a` had when the call
began. Such functions are refused: an error names the parameter, in place of a wrong value.

Tried before: to make the parameters variables of the body, which changed what names in the body
mean, `length` and `toString()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import attrs

from interpstack_javascript.parser.expressions import CASTS
from interpstack_javascript.parser.parsing import CLASSES, FUNCTIONS, Node, children, walk

__all__ = ["SharedParameter", "has_default", "shared_parameter"]

#: Parts of classes whose code runs later, as that of functions does.
_LATER: Final = frozenset({"AccessorProperty", "PropertyDefinition", "StaticBlock"})
_BLOCKS: Final = frozenset(
    {"BlockStatement", "CatchClause", "ForInStatement", "ForOfStatement", "ForStatement"}
    | {"SwitchStatement"}
)
#: Nodes of TypeScript that hold an expression; the others hold types.
_TYPED: Final = CASTS | {"TSInstantiationExpression", "TSNonNullExpression"}
_HEADS: Final = frozenset({"ForInStatement", "ForOfStatement"})
_LABELLED: Final = frozenset({"BreakStatement", "ContinueStatement", "LabeledStatement"})
_MEMBERS: Final = frozenset(
    {"AccessorProperty", "MethodDefinition", "Property", "PropertyDefinition"}
)
#: Nodes between two questions to the clock.
_PER_PAUSE: Final = 2048
#: Scopes that are looked at in a source of no length, and for each of its code units.
_STEPS, _STEPS_A_UNIT = 100_000, 16


@attrs.frozen
class SharedParameter:
    """A parameter that the body of a function shares with a function in a default value.

    Attributes:
        message: What is wrong, and what to write in its place.
        start: The place of the parameter's name in the body, in UTF-16 code units.
    """

    message: str
    start: int


def has_default(function: Node) -> bool:
    """Whether a parameter of a function may have a default value."""
    return any(each["type"] != "Identifier" for each in function["params"])


def shared_parameter(
    program: Node, functions: list[Node], length: int, pause: Callable[[], None] = lambda: None
) -> SharedParameter | None:
    """The first parameter of which QuickJS would make two; `None` if there is none.

    Args:
        program: The tree of a source.
        functions: Its functions with default values.
        length: The length of the source in UTF-16 code units.
        pause: Called at intervals; an exception from it ends the work.
    """
    if not any(_has_function(function, pause) for function in functions):
        return None
    names = _UsedNames(pause)
    names.look(program)
    return names.shared(_STEPS + _STEPS_A_UNIT * length)


def _has_function(function: Node, pause: Callable[[], None]) -> bool:
    """Whether a default value of a function has a function in it."""
    found, count = False, 0

    def enter(node: Node) -> bool:
        nonlocal found, count
        count += 1
        if count % _PER_PAUSE == 0:
            pause()
        found = found or node["type"] in FUNCTIONS or node["type"] in CLASSES
        return not found  # so a function in a default is looked at once, with its first parent

    for parameter in function["params"]:
        walk(parameter, enter)
    return found


@attrs.define(eq=False)
class _NameScope:
    """Names that a part of a source declares.

    Attributes:
        outer: The scope around it.
        names: The names.
        is_later: Whether its code runs later than the code around it, as that of functions does.
        parameters: For the body of a function: the scope of its parameters.
        uses: For parameters: how each is used, and by whom.
    """

    outer: _NameScope | None
    names: set[str] = attrs.Factory(set)
    is_later: bool = False
    parameters: _NameScope | None = None
    uses: dict[str, _ParameterUses] = attrs.Factory(dict)

    def declare_parameters(self) -> None:
        """Make the names parameters, whose uses are noted."""
        self.uses = {name: _ParameterUses() for name in sorted(self.names)}

    def of_var(self) -> _NameScope:
        """The scope in which `var` declares here."""
        scope = self
        while scope.outer is not None and scope.parameters is None and not scope.is_later:
            scope = scope.outer
        return scope


@attrs.define
class _ParameterUses:
    """How a parameter is used.

    Attributes:
        read: Where the body reads it.
        written: Where the body assigns to it.
        is_read: Whether a function in a default value reads it.
        is_written: Whether such a function assigns to it.
    """

    read: int | None = None
    written: int | None = None
    is_read: bool = False
    is_written: bool = False

    def note(self, start: int, *, writes: bool, in_body: bool, later: bool) -> None:
        """Note one use.

        Args:
            start: Its place.
            writes: Whether it assigns.
            in_body: Whether it is in the body.
            later: Whether it is in a function, which may run after the defaults were made.
        """
        if in_body:
            if writes and self.written is None:
                self.written = start
            elif not writes and self.read is None:
                self.read = start
        elif later and writes:
            self.is_written = True
        elif later:
            self.is_read = True

    @property
    def shared(self) -> int | None:
        """The place in the body that would use another copy than a default value does."""
        if self.written is not None and (self.is_read or self.is_written):
            return self.written
        return self.read if self.is_written else None


class _UsedNames:
    """The names in a source, with the scopes that they are used in.

    Args:
        pause: Called at intervals; an exception from it ends the work.
    """

    def __init__(self, pause: Callable[[], None]) -> None:
        self._pause = pause
        self._top = _NameScope(None)
        self._parameters: list[_NameScope] = []
        self._used: list[tuple[Node, _NameScope, bool]] = []
        self._waiting: list[tuple[Node, _NameScope]] = []

    def look(self, program: Node) -> None:
        """Look at all nodes, without recursion."""
        self._waiting = [(program, self._top)]
        count = 0
        while self._waiting:
            node, scope = self._waiting.pop()
            count += 1
            if count % _PER_PAUSE == 0:
                self._pause()
            self._enter(node, scope)

    def shared(self, most: int) -> SharedParameter | None:
        """The first parameter that is shared.

        Args:
            most: Scopes to look at, at most.
        """
        steps = 0
        for number, (node, scope, writes) in enumerate(self._used):
            if number % _PER_PAUSE == 0:
                self._pause()
            name, later, body = node["name"], False, None
            at: _NameScope | None = scope
            while at is not None and name not in at.names:
                steps += 1
                later, body = later or at.is_later, at.parameters
                at = at.outer
            if steps > most:
                return SharedParameter("Functions nest too deep in default values", node["start"])
            if at is None or name not in at.uses:
                continue
            at.uses[name].note(node["start"], writes=writes, in_body=body is at, later=later)
        for parameters in self._parameters:
            for name, uses in parameters.uses.items():
                if (start := uses.shared) is not None:
                    return SharedParameter(_message(name), start)
        return None

    def _enter(self, node: Node, scope: _NameScope) -> None:
        kind = node["type"]
        if kind == "Identifier":
            self._used.append((node, scope, False))
        elif kind in FUNCTIONS:
            self._function(node, scope)
        elif kind in CLASSES:
            self._class(node, scope)
        elif kind == "VariableDeclaration":
            target = scope.of_var() if node["kind"] == "var" else scope
            for each in node["declarations"]:
                self._bind(each["id"], scope, target)
                self._push(each.get("init"), scope)
        elif kind in ("AssignmentExpression", "UpdateExpression"):
            reads = kind == "UpdateExpression" or node["operator"] != "="
            self._assign(node.get("left") or node["argument"], scope, reads=reads)
            self._push(node.get("right"), scope)
        elif kind in _BLOCKS:
            self._block(node, _NameScope(scope))
        elif kind in _LATER:
            inner = _NameScope(scope, is_later=True)
            self._member(node, scope, inner)
        elif kind in _MEMBERS or kind == "MemberExpression":
            self._member(node, scope, scope)
        elif kind in _LABELLED:
            self._push(node.get("body"), scope)
        elif kind == "TSParameterProperty":
            self._push(node["parameter"], scope)
        elif kind in _TYPED:
            self._push(node["expression"], scope)
        elif not kind.startswith("TS") and kind != "MetaProperty":
            self._waiting += [(each, scope) for each in children(node)]

    def _push(self, node: Node | None, scope: _NameScope) -> None:
        if node is not None:
            self._waiting.append((node, scope))

    def _function(self, node: Node, scope: _NameScope) -> None:
        own = node.get("id")
        if own is not None and node["type"] == "FunctionDeclaration":
            scope.names.add(own["name"])
            around = scope.of_var()  # Annex B: not where a parameter has the name
            if around.parameters is None or own["name"] not in around.parameters.names:
                around.names.add(own["name"])
        elif own is not None:
            scope = _NameScope(scope, {own["name"]})
        parameters = _NameScope(scope, is_later=True)
        for each in node["params"]:
            self._bind(each, parameters, parameters)
        parameters.declare_parameters()
        self._parameters.append(parameters)
        body = _NameScope(parameters, parameters=parameters)
        if node["type"] != "ArrowFunctionExpression":
            parameters.names.add("arguments")
        found = node.get("body")
        if found is not None and found["type"] in ("BlockStatement", "FunctionBody"):
            self._waiting += [(each, body) for each in found["body"]]
        else:
            self._push(found, body)

    def _class(self, node: Node, scope: _NameScope) -> None:
        own = node.get("id")
        inner = _NameScope(scope)
        if own is not None:
            inner.names.add(own["name"])
            if node["type"] == "ClassDeclaration":
                scope.names.add(own["name"])
        self._push(node.get("superClass"), inner)
        for each in (node["body"], *node.get("decorators", ())):
            self._push(each, inner)

    def _block(self, node: Node, inner: _NameScope) -> None:
        if node["type"] == "CatchClause" and node.get("param") is not None:
            self._bind(node["param"], inner, inner)
            self._push(node["body"], inner)
            return
        left = node.get("left") if node["type"] in _HEADS else None
        if left is not None and left["type"] != "VariableDeclaration":
            self._assign(left, inner, reads=False)
        self._waiting += [
            (each, inner)
            for each in children(node)
            if each is not left or each["type"] == "VariableDeclaration"
        ]

    def _member(self, node: Node, scope: _NameScope, inner: _NameScope) -> None:
        """A member of an object or of a class: its name is a name only in brackets."""
        name = node.get("property") or node.get("key")
        for each in children(node):
            if each is not name:
                self._push(each, inner)
            elif node.get("computed"):
                self._push(each, scope)

    def _bind(self, pattern: Node, scope: _NameScope, target: _NameScope) -> None:
        """Declare the names of a pattern, and look at its default values and computed names."""
        for name in self._targets(pattern, scope):
            if name["type"] == "Identifier":
                target.names.add(name["name"])

    def _assign(self, pattern: Node, scope: _NameScope, *, reads: bool) -> None:
        """Note the names that a pattern assigns to, and look at the rest of it."""
        for target in self._targets(pattern, scope):
            if target["type"] != "Identifier":
                self._push(target, scope)
                continue
            self._used.append((target, scope, True))
            if reads:
                self._used.append((target, scope, False))

    def _targets(self, pattern: Node, scope: _NameScope) -> Iterator[Node]:
        """What a pattern binds or assigns to; its default values and computed names wait."""
        patterns: list[Node | None] = [pattern]
        while patterns:
            node = patterns.pop()
            kind = "" if node is None else node["type"]
            if node is None:  # a hole in an array
                continue
            if kind == "ArrayPattern":
                patterns += node["elements"]
            elif kind == "ObjectPattern":
                patterns += node["properties"]
            elif kind == "Property":
                patterns.append(node["value"])
                if node.get("computed"):
                    self._push(node["key"], scope)
            elif kind == "AssignmentPattern":
                patterns.append(node["left"])
                self._push(node["right"], scope)
            elif kind in ("RestElement", "ParenthesizedExpression", "TSParameterProperty"):
                patterns.append(
                    node.get("argument") or node.get("expression") or node.get("parameter")
                )
            elif kind in _TYPED:
                patterns.append(node["expression"])
            else:
                yield node


def _message(name: str) -> str:
    return (
        f"QuickJS cannot share the parameter '{name}' between a function's body and a function in "
        f"a default value, if one of them changes it. Copy it: `let current = {name}`, and pass "
        "the copy as an argument"
    )
