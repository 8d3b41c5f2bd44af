"""TypeScript as JavaScript: types become spaces, so that every line and column stays.

A type is blanked where it stands; its line breaks are kept. What TypeScript adds to the language is
written in place, on the lines where it stood: enums, namespaces, parameter properties. Decorators,
`accessor`, `import x = require()` and `export =` are refused with what to write instead.

Blanking can join lines that TypeScript reads as two statements, and can break lines where
JavaScript allows no break; the comments below name each case.

Tried before: a transform that prints the tree again. Errors then named lines of its own text.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import pairwise
from typing import Any, ClassVar, Final

import attrs

from interpstack.guests import place_at
from interpstack_javascript.edits import Edit, edited
from interpstack_javascript.errors import TypeScriptError
from interpstack_javascript.parser import parsing
from interpstack_javascript.parser.parsing import Node, children, text_of, units_of

__all__ = ["load", "strip_types", "type_edits"]

_TYPED: Final = (".mts", ".cts", ".tsx")
#: Seconds that a source may take at most.
_SECONDS: Final = 10.0
#: Nodes between two questions to the caller's clock.
_PER_PAUSE: Final = 2048
_BREAK: Final = re.compile(r"[\n\r\u2028\u2029]")
_LINE: Final = re.compile(r"[^\n\r\u2028\u2029]+")
_SKIPPED: Final = re.compile(r"(?:[\s\ufeff]|//[^\n\r\u2028\u2029]*|/\*[\s\S]*?\*/)*+")
_NAME: Final = re.compile(r"(?:\\u\{[0-9a-fA-F]+\}|[^\s\ufeff!-#%-/:-@\[\]^`{-~])++")
#: A literal that the tree of a large source leaves out.
_LITERAL: Final = re.compile(
    r"/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\[])+/\w*|0[xXoObB]\w+|(?:\d[\d_]*)?\.?\d*(?:[eE][+-]?\d+)?\w*"
)
_SOUGHT: Final = {
    mark: re.compile(rf"//[^\n\r\u2028\u2029]*|/\*[\s\S]*?\*/|(?P<found>{re.escape(mark)})")
    for mark in (">", ")", "(", "]", "}", "{", "implements")
}
#: Words before the name of a member that are only of types.
_MODIFIERS: Final = frozenset(
    {"abstract", "declare", "override", "private", "protected", "public", "readonly"}
)
_OTHER_MODIFIERS: Final = frozenset({"static", "async", "get", "set"})
_TYPE_STATEMENTS: Final = frozenset(
    {
        "TSDeclareFunction",
        "TSInterfaceDeclaration",
        "TSNamespaceExportDeclaration",
        "TSTypeAliasDeclaration",
    }
)
_TYPE_MEMBERS: Final = frozenset(
    {
        "TSAbstractAccessorProperty",
        "TSAbstractMethodDefinition",
        "TSAbstractPropertyDefinition",
        "TSIndexSignature",
    }
)
#: Text after `<T>` that means something else where a statement, an arrow's body or a default
#: export begins.
_STATEMENT_LIKE: Final = re.compile(r"\{|(?:async|class|function|let)\b")
#: First characters of a statement that continue the statement before it.
_CONTINUING: Final = frozenset("([`+-/<.")
_MERGEABLE: Final = frozenset({"ClassDeclaration", "FunctionDeclaration"})
_WRAPPERS: Final = frozenset(
    {"ParenthesizedExpression", "TSAsExpression", "TSNonNullExpression", "TSSatisfiesExpression"}
)
_DECORATORS: Final = (
    "decorators are not supported; call the function instead, as in `C = decorate(C)` after the"
    " class, or `this.m = decorate(this.m)` in its constructor"
)


def strip_types(source: str, name: str = "cell.ts", seconds: float | None = None) -> str:
    """TypeScript as JavaScript, with the same lines.

    Args:
        source: TypeScript.
        name: The name of the file; `.mts` makes it a module, `.tsx` has JSX, too.
        seconds: How long it may take on an idle machine; 10 at most.

    Raises:
        TypeScriptError: It does not parse, has syntax that is not supported, or takes too much time
            or memory. The error says where.
    """
    most = _SECONDS if seconds is None else min(_SECONDS, seconds)
    ends = time.thread_time() + most

    def pause() -> None:
        if time.thread_time() > ends:
            raise TypeScriptError("the source takes too long to parse")

    ending = next((each for each in _TYPED if name.endswith(each)), ".ts")
    parsed = parsing.parse(source, name=f"source{ending}", seconds=most, pause=pause)
    units = units_of(source)
    if parsed.faults:
        fault = parsed.faults[0]
        raise _placed(source, units, TypeScriptError(fault.message, fault.start))
    try:
        edits = type_edits(parsed.program, units, pause=pause)
    except TypeScriptError as error:
        raise _placed(source, units, error) from None
    return text_of(edited(units, edits).text) if edits else source


def _placed(source: str, units: str, error: TypeScriptError) -> TypeScriptError:
    """The error with its place in a source, from an index of its units."""
    offset = len(text_of(units[: error.offset]))
    return TypeScriptError(error.reason, offset, place_at(source, offset))


def load() -> None:
    """Compile the parser, or load it from the cache."""
    parsing.load()


def type_edits(
    program: Node,
    units: str,
    *,
    keyword: str = "var",
    elide: bool = True,
    pause: Callable[[], None] = lambda: None,
) -> list[Edit]:
    """The edits that make JavaScript of TypeScript.

    They do not overlap, and are sorted. No edit of more than one character crosses a line break,
    except where its text ends with as many. An import, or a name in its braces, is dropped if an
    edit begins where it begins.

    Args:
        program: The tree of the source.
        units: Its source, as `units_of` returns it.
        keyword: Declares enums and namespaces of the top level; an empty text assigns them.
        elide: Drop the imports of names that are used in types and nowhere else.
        pause: Called at intervals; an exception from it ends the work.

    Raises:
        TypeScriptError: The source has syntax that is not supported; `offset` counts units.
    """
    return _Eraser(units, keyword, elide, pause).edits(program)


@attrs.define
class _Extended:
    """What the enums and namespaces of one name and scope extend.

    Attributes:
        exists: A function, a class or a former block has the name.
        exports: Names that former blocks export, and whether they may change.
    """

    exists: bool = False
    exports: dict[str, bool] = attrs.Factory(dict)

    def begin(self) -> None:
        """A block of this name has been written."""
        self.exists = True


class _Eraser:
    """Walks a tree without recursion, and collects edits of its source."""

    def __init__(self, units: str, keyword: str, elide: bool, pause: Callable[[], None]) -> None:
        self._units = units
        self._keyword = keyword
        self._elide = elide
        self._pause = pause
        self._count = 0
        self._waiting: list[Node] = []
        self._edits: list[Edit] = []
        self._before: dict[int, list[str]] = {}
        self._behind: dict[int, list[str]] = {}
        #: Names that values and types refer to; collected if anything depends on it.
        self._collects = False
        self._value_names: set[str] = set()
        self._type_names: set[str] = set()
        #: Exports of names, imports and aliases: decided when all names are known.
        self._exported: list[Node] = []
        self._aliases: list[tuple[Node, Node, str]] = []
        #: Members of enums that are texts, by the enum's name.
        self._texts: dict[str, set[str]] = {}

    def edits(self, program: Node) -> list[Edit]:
        body: list[Node] = program["body"]
        imports = [each for each in body if each["type"] == "ImportDeclaration"]
        self._collects = any(
            each["type"] in ("ImportDeclaration", "TSImportEqualsDeclaration")
            or (each["type"] == "ExportNamedDeclaration" and not each["declaration"])
            for each in body
        )
        self._waiting = [program]
        while self._waiting:
            self._tick()
            node = self._waiting.pop()
            handle = self._handlers.get(node["type"])
            if handle is None:
                self._waiting.extend(children(node))
            else:
                handle(self, node)
        for alias in self._aliases:
            self._alias_if_used(*alias)
        for each in imports:
            self._import(each)
        self._exports(body)
        for at in self._before.keys() | self._behind.keys():
            inner_first = reversed(self._behind.get(at, []))
            self._edits.append((at, at, "".join([*inner_first, *self._before.get(at, [])])))
        return sorted(self._edits)

    def _tick(self) -> None:
        self._count += 1
        if self._count % _PER_PAUSE == 0:
            self._pause()

    # -- edits ---------------------------------------------------------------------------------

    def _blank(self, start: int, end: int, first: str = " ", last: str = " ") -> None:
        """Replace text by spaces, its first and last character by these; line breaks stay."""
        for line in _LINE.finditer(self._units, start, end):
            left, right = line.span()
            text = " " * (right - left)
            if left == start and first != " ":
                text = first + text[1:]
            if right == end and last != " ":
                text = text[:-1] + last
            self._edits.append((left, right, text))

    def _swap(self, start: int, end: int, text: str) -> None:
        """Replace text by other text, and the line breaks that it had."""
        breaks = re.findall(r"\r\n|[\n\r\u2028\u2029]", self._units[start:end])
        self._edits.append((start, end, text + "".join(breaks)))

    def _insert_before(self, at: int, text: str) -> None:
        """Insert text that belongs to what begins here; that of an outer node comes first."""
        self._before.setdefault(at, []).append(text)

    def _insert_behind(self, at: int, text: str) -> None:
        """Insert text that belongs to what ends here; that of an inner node comes first."""
        self._behind.setdefault(at, []).append(text)

    def _skip(self, at: int) -> int:
        """The next token's index."""
        found = _SKIPPED.match(self._units, at)
        return found.end() if found else at

    def _find(self, at: int, mark: str) -> int:
        """The index of a token behind a place, where no text and no regular expression stands."""
        for found in _SOUGHT[mark].finditer(self._units, at):
            if found["found"]:
                return found.start()
        return len(self._units)

    def _name_end(self, at: int) -> int:
        found = _NAME.match(self._units, at)
        return found.end() if found else at

    def _end(self, node: Node | None, start: int) -> int:
        """The end of an expression; the tree of a large source leaves out some literals."""
        if node is not None:
            return int(node["end"])
        found = _LITERAL.match(self._units, start)
        return found.end() if found else start

    def _breaks(self, start: int, end: int) -> bool:
        return _BREAK.search(self._units, start, end) is not None

    def _refuse(self, node: Node, why: str) -> None:
        raise TypeScriptError(why, node["start"])

    # -- statements ----------------------------------------------------------------------------

    def _erase_statement(self, node: Node) -> None:
        """Blank a statement; what follows it must not continue the statement before it."""
        start, end = node["start"], node["end"]
        self._name_types(node)
        self._blank(start, end, ";" if self._continues(end) else " ")

    def _continues(self, at: int) -> bool:
        following = self._skip(at)
        return following < len(self._units) and self._units[following] in _CONTINUING

    def _declaration(self, node: Node) -> None:
        """A variable, class or function."""
        if node.get("declare"):
            self._erase_statement(node)
        elif node["type"] == "VariableDeclaration":
            self._waiting.extend(node["declarations"])
        else:
            self._class(node)

    def _export_named(self, node: Node) -> None:
        declaration = node["declaration"]
        if node["exportKind"] == "type" or (declaration and _is_type(declaration)):
            self._erase_statement(node)
        elif declaration and declaration["type"] == "TSImportEqualsDeclaration":
            self._alias(declaration, exported=node)
        elif declaration:
            self._waiting.append(declaration)
        else:
            self._exported.append(node)
            if not node["source"]:
                self._value_names.update(
                    each["local"].get("name", "")
                    for each in node["specifiers"]
                    if each["exportKind"] != "type"
                )

    def _export_default(self, node: Node) -> None:
        if _is_type(node["declaration"] or {}):
            self._erase_statement(node)
            return
        if (node["declaration"] or {}).get("type") == "Identifier":
            self._exported.append(node)
        if node["declaration"]:
            self._waiting.append(node["declaration"])

    def _export_all(self, node: Node) -> None:
        if node["exportKind"] == "type":
            self._erase_statement(node)

    def _exports(self, body: list[Node]) -> None:
        """Drop the exports of names that are types."""
        if not self._exported:
            return
        types, values = _declared_names(body)
        only_types = types - values
        for node in self._exported:
            if node["type"] == "ExportDefaultDeclaration":
                if node["declaration"]["name"] in only_types:
                    self._erase_statement(node)
                continue
            dropped = [
                each
                for each in node["specifiers"]
                if each["exportKind"] == "type"
                or (not node["source"] and each["local"].get("name") in only_types)
            ]
            if dropped and len(dropped) == len(node["specifiers"]) and node["source"]:
                self._erase_statement(node)
                continue
            for each in dropped:
                self._drop(each)

    def _drop(self, specifier: Node) -> None:
        """Blank a name in braces, with its comma."""
        comma = self._skip(specifier["end"])
        self._blank(
            specifier["start"], comma + 1 if self._units[comma] == "," else specifier["end"]
        )

    def _import(self, node: Node) -> None:
        specifiers: list[Node] = node["specifiers"]
        dropped = [
            each
            for each in specifiers
            if node["importKind"] == "type"
            or each.get("importKind") == "type"
            or (self._elide and self._is_type_name(each["local"]["name"]))
        ]
        if node["importKind"] == "type" or (specifiers and len(dropped) == len(specifiers)):
            self._erase_statement(node)
            return
        for each in dropped:
            if each["type"] == "ImportNamespaceSpecifier":
                self._blank(specifiers[0]["end"], each["end"])
            else:
                self._drop(each)

    def _is_type_name(self, name: str) -> bool:
        return name in self._type_names and name not in self._value_names

    def _alias(self, node: Node, exported: Node | None = None, owner: str = "") -> None:
        """`import a = b.c`: a variable, unless only types use it."""
        if node["importKind"] == "type":
            self._erase_statement(exported or node)
        elif node["moduleReference"]["type"] == "TSExternalModuleReference":
            self._refuse(node, "`import x = require(…)` is not supported; write `import x from …`")
        else:
            self._aliases.append((node, exported or node, owner))
            root = node["moduleReference"]
            while root["type"] == "TSQualifiedName":
                root = root["left"]
            self._value_names.add(root.get("name", ""))

    def _alias_if_used(self, node: Node, statement: Node, owner: str) -> None:
        name = node["id"]["name"]
        if statement is node and self._is_type_name(name):
            self._erase_statement(node)
            return
        if owner:
            self._blank(statement["start"], node["start"])
            self._insert_behind(node["end"], f";{owner}.{name} = {name};")
        self._swap(node["start"], node["start"] + len("import"), "var   ")

    def _refuse_export_assignment(self, node: Node) -> None:
        self._refuse(node, "`export =` is not supported; write `export default`")

    def _decorators(self, node: Node) -> None:
        for each in node.get("decorators") or ():
            self._refuse(each, _DECORATORS)

    # -- names ---------------------------------------------------------------------------------

    def _identifier(self, node: Node) -> None:
        """A name, or a pattern's name with its type."""
        if self._collects:
            self._value_names.add(node["name"])
        annotation = node.get("typeAnnotation")
        if annotation or node.get("optional"):
            self._blank(self._name_end(node["start"]), node["end"])
            self._name_types(annotation)
        self._decorators(node)

    def _pattern(self, node: Node) -> None:
        annotation = node.get("typeAnnotation")
        inner = node["properties" if node["type"] == "ObjectPattern" else "elements"]
        if annotation or node.get("optional"):
            last = next((each["end"] for each in reversed(inner) if each), node["start"] + 1)
            mark = "}" if node["type"] == "ObjectPattern" else "]"
            self._blank(self._find(last, mark) + 1, node["end"])
            self._name_types(annotation)
        self._decorators(node)
        self._waiting.extend(each for each in inner if each)

    def _rest(self, node: Node) -> None:
        annotation = node.get("typeAnnotation")
        if annotation:
            self._type(annotation)
        self._decorators(node)
        self._waiting.append(node["argument"])

    def _member_expression(self, node: Node) -> None:
        if node["object"]:
            self._waiting.append(node["object"])
        if node["computed"] and node["property"]:
            self._waiting.append(node["property"])

    def _property(self, node: Node) -> None:
        if node["computed"] and node["key"]:
            self._waiting.append(node["key"])
        if node["value"]:
            self._waiting.append(node["value"])

    def _labeled(self, node: Node) -> None:
        self._waiting.append(node["body"])

    def _ignore(self, node: Node) -> None: ...

    def _jsx_name(self, node: Node) -> None:
        self._value_names.add(node["name"])

    def _name_types(self, node: Node | None) -> None:
        """Note the names that types refer to."""
        if node is None or not self._collects:
            return
        waiting = [node]
        while waiting:
            self._tick()
            found = waiting.pop()
            root = found.get("typeName") or found.get("exprName")
            if found["type"] in ("TSInterfaceHeritage", "TSClassImplements"):
                root = found["expression"]
            while root and root["type"] in ("TSQualifiedName", "MemberExpression"):
                root = root["left" if root["type"] == "TSQualifiedName" else "object"]
            if root and root["type"] == "Identifier":
                self._type_names.add(root["name"])
            waiting.extend(children(found))
            if found["type"] == "ExportSpecifier":
                self._type_names.add(found["local"].get("name", ""))

    # -- types ---------------------------------------------------------------------------------

    def _type(self, node: Node) -> None:
        """Blank an annotation, type parameters or type arguments."""
        self._blank(node["start"], node["end"])
        self._name_types(node)

    def _as(self, node: Node) -> None:
        """`a as T`, `a satisfies T`.

        No call or member follows it, so it ends a statement before a line with `(`; `a` does not.
        """
        operand, end = node["expression"], node["end"]
        start = self._end(operand, node["start"])
        following = self._skip(end)
        ends = self._units[following : following + 1] in ("(", "[", "`")
        self._blank(start, end, ";" if ends and self._breaks(end, following) else " ")
        self._name_types(node["typeAnnotation"])
        if operand:
            self._waiting.append(operand)

    def _assertion(self, node: Node) -> None:
        """`<T>a`, in parentheses where `a` alone would mean something else.

        These are objects and functions, which begin a statement, and operands on a later line, from
        which `return` would part.
        """
        start, end = node["start"], node["end"]
        close = self._find(node["typeAnnotation"]["end"], ">") + 1
        operand = self._skip(close)
        wrapped = self._breaks(start, operand) or _STATEMENT_LIKE.match(self._units, operand)
        self._blank(start, close, "(" if wrapped else " ")
        if wrapped:
            self._insert_behind(end, ")")
        self._name_types(node["typeAnnotation"])
        if node["expression"]:
            self._waiting.append(node["expression"])

    def _non_null(self, node: Node) -> None:
        self._blank(node["end"] - 1, node["end"])
        if node["expression"]:
            self._waiting.append(node["expression"])

    def _function(self, node: Node) -> None:
        params: list[Node] = node["params"]
        if params and params[0].get("name") == "this":
            first = params[0]
            self._name_types(first.get("typeAnnotation"))
            comma = self._skip(first["end"])
            self._blank(first["start"], comma + (self._units[comma] == ","))
            self._waiting.extend(params[1:])
        else:
            self._waiting.extend(params)
        for part in (node.get("typeParameters"), node.get("returnType")):
            if part:
                self._type(part)
        if node.get("body"):
            self._waiting.append(node["body"])
        if node.get("id"):
            self._waiting.append(node["id"])

    def _arrow(self, node: Node) -> None:
        """An arrow function: no line may break before its parentheses or its arrow.

        So the parenthesis moves to the other end of types that cross lines.
        """
        given, result = node.get("typeParameters"), node.get("returnType")
        params: list[Node] = node["params"]
        if given:
            opening = self._skip(given["end"])
            moves = self._breaks(given["start"], opening)
            self._blank(given["start"], given["end"], "(" if moves else " ")
            if moves:
                self._blank(opening, opening + 1)
            self._name_types(given)
        if result:
            inner = params[-1]["end"] if params else given["end"] if given else node["start"]
            closing = self._find(inner, ")")
            if self._breaks(closing, result["end"]):
                self._blank(closing, closing + 1)
                self._blank(result["start"], result["end"], last=")")
            else:
                self._blank(result["start"], result["end"])
            self._name_types(result)
        self._waiting.extend(params)
        if node["body"]:
            self._waiting.append(node["body"])

    # -- classes -------------------------------------------------------------------------------

    def _class(self, node: Node) -> None:
        start, body = node["start"], node["body"]
        self._decorators(node)
        if node.get("abstract"):
            self._blank(start, start + len("abstract"))
        end = node["id"]["end"] if node["id"] else start
        for part in (node.get("typeParameters"), node.get("superTypeArguments")):
            if part:
                self._type(part)
                end = part["end"]
        if node["superClass"]:
            end = max(end, node["superClass"]["end"])
            self._waiting.append(node["superClass"])
        if node.get("implements"):
            self._blank(self._find(end, "implements"), node["implements"][-1]["end"])
            for each in node["implements"]:
                self._name_types(each)
        if self._collects and node["id"]:
            self._value_names.add(node["id"]["name"])
        for member in body["body"]:
            self._tick()
            self._class_member(node, member)

    def _class_member(self, owner: Node, member: Node) -> None:
        kind = member["type"]
        value = member.get("value")
        if kind in _TYPE_MEMBERS or member.get("declare") or _is_overload(value):
            self._decorators(member)
            self._blank(member["start"], member["end"], ";")
            self._name_types(member)
        elif kind == "AccessorProperty":
            self._refuse(member, "`accessor` is not supported; write a getter and a setter")
        elif kind == "StaticBlock":
            self._waiting.append(member)
        else:
            self._plain_member(member)
            if member.get("kind") == "constructor":
                self._parameter_properties(owner, member["value"])

    def _plain_member(self, member: Node) -> None:
        """A method or a field.

        A modifier that is the first word leaves a semicolon: without it, a computed name would
        continue the field before.
        """
        key, value, annotation = member["key"], member["value"], member.get("typeAnnotation")
        self._decorators(member)
        at = first = member["start"]
        while key is None or at < key["start"]:
            end = self._name_end(at)
            word = self._units[at:end]
            if word in _MODIFIERS:
                self._blank(at, end, ";" if at == first else " ")
            elif word not in _OTHER_MODIFIERS:
                break
            at = self._skip(end)
        if key and member["computed"]:
            self._waiting.append(key)
        end = self._end(key, at)
        if member["computed"]:
            end = self._find(end, "]") + 1
        if annotation or member.get("optional") or member.get("definite"):
            last = annotation["end"] if annotation else self._skip(end) + 1
            # `get`, a line break and the next member would be its getter
            lonely = not value and self._units[at:end] in _OTHER_MODIFIERS
            self._blank(end, last, ";" if lonely else " ")
            self._name_types(annotation)
        if value:
            self._waiting.append(value)

    def _parameter_properties(self, owner: Node, constructor: Node) -> None:
        params = [each for each in constructor["params"] if each["type"] == "TSParameterProperty"]
        if not params:
            return
        names = []
        for each in params:
            inner = each["parameter"]
            name = inner["left"] if inner["type"] == "AssignmentPattern" else inner
            names.append(self._units[name["start"] : self._name_end(name["start"])])
        opening = owner["body"]["start"] + 1
        self._insert_before(opening, "".join(f" {name};" for name in names))
        assigned = [f"this.{name} = {name}" for name in names]
        body = constructor["body"]
        statements: list[Node] = body["body"]
        calls = self._super_calls(body) if owner["superClass"] else []
        for call in calls:
            if any(_is_statement_of(each, call) for each in statements):
                self._insert_behind(call["end"], f", {', '.join(assigned)}")
            else:
                self._insert_before(call["start"], "(")
                self._insert_behind(call["end"], f", {', '.join(assigned)}, this)")
        if not calls:
            directives = [each["end"] for each in statements if each.get("directive") is not None]
            at = directives[-1] if directives else body["start"] + 1
            mark = ";" if directives else ""
            self._insert_before(at, mark + "".join(f" {each};" for each in assigned))

    def _super_calls(self, body: Node) -> list[Node]:
        """Calls of `super` in a constructor."""
        found, waiting = [], [body]
        while waiting:
            self._tick()
            node = waiting.pop()
            if node["type"] in ("FunctionDeclaration", "FunctionExpression", "ClassBody"):
                continue
            if node["type"] == "CallExpression" and (node["callee"] or {}).get("type") == "Super":
                found.append(node)
            waiting.extend(children(node))
        return found

    def _parameter_property(self, node: Node) -> None:
        self._blank(node["start"], node["parameter"]["start"])
        self._decorators(node)
        self._waiting.append(node["parameter"])

    # -- enums and namespaces ------------------------------------------------------------------

    def _statements(self, node: Node) -> None:
        """The statements of a program, a block or a case."""
        body = node["consequent"] if node["type"] == "SwitchCase" else node["body"]
        if node["type"] == "SwitchCase" and node["test"]:
            self._waiting.append(node["test"])
        self._values(body, top=node["type"] == "Program", owner="")

    def _values(self, body: list[Node], *, top: bool, owner: str) -> None:
        """Statements in one scope, in which enums and namespaces of one name are merged.

        Args:
            body: The statements.
            top: They are those of the source.
            owner: The name of the namespace that they belong to, if any.
        """
        known: dict[str, _Extended] | None = None
        for statement in body:
            self._tick()
            is_export = statement["type"] == "ExportNamedDeclaration"
            inner = (statement["declaration"] or statement) if is_export else statement
            if inner["type"] in ("TSEnumDeclaration", "TSModuleDeclaration"):
                if _is_type(inner):
                    self._erase_statement(statement)
                    continue
                if known is None:
                    known = _mergeable(body)
                self._value_declaration(statement, inner, known, top=top, owner=owner)
            elif owner and is_export:
                self._namespace_export(statement, inner, owner)
            else:
                self._waiting.append(statement)

    def _value_declaration(
        self, statement: Node, inner: Node, known: dict[str, _Extended], *, top: bool, owner: str
    ) -> None:
        """An enum or a namespace: a variable, or an extension of one in the same scope."""
        names = list(_dotted(inner["id"]))
        name = names[0]
        if self._collects:
            self._value_names.add(name)
        former = known.setdefault(name, _Extended())
        exported = statement is not inner
        member = f"{owner}.{name}" if owner and exported else ""
        if former.exists:
            opening, closing = f"void ({name} => {{", f"}})({name});"
        else:
            word = ("export var" if exported else self._keyword) if top else "let"
            target = f"{member} = " if member else ""
            opening = f"{word} {name} = {target}({name} => {{".lstrip()
            closing = f"return {name}; }})({f'{member} || ' if member else ''}{{}});"
        for outer, each in pairwise(names):
            opening += f" let {each} = {outer}.{each} = ({each} => {{"
            closing = f"return {each}; }})({outer}.{each} || {{}}); {closing}"
        if inner["type"] == "TSModuleDeclaration" and len(names) == 1:
            opening += self._inherited(name, former, inner)
        body = inner["body"]
        self._swap(statement["start"], body["start"] + 1, opening)
        is_enum = inner["type"] == "TSEnumDeclaration"
        self._swap(body["end"] - 1, body["end"], closing if is_enum else f"; {closing}")
        if is_enum:
            self._enum_members(name, body["members"], former)
        else:
            self._values(body["body"], top=False, owner=names[-1])
            former.exports.update(_exported_names(inner))
        former.begin()

    def _inherited(self, name: str, former: _Extended, inner: Node) -> str:
        """Names that former blocks of a namespace export, and this block uses."""
        if not former.exports:
            return ""
        own = _declared_names(inner["body"]["body"])[1]
        wanted = {
            found["name"]: None
            for found in self._nodes(inner["body"])
            if found["type"] == "Identifier"
            and found["name"] in former.exports
            and found["name"] not in own
        }
        for used in wanted:
            if former.exports[used]:
                self._refuse(
                    inner,
                    f"`{used}` is an exported `let` of another block of the namespace, which is not"
                    f" supported; write {name}.{used}",
                )
        return f" const {{{', '.join(wanted)}}} = {name};" if wanted else ""

    def _nodes(self, node: Node) -> Iterator[Node]:
        waiting = [node]
        while waiting:
            self._tick()
            found = waiting.pop()
            yield found
            waiting.extend(children(found))

    def _namespace_export(self, statement: Node, inner: Node, owner: str) -> None:
        kind = inner["type"]
        if statement["exportKind"] == "type" or _is_type(inner):
            self._erase_statement(statement)
            return
        if kind == "TSImportEqualsDeclaration":
            self._alias(inner, exported=statement, owner=owner)
            return
        self._waiting.append(inner)
        if inner is statement:
            return
        self._blank(statement["start"], inner["start"])
        if kind == "VariableDeclaration" and inner["kind"] != "const":
            shared = [_accessors(owner, name) for name in _bound_names(inner)]
        else:
            shared = [f" {owner}.{name} = {name};" for name in _bound_names(inner)]
        self._insert_behind(statement["end"], ";" + "".join(shared))

    def _enum_members(self, name: str, members: list[Node], former: _Extended) -> None:
        earlier = former.exports
        if not former.exists:
            self._texts[name] = set()
        texts = self._texts.setdefault(name, set())
        last = ""
        for member in members:
            self._tick()
            key, start, end = _key(member), member["start"], member["end"]
            quoted = json.dumps(key)
            self._blank_comma(end)
            at = self._skip(member["id"]["end"])
            if member["computed"]:
                at = self._skip(self._find(at, "]") + 1)
            if self._units[at : at + 1] != "=" or at >= end:
                if last and json.loads(last) in texts:
                    raise TypeScriptError(
                        f"the enum member {key} needs an initializer, because the member before it"
                        " is text",
                        start,
                    )
                number = f"{name}[{last}]"
                value = f"typeof {number} === 'number' ? {number} + 1 : void 0" if last else "0"
                self._swap(start, end, f"{name}[{name}[{quoted}] = {value}] = {quoted};")
            else:
                value_start, init = self._skip(at + 1), member["initializer"]
                if init and self._is_text(init, name):
                    texts.add(key)
                    self._swap(start, value_start, f"{name}[{quoted}] = ")
                    self._insert_behind(end, ";")
                else:
                    self._swap(start, value_start, f"{name}[{name}[{quoted}] = ")
                    self._insert_behind(end, f"] = {quoted};")
                if init:
                    self._enum_references(init, name, earlier)
                    self._waiting.append(init)
            earlier[key] = False
            last = quoted

    def _blank_comma(self, end: int) -> None:
        comma = self._skip(end)
        if self._units[comma : comma + 1] == ",":
            self._blank(comma, comma + 1)

    def _is_text(self, init: Node, name: str) -> bool:
        """Whether an initializer is a text by its form; only other members lead back to names."""
        waiting: list[Node | None] = [init]
        while waiting:
            self._tick()
            node = waiting.pop() or {"type": "Literal"}
            kind = node["type"]
            if kind == "TemplateLiteral" or (
                kind == "Literal" and isinstance(node.get("value"), str)
            ):
                return True
            if kind == "BinaryExpression" and node["operator"] == "+":
                waiting += node["left"], node["right"]
            elif kind in _WRAPPERS:
                waiting.append(node["expression"])
            elif kind == "Identifier" and node["name"] in self._texts.get(name, ()):
                return True
            elif kind == "MemberExpression":
                owner, key = node["object"] or {}, node["property"] or {}
                found = key.get("value") if node["computed"] else key.get("name")
                if found in self._texts.get(owner.get("name", ""), ()):
                    return True
        return False

    def _enum_references(self, init: Node, name: str, earlier: Container[str]) -> None:
        """Names of other members in an initializer mean members."""
        waiting = [init]
        while waiting:
            self._tick()
            node = waiting.pop()
            kind = node["type"]
            if kind == "Identifier":
                if node["name"] in earlier:
                    self._insert_before(node["start"], f"{name}.")
            elif kind == "MemberExpression":
                waiting += (
                    each for each in (node["object"], node["computed"] and node["property"]) if each
                )
            elif kind == "Property":
                value = node["value"] or {}
                if node["shorthand"] and value.get("name") in earlier:
                    self._insert_before(node["start"], f"{value['name']}: {name}.")
                elif not node["shorthand"]:
                    waiting += (
                        each for each in (node["computed"] and node["key"], node["value"]) if each
                    )
            elif not kind.startswith("TSType"):
                waiting.extend(
                    each for each in children(node) if not each["type"].startswith("TSTypeP")
                )

    _handlers: ClassVar[dict[str, Callable[[_Eraser, Node], None]]] = {
        **dict.fromkeys(("TSTypeAnnotation", "TSTypeParameterDeclaration"), _type),
        **dict.fromkeys(("TSTypeParameterInstantiation",), _type),
        **dict.fromkeys(_TYPE_STATEMENTS, _erase_statement),
        **dict.fromkeys(
            ("ClassDeclaration", "ClassExpression", "VariableDeclaration"), _declaration
        ),
        **dict.fromkeys(("FunctionDeclaration", "FunctionExpression"), _function),
        **dict.fromkeys(("TSAsExpression", "TSSatisfiesExpression"), _as),
        **dict.fromkeys(("ArrayPattern", "ObjectPattern"), _pattern),
        **dict.fromkeys(("Program", "BlockStatement", "StaticBlock", "SwitchCase"), _statements),
        **dict.fromkeys(
            ("BreakStatement", "ContinueStatement", "ImportDeclaration", "MetaProperty", "Literal"),
            _ignore,
        ),
        "ArrowFunctionExpression": _arrow,
        "ExportAllDeclaration": _export_all,
        "ExportDefaultDeclaration": _export_default,
        "ExportNamedDeclaration": _export_named,
        "Identifier": _identifier,
        "JSXIdentifier": _jsx_name,
        "LabeledStatement": _labeled,
        "MemberExpression": _member_expression,
        "Property": _property,
        "RestElement": _rest,
        "TSExportAssignment": _refuse_export_assignment,
        "TSImportEqualsDeclaration": _alias,
        "TSNonNullExpression": _non_null,
        "TSParameterProperty": _parameter_property,
        "TSTypeAssertion": _assertion,
    }


