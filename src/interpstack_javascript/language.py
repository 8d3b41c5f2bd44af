"""JavaScript and TypeScript as prompts, tools and editors need to know them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path, PurePath
from types import NoneType
from typing import Any, Final
from uuid import UUID

import attrs

from interpstack import (
    BridgeSet,
    CellCheck,
    EditorRules,
    GuestLanguage,
    HostTool,
    PromptWords,
)
from interpstack_javascript.cell_check import CallCheck
from interpstack_javascript.literals import literal
from interpstack_javascript.signatures import describe_fields, describe_tool

__all__ = ["JAVASCRIPT", "TYPESCRIPT"]

#: Characters that camel case drops. An underscore is dropped only before a small letter, so that
#: `v_2` and `GET_ALL` stay the same.
_JOINT: Final = r"(?a)_([a-z])|[-\s.]+_?(.?)"
#: Words that cannot name a variable in a cell.
_RESERVED: Final = """
arguments await break case catch class const continue debugger default delete do else enum eval
export extends false finally for function if implements import in instanceof interface let new null
package private protected public return static super switch this throw true try typeof var void
while with yield
"""
#: Globals of the language itself; those of single engines, such as `fetch`, may be replaced.
_GLOBALS: Final = """
AggregateError Array ArrayBuffer Atomics BigInt BigInt64Array BigUint64Array Boolean DataView Date
Error EvalError FinalizationRegistry Float32Array Float64Array Function Infinity Int16Array
Int32Array Int8Array Intl Iterator JSON Map Math NaN Number Object Promise Proxy RangeError
ReferenceError Reflect RegExp Set SharedArrayBuffer String Symbol SyntaxError TypeError URIError
Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet decodeURI
decodeURIComponent encodeURI encodeURIComponent escape globalThis isFinite isNaN parseFloat parseInt
undefined unescape
"""
#: Properties that the language reads by itself, as `await weather` reads `weather.then`.
_READ: Final = "then toJSON toLocaleString toString valueOf"
_MODULES: Final = (".js", ".mjs", ".ts", ".mts")


class _JavaScript(GuestLanguage):
    def identifier(self, name: str) -> str:
        """The name in camel case: `web_search` becomes `webSearch`. Capitals stay."""
        return re.sub(_JOINT, lambda found: (found[1] or found[2]).upper(), name.strip("- ."))

    def name_fault(self, name: str) -> str:
        return _fault_of(name, self.title)

    def literal(self, value: Any) -> str:
        return literal(value)

    def call(self, function: str, fields: Mapping[str, str]) -> str:
        listed = ", ".join(f"{name}: {value}" for name, value in fields.items())
        return f"{function}({{{listed}}})" if listed else f"{function}()"

    def usage(self, function: str, fields: Mapping[str, bool]) -> str:
        listed = ", ".join(name if needed else f"{name}?" for name, needed in fields.items())
        return f"{function}({{{listed}}})" if listed else f"{function}()"

    def fields(self, tool: HostTool) -> str:
        return describe_fields(tool)

    def signature(self, name: str, tool: HostTool) -> str:
        return describe_tool(name, tool)

    def listing(self, namespace: str, signatures: Iterable[str]) -> str:
        return "\n".join(["```ts", f"declare const {namespace}: {{", *signatures, "}", "```"])


def _follower() -> Any:
    from interpstack_javascript.nesting import Nesting  # loaded for editors only

    return Nesting()


def _type_check(bridges: BridgeSet) -> CellCheck:
    from interpstack_javascript.types.check import TypeCheck  # loaded for check="types" only

    return TypeCheck(bridges)


def _joined(sources: Sequence[str]) -> str:
    from interpstack_javascript.preparation import join_cells  # loads the parser

    return join_cells(sources)


def _fault_of(name: str, language: str) -> str:
    """A reason why code cannot call a function by its dotted name; empty if it can.

    Reserved words are names of members, as in `mail.delete`, but not of variables.

    Args:
        name: The dotted name.
        language: Title of the language, for the text.
    """
    first, *members = name.split(".")
    if first in _RESERVED.split():
        return f"{first!r} is a word of {language}; use a namespace, as in 'host.{first}'"
    if first in _GLOBALS.split():
        return f"it would replace {first!r}, a global of {language}"
    read = next((part for part in (first, *members) if part in _READ.split()), None)
    return "" if read is None else f"{language} calls {read!r} by itself; use another word"


TYPESCRIPT: Final = _JavaScript(
    name="typescript",
    title="TypeScript",
    aliases=("ts",),
    endings=(".ts", ".mts", ".cts"),
    fences=("tsx",),
    words=PromptWords(
        cells="Top-level `await` works; a promise as last expression is awaited. `let`, `const`, "
        "`class` and `function` may be declared again.",
        arguments="one object",
        calling="Each takes one object and returns a promise.",
        waiting="await {call}",
        asking='{function}("{text}")',
        together="`await` every call; run independent ones together with `await Promise.all([…])`.",
        failing="A failed call throws an `Error` with `.tool` and `.message`; catch it to go on.",
        each="await Promise.all(items.map(item => {function}({…})))",
        job_failing="A failed subagent throws an `Error`; catch it to go on with the others "
        "(`Promise.allSettled`).",
        mapping="a parsed object",
        importing='const skill = await import("{specifier}")',
        printing="`console.log` and similar methods",
        unknown="unknown",
    ),
    editor=EditorRules(
        follower=_follower,
        whole="once its brackets are closed",
        words=(
            *("Array", "Boolean", "Date", "Error", "JSON", "Map", "Math", "Number", "Object"),
            *("Promise", "RegExp", "Set", "String", "async", "await", "class", "const", "else"),
            *("false", "for", "function", "if", "let", "new", "null", "of", "return", "throw"),
            *("true", "try", "typeof", "undefined", "while"),
        ),
        joined=_joined,
    ),
    constants=frozenset({"Infinity", "NaN", "undefined"}),
    time_unit=timedelta(milliseconds=1),
    kinds={
        str: "a string",
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        bytes: "bytes",
        datetime: "a Date, or a date and time as text in ISO 8601",
        date: "a date as text in ISO 8601",
        time: "a time as text in ISO 8601",
        timedelta: "a duration as text in ISO 8601",
        Path: "a path as text",
        PurePath: "a path as text",
        UUID: "a UUID as text",
        Decimal: "a number, or a decimal number as text",
        NoneType: "null",
        list: "an array",
        set: "a Set or an array",
        dict: "an object",
    },
    helper_prefix="$",
    cell_check=CallCheck,
    type_check=_type_check,
    module_endings=(*_MODULES, ".cjs", ".cts", ".jsx", ".tsx"),
    module_entries=tuple(f"{stem}{end}" for stem in ("index", "main", "mod") for end in _MODULES),
    endless="for (;;) {}",
    hoard="const hog = []; for (;;) hog.push(new Array(10000).fill(7))",
)
JAVASCRIPT: Final = attrs.evolve(
    TYPESCRIPT,
    name="javascript",
    title="JavaScript",
    aliases=("js",),
    endings=(".js", ".mjs", ".cjs"),
    fences=("bun", "deno", "ecmascript", "es6", "jsx", "node", "nodejs"),
    dialects=(TYPESCRIPT,),
)
