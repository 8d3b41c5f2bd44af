"""Edits that make a script of a cell, from its tree; see `cells.py` for what they are."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Final

import attrs

from interpstack_javascript.captures import has_default, shared_parameter
from interpstack_javascript.edits import Edit, Edited, edited
from interpstack_javascript.errors import SourceError, TypeScriptError
from interpstack_javascript.flags import NO_SETS, has_sets
from interpstack_javascript.loops import LoopEdits, loop_edits
from interpstack_javascript.parser.parsing import (
    CLASSES,
    FUNCTIONS,
    Node,
    Parsed,
    SourceFault,
    children,
    parse,
    text_of,
    units_of,
)
from interpstack_javascript.readings import (
    Reading,
    ending_with_object,
    may_be_object,
    other_reading,
    telling_faults,
)
from interpstack_javascript.scripts import ENDLESS, Clock, Prepared

__all__ = [
    "index_of",
    "join_cells",
    "offset_shown",
    "prepare",
    "read",
    "read_as_module",
    "unseen_fault",
]

#: The function around a cell that awaits, which stack traces show as the cell; and the variable in
#: it that holds the value of the cell.
_NAME: Final = "$cell"
_VALUE: Final = "$cellValue"
#: The variable that holds this value while a `finally` runs.
_KEPT: Final = "$cellKept"
#: Characters of a source whose script is kept, since cells come again where they are replayed.
_SMALL: Final = 16_384
#: Nodes between two questions to the clock.
_PER_PAUSE: Final = 2048
_AWAIT: Final = re.compile(r"\bawait\b")
#: Sources without it have no loop that is continued. No escape may be in the word.
_CONTINUE: Final = "continue"
_NAMED: Final = ("ClassDeclaration", "FunctionDeclaration")
#: Beginnings of a statement that would join the line before.
_JOINING: Final = tuple("([`/+-*,.")
#: The end of an element in JSX.
_TAG: Final = re.compile(r"</|/>")
_TEXT: Final = re.compile(r"[^\n\r\u2028\u2029]")
#: Values of variables that are named like functions and classes, which have no value either.
_DEFINING: Final = frozenset({"ArrowFunctionExpression", "ClassExpression", "FunctionExpression"})
_BLOCKS: Final = frozenset(
    {"BlockStatement", "ForInStatement", "ForOfStatement", "ForStatement", "StaticBlock"}
    | CLASSES
    | {"CatchClause", "SwitchStatement"}
)
#: Statements whose value is `undefined` where none of their parts has one.
_COMPOUND: Final = frozenset(
    {"DoWhileStatement", "ForInStatement", "ForOfStatement", "ForStatement", "IfStatement"}
    | {"SwitchStatement", "TryStatement", "WhileStatement", "WithStatement"}
)
_EXPORTS: Final = frozenset(
    {"ExportAllDeclaration", "ExportDefaultDeclaration", "ExportNamedDeclaration"}
    | {"TSExportAssignment", "TSNamespaceExportDeclaration"}
)
#: Nodes that have no others in them, but for the type of a name.
_LEAVES: Final = frozenset({"Identifier", "Literal", "PrivateIdentifier", "ThisExpression"})
#: TypeScript's declarations that make variables.
_TYPED: Final = frozenset({"TSEnumDeclaration", "TSModuleDeclaration"})
#: Names that nothing in strict code may declare.
_RESTRICTED: Final = frozenset({"arguments", "eval"})
#: Nodes that preparation asks about.
_NOTED: Final = (
    FUNCTIONS
    | _BLOCKS
    | _TYPED
    | {"AccessorProperty", "AssignmentExpression", "AwaitExpression", "Decorator"}
    | {"ExpressionStatement", "ImportExpression", "MetaProperty", "PropertyDefinition"}
    | {"LabeledStatement", "UpdateExpression", "VariableDeclaration"}
    | _COMPOUND
)


def prepare(
    source: str, language: str | None, clock: Clock, *, for_quickjs: bool = False
) -> Prepared:
    """A cell as an engine is to run it.

    Args:
        source: The source, without characters that engines cannot read.
        language: `typescript` if the source is to be read as nothing else.
        clock: The cell's clock.
        for_quickjs: Whether QuickJS is to run it.

    Raises:
        SourceError: The source does not parse, has syntax that cells do not have, or, on QuickJS,
            would give wrong values.
    """
    if len(source) <= _SMALL:
        return _prepare_small(source, language, for_quickjs)
    return _prepare(source, language, clock, for_quickjs)


@lru_cache(maxsize=64)
def _prepare_small(source: str, language: str | None, for_quickjs: bool) -> Prepared:
    return _prepare(source, language, ENDLESS, for_quickjs)


def _prepare(source: str, language: str | None, clock: Clock, for_quickjs: bool) -> Prepared:
    reading = read(source, language, clock)
    seen = _Seen(clock)
    seen.look(reading.program)
    module = read_as_module(source, reading, clock) if seen.names_await else None
    if module is not None:
        reading, seen = module, _Seen(clock)
        seen.look(reading.program)
    if seen.names_await:
        _refuse_calls_of_await(source, reading.program)
    program = reading.program
    units = units_of(source)
    types: list[Edit] = []
    if reading.is_typescript or seen.has_decorators:  # which are refused there
        types = _type_edits(program, source, units, clock)
    mended = LoopEdits()
    if for_quickjs:
        fault = shared_parameter(program, seen.with_defaults, len(units), clock.pause)
        if fault is not None:
            raise SourceError(fault.message, index_of(source, fault.start))
        if seen.with_sets is not None:
            raise SourceError(NO_SETS, index_of(source, seen.with_sets["start"]))
        if seen.has_async_loops or _CONTINUE in source:
            mended = loop_edits(program, source, clock.pause)
    return _Script(units, reading, seen, types, mended, for_quickjs).prepared()


def _refuse_calls_of_await(source: str, program: Node) -> None:
    """Refuse `await (x)` in a function that is not async, where it is a call in every source."""
    from interpstack_javascript.advice.refused import awaiting_advice, first_call_of_await

    start = first_call_of_await(program)
    advice = "" if start is None else awaiting_advice(source, program, start)
    if start is not None and advice:
        raise SourceError(advice, index_of(source, start))


def unseen_fault(source: str) -> SourceError | None:
    """The `await` of a prepared source that is in no async function, if there is one.

    The parser reads parameters and fields of a script as if they were the cell's own.
    """
    if _AWAIT.search(source) is None:
        return None
    from interpstack_javascript.advice.refused import awaiting_advice

    for ending in ("mjs", "mts"):
        parsed = _parsed(source, f"cell.{ending}", ENDLESS)
        for fault in parsed.faults[:1]:
            advice = awaiting_advice(source, parsed.recovered(ENDLESS.pause), fault.start)
            if advice:
                return SourceError(advice, offset_shown(source, fault))
    return None


def read(source: str, language: str | None, clock: Clock) -> Reading:
    """How to read a cell: as what parses first.

    Raises:
        SourceError: Nothing does.
    """
    endings = ["ts", "mts"] if language == "typescript" else ["js", "mjs", "ts", "mts"]
    awaits = _AWAIT.search(source) is not None
    tried: list[tuple[str, Parsed]] = []
    for ending in endings:
        if ending[0] == "m" and not awaits:
            continue  # only `await` means something else in modules
        parsed = _parsed(source, f"cell.{ending}", clock)
        if not parsed.faults:
            return _whole(source, Reading(parsed.program, ending, parsed.is_module), clock)
        tried.append((ending, parsed))
    found = other_reading(source, tried, clock)
    if found is None:
        raise _fault(source, tried, clock)
    return found


def _whole(source: str, reading: Reading, clock: Clock) -> Reading:
    """A reading with the object that it may end with."""
    body = reading.program["body"]
    if body and may_be_object(body[-1]):
        return ending_with_object(source, reading, clock)
    return reading


def read_as_module(source: str, reading: Reading, clock: Clock) -> Reading | None:
    """The reading as a module of a cell that has `await` as a name; `None` to keep the other one.

    `await (x)` is a call in a script. A cell means to wait unless it declares the name.
    """
    if reading.ending.startswith("m"):
        return None
    ending = f"m{reading.ending}"
    parsed = _parsed(source, f"cell.{ending}", clock)
    if not parsed.faults:
        return _whole(source, Reading(parsed.program, ending, is_module=True), clock)
    other = reading.returns or reading.final is not None
    return other_reading(source, [(ending, parsed)], clock) if other else None


def _fault(source: str, tried: Sequence[tuple[str, Parsed]], clock: Clock) -> SourceError:
    """Why a source does not parse."""
    from interpstack_javascript.advice.refused import awaiting_advice, block_advice, foreign_advice

    faults = [telling_faults(source, parsed)[0] for _, parsed in tried]
    first, best = faults[0], max(faults, key=attrgetter("start"))
    if _TAG.search(source) is not None and not _parsed(source, "cell.tsx", clock).faults:
        return SourceError(
            "JSX is not supported; write texts or objects", offset_shown(source, first)
        )
    advice = block_advice(source, [ending for ending, _ in tried], clock)
    if advice is not None:
        return advice
    offset = offset_shown(source, best)
    for fault, (_, parsed) in zip(faults, tried, strict=True):
        if fault.start == best.start:
            text = awaiting_advice(source, parsed.recovered(clock.pause), best.start)
            if text:
                return SourceError(text, offset)
    text = best.message.removesuffix(".")
    foreign = foreign_advice(source, offset)
    sentences = (foreign, text) if foreign else (text, best.advice)
    return SourceError(". ".join(filter(None, sentences)), offset)


def offset_shown(source: str, fault: SourceFault) -> int:
    """The character that a fault is shown at: what is there, or where the source ends too soon."""
    at = index_of(source, fault.start)
    if not source[at:].strip():
        return len(source.rstrip())
    if fault.start == fault.end:  # something is missing in front of the next word
        ahead = source[at:]
        space = len(ahead) - len(ahead.lstrip(" \t"))
        return at if ahead[space : space + 1] in ("", "\n", "\r") else at + space
    return at


def _parsed(source: str, name: str, clock: Clock) -> Parsed:
    return parse(source, name=name, seconds=clock.left(), pause=clock.pause)


def index_of(source: str, unit: int) -> int:
    """The character of a source that holds a UTF-16 code unit."""
    if source.isascii():
        return unit
    data = source.encode("utf-16-le", "surrogatepass")[: 2 * unit]
    return len(data.decode("utf-16-le", "ignore"))


def _type_edits(program: Node, source: str, units: str, clock: Clock) -> list[Edit]:
    from interpstack_javascript.typescript import type_edits

    try:
        return type_edits(program, units, keyword="", pause=clock.pause)
    except TypeScriptError as error:
        raise SourceError(str(error), index_of(source, error.offset)) from error


def join_cells(sources: Sequence[str]) -> str:
    """One source that does what these cells do in turn: a cell cannot declare a name twice.

    Names that several of them declare become variables by `var`. A `return` inside a block stays.
    """
    readings = [read(source, None, ENDLESS) for source in sources]
    trees = [reading.program["body"] for reading in readings]
    counted = Counter(
        name for body in trees for name in {name for each in body for name in _declared(each)}
    )
    again = {name for name, count in counted.items() if count > 1}
    parts = []
    for source, reading in zip(sources, readings, strict=True):
        edits: list[Edit] = []
        for each in reading.program["body"]:
            if each["type"] == "ReturnStatement":  # the rest does not run
                units, value = units_of(source), each["argument"]
                text = f"({units[value['start'] : value['end']]});" if value else ""
                edits.append((each["start"], len(units), text))
                break
            if again.isdisjoint(_declared(each)):
                continue
            start, end = each["start"], each["end"]
            if each["type"] == "ClassDeclaration":
                edits += [(start, start, f"var {each['id']['name']} = "), (end, end, ";")]
            elif each["type"] == "VariableDeclaration":
                edits.append((start, start + len(each["kind"]), "var"))
        edits += _object_edits(reading)
        text = text_of(edited(units_of(source), edits).text)
        parts.append(f";{text}" if text.startswith(_JOINING) else text)
    return "\n".join(parts)


def _declared(statement: Node) -> list[str]:
    if statement["type"] == "VariableDeclaration":
        return _names(statement)
    own = statement.get("id") if statement["type"] in _NAMED else None
    return [own["name"]] if own else []


# -- what is in a tree ---------------------------------------------------------------------------


@attrs.define(eq=False)
class _Scope:
    """Names that a part of a source declares.

    Attributes:
        outer: The scope around it; `None` for that of the cell.
        is_function: Whether `var` declares here.
    """

    outer: _Scope | None
    is_function: bool
    names: set[str] = attrs.Factory(set)

    def of_var(self) -> _Scope:
        scope = self
        while not scope.is_function and scope.outer is not None:
            scope = scope.outer
        return scope

    def finds(self, name: str, top: _Scope) -> bool:
        """Whether the name means the variable of the cell here."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope is top
            scope = scope.outer
        return True