def _is_type(node: Node) -> bool:
    """Whether a declaration is only of types."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        if found.get("declare") or found.get("type") in _TYPE_STATEMENTS:
            continue
        if found.get("type") != "TSModuleDeclaration":
            return False
        for each in found["body"]["body"]:
            exported = each["type"] == "ExportNamedDeclaration"
            if not (exported and each["exportKind"] == "type"):
                waiting.append((each["declaration"] or each) if exported else each)
    return True


def _is_overload(value: Node | None) -> bool:
    return value is not None and value["type"] == "TSEmptyBodyFunctionExpression"


def _is_statement_of(statement: Node, call: Node) -> bool:
    return statement["type"] == "ExpressionStatement" and statement["expression"] is call


def _accessors(owner: str, name: str) -> str:
    """A property of a namespace that is one of its variables."""
    given = "value" if name != "value" else "given"
    return (
        f' Object.defineProperty({owner}, "{name}", {{get: () => {name},'
        f" set: ({given}) => {{ {name} = {given}; }}, enumerable: true, configurable: true}});"
    )


def _dotted(name: Node) -> Iterable[str]:
    """The names in `a.b.c`."""
    names = []
    while name["type"] == "TSQualifiedName":
        names.append(name["right"]["name"])
        name = name["left"]
    return [name.get("name") or str(name.get("value")), *reversed(names)]


def _key(member: Node) -> str:
    """The name of a member of an enum."""
    name = member["id"]
    if name["type"] == "TemplateLiteral":
        return str(name["quasis"][0]["value"]["cooked"])
    return str(name["name"] if name["type"] == "Identifier" else name["value"])


def _bound_names(declaration: Node) -> list[str]:
    """The names that a declaration binds, in the order of the source."""
    if declaration["type"] != "VariableDeclaration":
        return [_dotted_first(declaration["id"])] if declaration.get("id") else []
    names: list[str] = []
    waiting = [each["id"] for each in reversed(declaration["declarations"])]
    while waiting:
        node = waiting.pop()
        kind = node["type"]
        if kind == "Identifier":
            names.append(node["name"])
        elif kind == "AssignmentPattern":
            waiting.append(node["left"])
        elif kind == "RestElement":
            waiting.append(node["argument"])
        elif kind == "Property":
            waiting.append(node["value"])
        else:
            inner = node.get("properties") or node.get("elements") or []
            waiting.extend(each for each in reversed(inner) if each)
    return names


def _dotted_first(name: Node) -> str:
    return next(iter(_dotted(name)))


def _declared_names(body: list[Node]) -> tuple[set[str], set[str]]:
    """Names of types, and of values, that the statements declare."""
    types: set[str] = set()
    values: set[str] = set()
    for statement in body:
        inner = statement.get("declaration") or statement
        if inner["type"] == "ImportDeclaration":
            kinds = types if inner["importKind"] == "type" else values
            kinds.update(each["local"]["name"] for each in inner["specifiers"])
        elif inner.get("id") or inner["type"] == "VariableDeclaration":
            (types if _is_type(inner) and not inner.get("declare") else values).update(
                _bound_names(inner)
            )
    return types, values


def _mergeable(body: list[Node]) -> dict[str, _Extended]:
    """Functions and classes by name, which an enum or namespace of that name extends."""
    found: dict[str, _Extended] = {}
    for statement in body:
        inner = statement.get("declaration") or statement
        if inner["type"] in _MERGEABLE and inner["id"] and not inner.get("declare"):
            found[inner["id"]["name"]] = _Extended(exists=True)
    return found


def _exported_names(namespace: Node) -> dict[str, bool]:
    """Names that a namespace exports, and whether they may change."""
    if namespace["id"]["type"] != "Identifier":
        return {}
    found: dict[str, bool] = {}
    for statement in namespace["body"]["body"]:
        inner: Any = statement.get("declaration")
        if inner and not _is_type(inner):
            changes = inner["type"] == "VariableDeclaration" and inner["kind"] != "const"
            found.update(dict.fromkeys(_bound_names(inner), changes))
    return found
