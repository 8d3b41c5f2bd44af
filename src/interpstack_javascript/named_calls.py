"""Calls of bridges in the tree of a cell, as far as the tree alone tells them.

A call is left out where it may never run, or where code may mean it to fail: behind a `return`, in
a function that the cell does not use, in a `try` that catches. So is a name that the cell gives
another meaning, or asks about before it calls it. One pass without recursion, linear in the tree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence, Set
from functools import cached_property
from typing import Any, Final

import attrs

from interpstack.values.decoding import UNDEFINED
from interpstack.values.known_parts import UNKNOWN, OpenFields
from interpstack_javascript.parser.expressions import (
    CASTS,
    UNNAMED,
    WRAPPERS,
    key_name,
    member_name,
    unwrapped,
)
from interpstack_javascript.parser.parsing import CLASSES, FUNCTIONS, Node, children

__all__ = ["NamedCall", "NamedCalls", "calls_in"]

_Path = tuple[str, ...]

#: Where a node stands: in a function; in a `try` that catches; where it may not run; where it does
#: not; where a name is given a meaning.
_IN_FUNCTION, _IN_TRY, _MAY_RUN, _DEAD, _BINDS = 1, 2, 4, 8, 16
#: Nodes around an expression that change nothing; a cast may be there to have a check do nothing.
_AROUND: Final = WRAPPERS - CASTS
#: TypeScript's nodes that run; the others are types.
_RUNNING: Final = (
    WRAPPERS
    | {"TSEnumBody", "TSEnumDeclaration", "TSEnumMember", "TSExportAssignment"}
    | {"TSInstantiationExpression", "TSModuleBlock", "TSModuleDeclaration", "TSParameterProperty"}
)
_LEAVING: Final = frozenset(
    {"BreakStatement", "ContinueStatement", "ReturnStatement", "ThrowStatement"}
)
_PATTERNS: Final = frozenset({"ArrayPattern", "ObjectPattern", "RestElement"})
_KEPT_IN: Final = frozenset({"ArrayExpression", "ClassBody", "ObjectExpression", "Property"})
#: Ways in which a rejected promise may be handled elsewhere than at its call.
_HANDLERS: Final = re.compile(r"\bcatch\b|\ballSettled\b|\.\s*(?:any|race)\b")
_WORD: Final = re.compile(r"[\w$]+")
#: Depth of a value that is read.
_DEPTH: Final = 50
#: The largest number that every reader of JSON reads alike.
_SAFE: Final = 2**53 - 1


@attrs.frozen(eq=False, repr=False)
class NamedCall:
    """A call of a name on a path that begins with a namespace of bridges.

    Attributes:
        path: As in `("tools", "search")`.
        start: The UTF-16 code unit where it begins.
        value: The first argument; `UNDEFINED` for none.
        second: The second one, if there are two; `UNDEFINED` for none.
        fails_unseen: Whether an error of its promise may be handled somewhere.
        raises_unseen: The same for an error that the call throws itself.
        is_optional: Whether nothing is called where the name is not there.
        may_run: Whether it runs only under a condition.
        member: The member of its promise that is read at once; empty if none is.
        is_index: Whether that is written as an index.
    """

    path: _Path
    start: int
    value: Any
    second: Any
    fails_unseen: bool
    raises_unseen: bool
    is_optional: bool
    may_run: bool
    member: str = ""
    is_index: bool = False


@attrs.frozen(eq=False, repr=False)
class NamedCalls:
    """The calls in a cell, and what else it says about the names.

    Attributes:
        calls: In no order.
        read: Paths that are read without a call.
        passed: Namespaces that are used as values.
        texts: Texts that code compares or looks up.
        names_await: `await` is a name.
    """

    calls: Sequence[NamedCall] = ()
    read: Set[_Path] = frozenset()
    passed: Set[str] = frozenset()
    texts: Set[str] = frozenset()
    names_await: bool = False

    def asks_about(self, call: NamedCall) -> bool:
        """Whether the cell may call a name only if it is there."""
        path = call.path
        if any(path[: len(one)] == one or one[: len(path)] == path for one in self.read):
            return True
        if not self.texts.isdisjoint((*path[1:], ".".join(path), ".".join(path[1:]))):
            return True
        return call.may_run and path[0] in self.passed


def calls_in(program: Node, source: str, roots: Collection[str]) -> NamedCalls:
    """The calls of names under these namespaces.

    Args:
        program: The tree of a cell.
        source: The cell.
        roots: Namespaces of bridges, and bridges without one.
    """
    walk = _Walk(frozenset(roots), source)
    walk.run(program)
    return walk.result()


#: What a function or class is stored as: a variable, or behind a dot a member.
_Names = tuple[str, ...]
#: The name of the function or class that code is in, and what that is in.
_Owner = tuple[str, "_Owner | None"]


class _Walk:
    def __init__(self, roots: frozenset[str], source: str) -> None:
        self._roots = roots
        self._source = source
        self._handles = _HANDLERS.search(source) is not None
        self._read: set[_Path] = set()
        self._passed: set[str] = set()
        self._texts: set[str] = set()
        self._mentions: Counter[str] = Counter()
        self._bound: set[str] = set()
        self._calls: list[tuple[NamedCall, int, bool, _Owner | None]] = []
        self._awaited: set[int] = set()  # calls that are awaited where they are
        self._unclear = self._names_await = False
        #: Nodes, where they stand, what they are in, and as what they are stored.
        self._waiting: list[tuple[Node, int, _Owner | None, _Names]] = []

    def run(self, program: Node) -> None:
        self._statements(program["body"], 0, None)
        waiting = self._waiting
        while waiting:
            node, flags, owner, names = waiting.pop()
            kind = node["type"]
            visit = _VISITS.get(kind)
            if visit is not None:
                visit(self, node, flags, owner, names)
            elif kind in FUNCTIONS:
                self._function(node, flags, owner, names)
            elif kind in CLASSES:
                self._class(node, flags, owner, names)
            elif not kind.startswith("TS") or kind in _RUNNING:
                inner = names if kind in _KEPT_IN else ()
                for one in children(node):
                    self._push(one, flags, owner, inner)

    def result(self) -> NamedCalls:
        if self._unclear:
            return NamedCalls(names_await=self._names_await)
        calls = []
        for call, flags, is_awaited, owner in self._calls:
            if call.path[0] in self._bound or flags & (_DEAD | _IN_TRY) or not self._is_used(owner):
                continue
            unseen = self._handles and bool(flags & _IN_FUNCTION)
            fails_unseen = unseen or (self._handles and not is_awaited)
            calls.append(attrs.evolve(call, raises_unseen=unseen, fails_unseen=fails_unseen))
        return NamedCalls(calls, self._read, self._passed, self._texts, self._names_await)

    def _is_used(self, owner: _Owner | None) -> bool:
        """Whether the cell uses what its code is in: names it elsewhere than where it is made."""
        while owner is not None:
            name, owner = owner
            counted = self._words[name[1:]] if name.startswith(".") else self._mentions[name]
            if counted < 2:
                return False
        return True

    @cached_property
    def _words(self) -> Counter[str]:
        return Counter(_WORD.findall(self._source))

    # -- statements ------------------------------------------------------------------------

    def _push(self, node: Any, flags: int, owner: _Owner | None, names: _Names = ()) -> None:
        if isinstance(node, dict):
            self._waiting.append((node, flags, owner, names))

    def _statements(self, body: list[Node], flags: int, owner: _Owner | None) -> None:
        hoisted = flags
        for statement in body:
            is_hoisted = statement["type"] == "FunctionDeclaration"
            self._push(statement, hoisted if is_hoisted else flags, owner)
            if statement["type"] in _LEAVING:
                flags |= _DEAD

    def on_block(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        self._statements(node["body"], flags, owner)

    def on_branches(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        """`if` and `?:`."""
        test = _truth(node["test"])
        self._push(node["test"], flags, owner)
        yes, no = flags | _MAY_RUN, flags | _MAY_RUN
        self._push(node["consequent"], yes | _DEAD if test is False else yes, owner)
        self._push(node.get("alternate"), no | _DEAD if test is True else no, owner)

    def on_logical(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        test, skips = _truth(node["left"]), {"&&": False, "||": True}.get(node["operator"])
        self._push(node["left"], flags, owner)
        is_dead = test is not None and test is skips
        self._push(node["right"], flags | _MAY_RUN | (_DEAD if is_dead else 0), owner)

    def on_loop(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        left, test = node.get("left"), node.get("test")
        if left is not None:
            self._push(left, flags | _BINDS, owner)
        for key in ("init", "test", "update", "right"):
            self._push(node.get(key), flags, owner)
        inner = flags | _MAY_RUN
        is_dead = test is not None and node["type"] != "DoWhileStatement" and _truth(test) is False
        self._push(node["body"], inner | _DEAD if is_dead else inner, owner)

    def on_case(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        self._push(node["test"], flags, owner)
        self._statements(node["consequent"], flags | _MAY_RUN, owner)

    def on_try(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        handler, last = node.get("handler"), node.get("finalizer")
        catches = handler is not None or (last is not None and _leaves(last))
        self._push(node["block"], flags | _IN_TRY if catches else flags, owner)
        self._push(handler, flags | _MAY_RUN, owner)
        self._push(last, flags, owner)

    def on_catch(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        self._push(node.get("param"), flags | _BINDS, owner)
        self._push(node["body"], flags, owner)

    def on_unclear_names(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        self._unclear = True

    def on_label(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        self._push(node.get("body"), flags, owner)

    # -- names -----------------------------------------------------------------------------

    def _function(self, node: Node, flags: int, owner: _Owner | None, names: _Names) -> None:
        own = node.get("id")
        if own is not None:
            self._push(own, flags | _BINDS, owner)
        if own is not None and node["type"] == "FunctionDeclaration":
            names = (own["name"],)
        for name in names:
            owner = name, owner
        inner = flags | _IN_FUNCTION
        for parameter in node["params"]:
            self._push(parameter, inner | _BINDS, owner)
        self._push(node["body"], inner, owner)

    def _class(self, node: Node, flags: int, owner: _Owner | None, names: _Names) -> None:
        own = node.get("id")
        self._push(own, flags | _BINDS, owner)
        names = names or ((own["name"],) if own else ())
        self._push(node.get("superClass"), flags, owner)
        for one in node.get("decorators") or ():
            self._push(one, flags, owner)
        self._push(node["body"], flags, owner, names)

    def on_member_of_class(
        self, node: Node, flags: int, owner: _Owner | None, names: _Names
    ) -> None:
        if node["computed"]:
            self._push(node["key"], flags, owner)
        if node.get("kind") != "constructor":
            names = (*names, f".{key_name(node) or ''}")
        self._push(node.get("value"), flags | _IN_FUNCTION, owner, names)

    def on_declarator(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        target = node["id"]
        self._push(target, flags | _BINDS, owner)
        names = (target["name"],) if target["type"] == "Identifier" else ()
        self._push(node.get("init"), flags & ~_BINDS, owner, names)

    def on_assignment(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        target = _inner(node["left"])
        is_member = target["type"] == "MemberExpression"
        if is_member and node["operator"] == "=":
            self._written(target, flags, owner)
        else:
            self._push(target, flags | _BINDS, owner)
        names = (target["name"],) if target["type"] == "Identifier" else ()
        if is_member:
            names = (f".{_step(target) or ''}",)
        self._push(node["right"], flags & ~_BINDS, owner, names)

    def _written(self, target: Node, flags: int, owner: _Owner | None) -> None:
        """A member that is written or deleted, and not read."""
        path, _, _ = self._path_of(target, flags, owner)
        if path:
            self._read.add(path)
            return
        self._push(target["object"], flags & ~_BINDS, owner)
        if target["computed"]:
            self._push(target["property"], flags & ~_BINDS, owner)

    def on_update(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        self._push(node["argument"], flags | _BINDS, owner)

    def on_unary(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        target = _inner(node["argument"])
        if node["operator"] == "delete" and target["type"] == "MemberExpression":
            self._written(target, flags, owner)
        else:
            self._push(target, flags, owner)

    def on_default(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        self._push(node["left"], flags, owner)
        self._push(node["right"], (flags & ~_BINDS) | _MAY_RUN, owner)

    def on_property(self, node: Node, flags: int, owner: _Owner | None, names: _Names) -> None:
        if node["computed"]:
            self._push(node["key"], flags & ~_BINDS, owner)
        self._push(node["value"], flags, owner, (*names, f".{key_name(node) or ''}"))

    def on_import(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        self._push(node["local"], flags | _BINDS, owner)

    def on_identifier(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        name = node["name"]
        self._mentions[name] += 1
        if name in self._roots:
            (self._bound if flags & _BINDS else self._passed).add(name)
        elif name == "await":
            self._names_await = True
        elif name == "eval":
            self._unclear = True

    def on_text(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        if isinstance(node.get("value"), str):
            self._texts.add(node["value"])

    def on_wrapped(self, node: Node, flags: int, owner: _Owner | None, names: _Names) -> None:
        self._push(node["expression"], flags, owner, names)

    # -- calls -----------------------------------------------------------------------------

    def on_await(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        self._awaited.add(id(_inner(node["argument"])))
        self._push(node["argument"], flags, owner)

    def on_call(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        self._called(node, flags, owner, "", False)

    def _called(
        self, node: Node, flags: int, owner: _Owner | None, member: str, is_index: bool
    ) -> None:
        callee, given = _inner(node["callee"]), node["arguments"]
        flags &= ~_BINDS
        for one in given:
            self._push(one, flags, owner)
        if callee["type"] not in ("Identifier", "MemberExpression"):
            self._push(callee, flags, owner)
            return
        if callee["type"] == "MemberExpression" and _step(callee) == "then" and len(given) > 1:
            self._handles = True
        path, is_optional, _ = self._path_of(callee, flags, owner)
        if not path:
            self._push(callee, flags, owner)
            return
        value: Any = UNDEFINED
        second: Any = UNDEFINED
        if any(one["type"] == "SpreadElement" for one in given):
            value = UNKNOWN
        elif given:
            value = _value(given[0], 0)
            second = _value(given[1], 0) if len(given) == 2 else UNDEFINED
        call = NamedCall(
            path,
            callee["start"],
            value,
            second,
            fails_unseen=False,
            raises_unseen=False,
            is_optional=is_optional or bool(node.get("optional")),
            may_run=bool(flags & _MAY_RUN),
            member=member,
            is_index=is_index,
        )
        is_awaited = id(node) in self._awaited and not flags & _IN_FUNCTION
        self._calls.append((call, flags, is_awaited, owner))

    def on_member(self, node: Node, flags: int, owner: _Owner | None, _: _Names) -> None:
        flags &= ~_BINDS
        path, _is_optional, last = self._path_of(node, flags, owner)
        if path:
            self._read.add(path)
            return
        base = last["object"]
        inner = _inner(base)
        step = None if last["optional"] else _step(last)
        for one in _computed(node):
            self._push(one, flags, owner)
        if inner["type"] == "CallExpression" and step is not None and not inner.get("optional"):
            self._called(inner, flags, owner, step, last["computed"])
        else:
            self._push(base, flags, owner)

    def _path_of(self, node: Node, flags: int, owner: _Owner | None) -> tuple[_Path, bool, Node]:
        """The path from a namespace, whether any step is optional, and the member next to it.

        The path is empty where the tree does not tell it.
        """
        steps: list[str | None] = []
        is_optional, last = False, node
        while node["type"] == "MemberExpression":
            steps.append(_step(node))
            is_optional, last = is_optional or node["optional"], node
            node = _inner(node["object"])
        if node["type"] != "Identifier" or node["name"] not in self._roots:
            return (), is_optional, last
        names = [step for step in steps if step is not None]
        if len(names) < len(steps):  # such as `tools[name]`
            return (), is_optional, last
        return (node["name"], *reversed(names)), is_optional, last


def _computed(node: Node) -> Iterator[Node]:
    """The expressions in brackets on the way down from a member."""
    while node["type"] == "MemberExpression":
        if node["computed"]:
            yield node["property"]
        node = _inner(node["object"])


_VISITS: Final[dict[str, Any]] = {
    **dict.fromkeys(("BlockStatement", "StaticBlock", "TSModuleBlock"), _Walk.on_block),
    **dict.fromkeys(("ConditionalExpression", "IfStatement"), _Walk.on_branches),
    **dict.fromkeys(
        ("DoWhileStatement", "ForInStatement", "ForOfStatement", "ForStatement", "WhileStatement"),
        _Walk.on_loop,
    ),
    **dict.fromkeys(("BreakStatement", "ContinueStatement", "LabeledStatement"), _Walk.on_label),
    **dict.fromkeys(
        ("ImportDefaultSpecifier", "ImportNamespaceSpecifier", "ImportSpecifier"), _Walk.on_import
    ),
    **dict.fromkeys(
        ("AccessorProperty", "MethodDefinition", "PropertyDefinition"), _Walk.on_member_of_class
    ),
    **dict.fromkeys(WRAPPERS, _Walk.on_wrapped),
    "AssignmentExpression": _Walk.on_assignment,
    "AssignmentPattern": _Walk.on_default,
    "AwaitExpression": _Walk.on_await,
    "CallExpression": _Walk.on_call,
    "CatchClause": _Walk.on_catch,
    "Identifier": _Walk.on_identifier,
    "Literal": _Walk.on_text,
    "LogicalExpression": _Walk.on_logical,
    "MemberExpression": _Walk.on_member,
    "Property": _Walk.on_property,
    "SwitchCase": _Walk.on_case,
    "TryStatement": _Walk.on_try,
    "UnaryExpression": _Walk.on_unary,
    "UpdateExpression": _Walk.on_update,
    "VariableDeclarator": _Walk.on_declarator,
    "WithStatement": _Walk.on_unclear_names,
}


def _inner(node: Node) -> Node:
    return unwrapped(node, _AROUND)


def _step(node: Node) -> str | None:
    """The name of a member; `None` if the tree does not tell it."""
    name = member_name(node)
    return None if name is None or name == UNNAMED or name == "" else str(name)


def _truth(node: Node) -> bool | None:
    """The truth of a literal; `None` for what only the run tells."""
    node = _inner(node)
    if node["type"] == "UnaryExpression" and node["operator"] == "!":
        inner = _truth(node["argument"])
        return None if inner is None else not inner
    if node["type"] != "Literal" or node.get("regex") or node.get("bigint"):
        return None
    return bool(node["value"])


def _leaves(block: Node) -> bool:
    """Whether a `finally` may end with another value than the error before it."""
    waiting = [block]
    while waiting:
        node = waiting.pop()
        if node["type"] in _LEAVING:
            return True
        if node["type"] not in FUNCTIONS:
            waiting += children(node)
    return False


def _value(node: Any, depth: int) -> Any:
    """The value of a literal as the host decodes it, with `UNKNOWN` for what only the run tells."""
    if not isinstance(node, dict) or depth > _DEPTH:
        return UNKNOWN
    node = _inner(node)
    kind = node["type"]
    if kind == "Literal":
        return _literal(node)
    if kind == "TemplateLiteral" and not node["expressions"]:
        return node["quasis"][0]["value"]["cooked"]
    if kind == "Identifier" and node["name"] == "undefined":
        return UNDEFINED
    if kind == "UnaryExpression" and node["operator"] == "-":
        number = _value(node["argument"], depth + 1)
        is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
        return -number if is_number and number else UNKNOWN
    if kind == "ArrayExpression":
        if any(one is None or one["type"] == "SpreadElement" for one in node["elements"]):
            return [UNKNOWN]
        return [_value(one, depth + 1) for one in node["elements"]]
    if kind == "ObjectExpression":
        return _object(node, depth)
    return UNKNOWN


def _literal(node: Node) -> Any:
    value: Any = node["value"]
    if node.get("regex") or node.get("bigint"):
        return UNKNOWN
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) > _SAFE:
        return UNKNOWN
    return value


def _object(node: Node, depth: int) -> Any:
    fields: dict[str, Any] = {}
    is_open = False
    for each in node["properties"]:
        key = None if each["type"] == "SpreadElement" else key_name(each)
        if key is None:
            is_open, fields = True, dict.fromkeys(fields, UNKNOWN)
        elif key in ("__proto__", "toJSON"):
            return UNKNOWN
        else:
            is_plain = each["kind"] == "init" and not each["method"]
            fields[key] = _value(each["value"], depth + 1) if is_plain else UNKNOWN
    return OpenFields(fields) if is_open else fields