class _Seen:
    """The parts of a tree that preparation asks about, found in one pass without recursion.

    Attributes:
        awaits: The cell awaits something outside of functions.
        names_await: `await` is a name somewhere.
        has_decorators: Something is decorated.
        has_async_loops: There is a `for await` somewhere.
        imports: Places of `import` where it is called or has a property.
        variables: Declarations by `var` outside of functions, below the top level: the declaration,
            and the statement whose head it is in.
        expressions: Statements outside of functions that consist of an expression.
        compounds: Statements outside of functions and inside blocks that have a value of their own,
            which is `undefined` at first.
        attempts: Statements with `try` outside of functions.
        block_functions: Functions declared in blocks outside of functions, with the blocks and
            their scopes.
        with_defaults: Functions with parameters that are more than names.
        with_sets: The first regular expression with the flag `v`.
        writes: Names that something is assigned to, with their scope and whether the name is the
            short form of a property.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.top = _Scope(None, True)
        self.awaits = self.names_await = self.has_decorators = self.has_async_loops = False
        self.imports: list[Node] = []
        self.variables: list[tuple[Node, Node | None]] = []
        self.expressions: list[Node] = []
        self.compounds: list[Node] = []
        self.attempts: list[Node] = []
        self.block_functions: list[tuple[Node, Node, _Scope]] = []
        self.writes: list[tuple[Node, _Scope, bool]] = []
        self.with_defaults: list[Node] = []
        self.with_sets: Node | None = None

    def look(self, program: Node) -> None:
        """Look at all nodes, parents before children and in the order of the source."""
        count = 0
        waiting: list[tuple[Node, _Scope, bool, Node | None]] = [
            (each, self.top, True, program) for each in reversed(program["body"])
        ]
        while waiting:
            node, scope, outside, parent = waiting.pop()
            count += 1
            if count % _PER_PAUSE == 0:
                self._clock.pause()
            kind = node["type"]
            if kind in _LEAVES:
                self.names_await = self.names_await or node.get("name") == "await"
                if kind == "Literal" and has_sets(node):
                    self.with_sets = self.with_sets or node
                if not node.get("typeAnnotation"):
                    continue
            inner, still = scope, outside
            if kind in _NOTED:
                inner, still = self._enter(node, scope, outside, parent)
            below = [(one, inner, still, node) for one in children(node)]
            below.reverse()
            waiting += below

    def _enter(
        self, node: Node, scope: _Scope, outside: bool, parent: Node | None
    ) -> tuple[_Scope, bool]:
        """Note a node; the scope of what is below it, and whether that is outside of functions."""
        kind = node["type"]
        if outside and _is_compound(node):
            self._compound(node, parent)
        if kind in FUNCTIONS:
            return self._function(node, scope, outside, parent), False
        if kind == "VariableDeclaration":
            self._variable(node, scope, outside, parent)
        elif kind == "AwaitExpression":
            self.awaits = self.awaits or outside
        elif kind == "ExpressionStatement":
            if outside:
                self.expressions.append(node)
        elif kind == "AssignmentExpression":
            self._write(node["left"], scope)
        elif kind == "UpdateExpression":
            self._write(node["argument"], scope)
        elif kind == "ImportExpression" or (
            kind == "MetaProperty" and node["meta"]["name"] == "import"
        ):
            self.imports.append(node)
        elif kind == "Decorator":
            self.has_decorators = True
        elif kind in _BLOCKS:
            return self._block(node, scope, outside)
        elif kind in _TYPED and parent is not None and parent["type"] != "Program":
            scope.names.add(node["id"].get("name", ""))
        elif kind in ("PropertyDefinition", "AccessorProperty"):
            return _Scope(scope, True), False
        return scope, outside

    def _compound(self, node: Node, parent: Node | None) -> None:
        if node["type"] == "TryStatement":
            self.attempts.append(node)
        if parent is not None and parent["type"] in ("BlockStatement", "SwitchCase"):
            self.compounds.append(node)

    def _function(self, node: Node, scope: _Scope, outside: bool, parent: Node | None) -> _Scope:
        own = node.get("id")
        inner = _Scope(scope, True)
        if has_default(node):
            self.with_defaults.append(node)
        if node["type"] == "FunctionDeclaration" and own is not None:
            if scope is not self.top:
                scope.names.add(own["name"])
                if outside and parent is not None:
                    self.block_functions.append((node, parent, scope))
        elif own is not None:
            inner.names.add(own["name"])
        for parameter in node["params"]:
            inner.names.update(bound["name"] for bound, _ in _bound(parameter))
        if node["type"] != "ArrowFunctionExpression":
            inner.names.add("arguments")
        return inner

    def _variable(self, node: Node, scope: _Scope, outside: bool, parent: Node | None) -> None:
        target = scope.of_var() if node["kind"] == "var" else scope
        if target is not self.top:
            target.names.update(_names(node))
        if outside and node["kind"].startswith("await"):
            self.awaits = True
        if not outside or node["kind"] != "var" or parent is None:
            return
        is_head = parent["type"] in ("ForInStatement", "ForOfStatement", "ForStatement")
        if is_head or parent["type"] != "Program":
            self.variables.append((node, parent if is_head else None))

    def _block(self, node: Node, scope: _Scope, outside: bool) -> tuple[_Scope, bool]:
        kind, inner = node["type"], _Scope(scope, node["type"] == "StaticBlock")
        if kind == "CatchClause" and node.get("param"):
            inner.names.update(bound["name"] for bound, _ in _bound(node["param"]))
        elif kind in CLASSES and node.get("id"):
            inner.names.add(node["id"]["name"])
            if kind == "ClassDeclaration" and scope is not self.top:
                scope.names.add(node["id"]["name"])
        elif kind in ("ForInStatement", "ForOfStatement"):
            if node["left"]["type"] != "VariableDeclaration":
                self._write(node["left"], inner)
            if node.get("await"):
                self.has_async_loops = True
                self.awaits = self.awaits or outside
        return inner, outside and kind != "StaticBlock"

    def _write(self, target: Node, scope: _Scope) -> None:
        self.writes += [(bound, scope, short) for bound, short in _bound(target)]


def _is_compound(node: Node) -> bool:
    """Whether it is a statement whose value is `undefined` where none of its parts has one."""
    while node["type"] == "LabeledStatement":
        node = node["body"]
    return node["type"] in _COMPOUND


def _bound(pattern: Node) -> Iterator[tuple[Node, bool]]:
    """Names that a pattern binds or assigns to, and which are the short form of a property."""
    waiting: list[tuple[Node | None, bool]] = [(pattern, False)]
    while waiting:
        node, short = waiting.pop()
        if node is None:  # a hole in an array
            continue
        kind = node["type"]
        if kind == "Identifier":
            yield node, short
        elif kind == "ArrayPattern":
            waiting += [(each, False) for each in reversed(node["elements"])]
        elif kind == "ObjectPattern":
            waiting += [
                (each["value"], bool(each["shorthand"]))
                if each["type"] == "Property"
                else (each, False)
                for each in reversed(node["properties"])
            ]
        elif kind == "AssignmentPattern":
            waiting.append((node["left"], short))
        elif kind in ("RestElement", "ParenthesizedExpression", "TSParameterProperty"):
            waiting.append(
                (node.get("argument") or node.get("expression") or node.get("parameter"), False)
            )
        elif kind in (
            "TSAsExpression",
            "TSSatisfiesExpression",
            "TSNonNullExpression",
            "TSTypeAssertion",
        ):
            waiting.append((node["expression"], False))


def _names(declaration: Node) -> list[str]:
    return [
        bound["name"] for each in declaration["declarations"] for bound, _ in _bound(each["id"])
    ]


# -- the script ----------------------------------------------------------------------------------


class _Script:
    """The script of a cell: its names, then its edits.

    Args:
        units: The source, a character for each UTF-16 code unit.
        reading: How it is read.
        seen: What is in the tree.
        types: Edits that remove types.
        mended: Edits of loops that QuickJS would run in another way.
        for_quickjs: Whether QuickJS is to run it.
    """

    def __init__(
        self,
        units: str,
        reading: Reading,
        seen: _Seen,
        types: list[Edit],
        mended: LoopEdits,
        for_quickjs: bool,
    ) -> None:
        self._units = units
        self._reading = reading
        self._body: list[Node] = reading.program["body"]
        self._seen = seen
        self._types = types
        self._mended = mended
        self._for_quickjs = for_quickjs
        self._ends: list[Edit] = []  # closed statements, inner ones first
        self._dropped = {edit[0] for edit in types}  # where imports of types begin
        self._hashbang: Node | None = reading.program.get("hashbang")
        self._kinds: dict[str, str] = {}
        self._lexical: dict[str, int] = {}  # where `let`, `const` and classes are declared
        self._imports = [each for each in self._body if each["type"] == "ImportDeclaration"]
        self._is_strict = any(each.get("directive") == "use strict" for each in self._body)

    def prepared(self) -> Prepared:
        """The script and its names.

        Raises:
            SourceError: A name is declared twice, or something is exported.
        """
        for statement in self._body:
            self._declare(statement)
        wrapped = self._seen.awaits or self._is_strict or bool(self._reading.returns)
        wrapped = wrapped or any(map(self._is_kept, self._imports))
        for node, _ in self._seen.variables:
            self._note_vars(node)
        edits = [*self._common_edits()]
        if wrapped:
            return self._wrapped(edits)
        # a statement may begin where another one ends
        plain = [*self._plain_edits(), *_object_edits(self._reading)]
        last = [*self._declared_value("; {}")]
        made = edited(self._units, [*self._ends, *plain, *edits, *last])
        return Prepared(
            text_of(made.text),
            declares=bool(last),
            shifts=made.shifts,
            declared=self._declared(),
        )

    def _declared(self) -> dict[str, list[str]]:
        declared: dict[str, list[str]] = {}
        for name, kind in self._kinds.items():
            declared.setdefault(kind, []).append(name)
        return declared

    # -- names -----------------------------------------------------------------------------

    def _declare(self, statement: Node) -> None:
        kind = statement["type"]
        if kind in _EXPORTS:
            raise SourceError(
                "export works in modules, not in cells. Declare the variable without export: later"
                " cells can use it",
                self._place(statement["start"]),
            )
        if statement.get("declare"):
            return  # of TypeScript: it only has a type
        if kind == "VariableDeclaration":
            if statement["kind"] == "var":
                self._note_vars(statement)
            else:
                what = "const" if statement["kind"] == "const" else "let"
                for declarator in statement["declarations"]:
                    for bound, _ in _bound(declarator["id"]):
                        self._note(bound, what)
        elif kind == "ClassDeclaration":
            self._note(statement["id"], "let")
        elif kind == "FunctionDeclaration":
            self._note(statement["id"], "function")
        elif kind == "ImportDeclaration":
            if statement.get("phase"):
                raise SourceError(
                    f"import {statement['phase']} is not available. Use import without it",
                    self._place(statement["start"]),
                )
            for specifier in self._values(statement):
                self._note(specifier["local"], "let")
        elif kind in _TYPED and statement["id"]["type"] == "Identifier":
            self._kinds.setdefault(statement["id"]["name"], "var")

    def _note_vars(self, declaration: Node) -> None:
        for each in declaration["declarations"]:
            for bound, _ in _bound(each["id"]):
                self._note(bound, "var")

    def _note(self, bound: Node, kind: str) -> None:
        name = bound["name"]
        former = self._kinds.get(name)
        lexical = ("let", "const")
        if (name == "let" and kind in lexical) or (self._is_strict and name in _RESTRICTED):
            raise SourceError(
                f"'{name}' cannot be declared here. Choose another name",
                self._place(bound["start"]),
            )
        if former is not None and (kind in lexical or former in lexical):
            raise SourceError(
                f"Identifier '{name}' has already been declared", self._place(bound["start"])
            )
        if former != "function":
            self._kinds[name] = kind
        if kind in lexical:
            self._lexical[name] = bound["start"]

    def _place(self, unit: int) -> int:
        return len(text_of(self._units[:unit]))

    # -- edits -----------------------------------------------------------------------------

    def _common_edits(self) -> Iterator[Edit]:
        """Edits for both forms of a script, also inside functions."""
        yield from (edit for edit in self._types if not self._in_import(edit))
        yield from self._mended.edits
        for node in self._seen.imports:
            if node.get("phase"):
                raise SourceError(
                    f"import.{node['phase']}() is not available. Use import()",
                    self._place(node["start"]),
                )
            yield node["start"], node["start"] + len("import"), "$mport"
        yield from self._shielding_edits()
        for bound, scope, short in self._seen.writes if self._lexical else ():
            name, start = bound["name"], bound["start"]
            if name not in self._lexical or not scope.finds(name, self._seen.top):
                continue
            owner = ""
            if scope.of_var() is self._seen.top and start < self._lexical[name]:
                owner = "$mport.uninitialized."
            elif self._kinds[name] == "const":
                owner = "$mport.constants."
            if owner:
                yield start, start, f"{name}: {owner}" if short else owner
        self._ends += self._mended.last

    def _shielding_edits(self) -> Iterator[Edit]:
        """Keep functions in blocks from becoming variables of the cell in place of a `let` there.

        The engine sees no `let` any more; an outer block with one of that name has the same effect.
        """
        for node, block, _ in self._seen.block_functions:
            name = node["id"]["name"]
            if name in self._lexical and block["type"] == "BlockStatement":
                yield block["start"], block["start"], f"{{ let {name}; "
                self._ends.append((block["end"], block["end"], " }"))

    def _in_import(self, edit: Edit) -> bool:
        return any(each["start"] <= edit[0] < each["end"] for each in self._imports)

    def _plain_edits(self) -> Iterator[Edit]:
        """Edits of a cell that runs as a script: declarations become `var`."""
        for statement in self._body:
            if statement.get("declare"):
                continue
            if statement["type"] == "VariableDeclaration" and statement["kind"] in ("let", "const"):
                start = statement["start"]
                yield start, start + len(statement["kind"]), "var".ljust(len(statement["kind"]))
                yield from _initialized(statement)
            elif statement["type"] == "ClassDeclaration":
                yield from self._class_edits(statement, "var ")
            elif statement["type"] == "ImportDeclaration":
                yield from self._import_edit(statement)
        if self._for_quickjs:  # which keeps the value of the `try` in a `catch` without one
            last = self._last_expression()
            for statement in self._seen.attempts:
                if statement.get("handler") is not None and self._ends_after(statement, last):
                    begin = statement["handler"]["body"]["start"] + 1
                    yield begin, begin, " void 0;"

    @staticmethod
    def _class_edits(statement: Node, keyword: str) -> Iterator[Edit]:
        yield statement["start"], statement["start"], f"{keyword}{statement['id']['name']} = "
        yield statement["end"], statement["end"], ";"

    def _import_edit(self, statement: Node) -> Iterator[Edit]:
        breaks = "\n" * self._units.count("\n", statement["start"], statement["end"])
        call = _import_call(statement, self._values(statement)) if self._is_kept(statement) else ""
        yield statement["start"], statement["end"], call + breaks

    def _is_kept(self, statement: Node) -> bool:
        """Whether an import loads anything: one of types alone does not."""
        return statement["start"] not in self._dropped

    def _values(self, statement: Node) -> list[Node]:
        specifiers: list[Node] = statement["specifiers"] if self._is_kept(statement) else []
        return [each for each in specifiers if each["start"] not in self._dropped]

    # -- a cell that awaits ------------------------------------------------------------------

    def _wrapped(self, edits: list[Edit]) -> Prepared:
        """The script of an async function, and that of the functions declared before it."""
        functions = [each for each in self._body if each["type"] == "FunctionDeclaration"]
        head = ""
        if self._is_strict:  # they are strict, too, as a script of their own would not be
            head = '"use strict"; '
            names = [each["id"]["name"] for each in functions]
            head += "".join(f"globalThis.{name} = {name}; " for name in names)
            functions = []
        ends, self._ends = self._ends, []
        wrapping = [*self._wrapping_edits(head)]
        inside = [edit for edit in ends if _within(edit, functions, is_end=True)]
        inside += [edit for edit in edits if _within(edit, functions)]
        outside = [*self._ends]
        outside += [edit for edit in ends if not _within(edit, functions, is_end=True)]
        outside += wrapping
        outside += [edit for edit in edits if not _within(edit, functions)]
        last = [*self._declared_value(f"; {_VALUE} = ({{}});")]
        outside += last
        made = edited(_blanked(self._units, functions, keep=False), outside)
        first: Edited | None = None
        if functions:
            first = edited(_blanked(self._units, functions, keep=True), inside)
        declared = self._declared()
        for node, _, scope in self._seen.block_functions:
            if self._is_hoisted(node, scope):
                declared.setdefault("var", []).append(node["id"]["name"])
        box = f"{{__proto__: null, value: {_VALUE}{', asIs: true' if last else ''}}}"
        return Prepared(
            text_of(made.text) + f"\nreturn {box}; }}; {_NAME}() }}",
            functions="" if first is None else text_of(first.text),
            function_shifts=() if first is None else first.shifts,
            awaits=True,
            shifts=made.shifts,
            declared=declared,
        )

    def _wrapping_edits(self, head: str) -> Iterator[Edit]:
        yield 0, 0, f"{{ const {_NAME} = async () => {{ {head}let {_VALUE}; "
        if self._hashbang is not None:
            yield self._hashbang["start"], self._hashbang["start"] + 2, "//"
        for statement in self._body:
            if statement.get("declare"):
                continue
            if statement["type"] == "VariableDeclaration":
                if statement["kind"] in ("let", "const", "var"):
                    yield from self._assigning(statement, None)
            elif statement["type"] == "ClassDeclaration":
                yield from self._class_edits(statement, "")
            elif statement["type"] == "ImportDeclaration":
                yield from self._import_edit(statement)
        for declaration, head_of in self._seen.variables:
            yield from self._assigning(declaration, head_of)
        for node, _, scope in self._seen.block_functions:
            if self._is_hoisted(node, scope):
                name = node["id"]["name"]
                yield node["end"], node["end"], f" globalThis.{name} = {name};"
        for statement in self._reading.returns:
            yield from self._return_edits(statement)
        yield from self._value_edits()

    def _return_edits(self, statement: Node) -> Iterator[Edit]:
        """`return a` ends the function around the cell with the value in a box, as its end does."""
        value, end = statement["argument"], statement["start"] + len("return")
        if value is None:
            yield end, end, " {__proto__: null, value: void 0};"
        else:
            yield value["start"], value["start"], "{__proto__: null, value: ("
            self._ends.append((value["end"], value["end"], ")}"))

    def _declared_value(self, form: str) -> Iterator[Edit]:
        """The value of a cell that ends with a declaration: what that declares, or binds.

        A promise is not waited for: the code goes on to use it as one.

        Args:
            form: The statement that gives the cell a value, with `{}` in its place.
        """
        ends = (each for each in reversed(self._body) if each["type"] != "EmptyStatement")
        last = next(ends, None)
        if last is not None and (value := _value_declared(last)):
            yield last["end"], last["end"], form.format(value)

    def _value_edits(self) -> Iterator[Edit]:
        """Keep the value of the last statement that has one, as a script keeps it.

        A block may begin or end where its first or last statement does, so what belongs to the
        block is given first at its beginning, and last at its end.
        """
        last = self._last_expression()
        attempts = [each for each in self._seen.attempts if self._ends_after(each, last)]
        for statement in attempts:
            yield from self._attempt_begins(statement)
        for statement in self._seen.compounds:
            if self._ends_after(statement, last):
                yield statement["start"], statement["start"], f"{_VALUE} = void 0; "
        top = {id(each) for each in self._body[:last] if each["type"] == "ExpressionStatement"}
        for statement in self._seen.expressions:
            if id(statement) in top or statement.get("directive") is not None:
                continue  # another one follows
            start = statement["start"]
            space = " " if self._units[start - 1 : start].isalpha() else ""  # as in `else[1]`
            yield start, start, f"{space}{_VALUE} = ("
            self._ends.append(self._closing(statement))
        for statement in self._body[last + 1 :]:
            if _is_compound(statement):
                yield statement["start"], statement["start"], f"{_VALUE} = void 0; "
        for statement in attempts:
            if (finalizer := statement.get("finalizer")) is not None:
                end = finalizer["end"] - 1
                yield end, end, f"; {_VALUE} = {_KEPT};"

    def _last_expression(self) -> int:
        """The index of the last expression at the top level; -1 if there is none."""
        found = (
            index for index, each in enumerate(self._body) if each["type"] == "ExpressionStatement"
        )
        return max(found, default=-1)

    def _ends_after(self, node: Node, last: int) -> bool:
        """Whether no later expression at the top level gives the cell its value."""
        return last < 0 or bool(node["end"] > self._body[last]["start"])

    def _attempt_begins(self, statement: Node) -> Iterator[Edit]:
        """`catch` begins with no value; `finally` has none, unless it leaves its statement."""
        handler, last = statement.get("handler"), statement.get("finalizer")
        if handler is not None:
            begin = handler["body"]["start"] + 1
            yield begin, begin, f" {_VALUE} = void 0;"
        if last is not None:
            begin = last["start"] + 1
            yield begin, begin, f" const {_KEPT} = {_VALUE};"

    def _assigning(self, declaration: Node, head_of: Node | None) -> Iterator[Edit]:
        """`var a = 1, {b} = c` as `void (a = 1, {b} = c)`, which assigns to globals."""
        start = declaration["start"]
        if head_of is not None and head_of["type"] != "ForStatement":
            yield start, start + len(declaration["kind"]), ""
            return
        yield start, start + len(declaration["kind"]), "void ("
        for each in declaration["declarations"]:
            if each.get("init") is None:
                if declaration["kind"] == "var":
                    yield each["id"]["start"], each["id"]["end"], "0"
                else:
                    self._ends.append((each["end"], each["end"], " = void 0"))
        if head_of is not None:
            yield declaration["end"], declaration["end"], ")"
        else:
            self._ends.append(self._closing(declaration))

    def _closing(self, statement: Node) -> Edit:
        end = statement["end"]
        return (end - 1 if self._units[end - 1] == ";" else end), end, ");"

    def _is_hoisted(self, node: Node, scope: _Scope) -> bool:
        """Whether a function in a block is a variable of the cell as well.

        Source: annex B.3.2 of the language's specification.
        """
        name = node["id"]["name"]
        if self._is_strict or node.get("async") or node.get("generator"):
            return False
        if self._kinds.get(name, "var") not in ("var", "function"):
            return False
        outer = scope.outer
        while outer is not None and outer is not self._seen.top:
            if name in outer.names:
                return False
            outer = outer.outer
        return True


def _object_edits(reading: Reading) -> list[Edit]:
    """Make an expression of an object that a script would read as a block."""
    final = reading.final
    if final is None:
        return []
    start, end = final["start"], final["end"]
    return [(start, start, ";("), (end, end, ")")]


def _value_declared(statement: Node) -> str:
    """The expression for what a declaration declares last; empty for functions and classes."""
    if statement["type"] != "VariableDeclaration" or statement.get("declare"):
        return ""
    if statement["kind"] not in ("let", "const", "var"):
        return ""
    last = statement["declarations"][-1]
    if (last.get("init") or {}).get("type") in _DEFINING:
        return ""
    names = ", ".join(bound["name"] for bound, _ in _bound(last["id"]))
    if last["id"]["type"] == "ArrayPattern":
        return f"[{names}]"
    return names if last["id"]["type"] == "Identifier" else f"({{{names}}})"


def _initialized(statement: Node) -> Iterator[Edit]:
    """A declaration without initializer makes `undefined`, also in a later cell."""
    for each in statement["declarations"]:
        if each.get("init") is None:
            yield each["end"], each["end"], " = void 0"


def _import_call(statement: Node, specifiers: list[Node]) -> str:
    module = statement["source"]["raw"]
    members, whole = [], ""
    for each in specifiers:
        if each["type"] == "ImportNamespaceSpecifier":
            whole = each["local"]["name"]
        elif each["type"] == "ImportDefaultSpecifier":
            members.append(("default", each["local"]["name"]))
        else:
            members.append((_name(each["imported"]), each["local"]["name"]))
    wanted = [json.dumps(exported) for exported, _ in members]
    given = [module, f"[{', '.join(wanted)}]"] if wanted else [module]
    if attributes := statement.get("attributes"):
        pairs = [f"{json.dumps(_name(one['key']))}: {one['value']['raw']}" for one in attributes]
        given = [module, f"[{', '.join(wanted)}]", f"{{__proto__: null, {', '.join(pairs)}}}"]
    call = f"(await $mport({', '.join(given)}))"
    pattern = ", ".join(f"{json.dumps(exported)}: {local}" for exported, local in members)
    if whole and members:
        return f"void ({{{pattern}}} = ({whole} = {call}));"
    if whole:
        return f"void ({whole} = {call});"
    return f"void ({{{pattern}}} = {call});" if members else f"void {call};"


def _name(key: Node) -> str:
    """The name that a specifier or an attribute of an import gives, as a word or as a text."""
    return str(key["name"] if key["type"] == "Identifier" else key["value"])


def _within(edit: Edit, nodes: list[Node], *, is_end: bool = False) -> bool:
    """Whether an edit is of one of these nodes, and not of a neighbour.

    Args:
        edit: The edit.
        nodes: The nodes.
        is_end: Whether it closes what is in front of it.
    """
    if is_end:
        return any(each["start"] < edit[0] and edit[1] <= each["end"] for each in nodes)
    return any(each["start"] <= edit[0] < each["end"] for each in nodes)


def _blanked(units: str, nodes: list[Node], *, keep: bool) -> str:
    """A source in which only these nodes, or all but these, are left at their places."""
    parts, at = [], 0
    for node in nodes:
        before, text = units[at : node["start"]], units[node["start"] : node["end"]]
        parts += [_TEXT.sub(" ", before), text] if keep else [before, _TEXT.sub(" ", text)]
        at = node["end"]
    rest = units[at:]
    return "".join([*parts, _TEXT.sub(" ", rest) if keep else rest])
