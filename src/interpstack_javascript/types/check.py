"""Which faults of a cell its types tell, in the words of the other check."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

import attrs

from interpstack.contracts.bridges import BridgeSet
from interpstack.contracts.cell_checks import CellCheck, CellUnchecked
from interpstack.contracts.errors import EngineFailure
from interpstack.contracts.protocol import Cell, GuestError
from interpstack.guests import EarlyFault, cut, lacking, missing_function, refused
from interpstack.values.known_parts import UNKNOWN, OpenFields
from interpstack_javascript.advice.advising import hint_for_name
from interpstack_javascript.cell_check import CallCheck
from interpstack_javascript.cells import CellTimeout, ThreadClock, escape
from interpstack_javascript.checking import is_hidden
from interpstack_javascript.errors import SourceError, TypeScriptError
from interpstack_javascript.parser.parsing import units_of
from interpstack_javascript.preparation import index_of, read
from interpstack_javascript.types.declarations import declarations
from interpstack_javascript.types.service import CheckerSilent, checker, checker_node
from interpstack_javascript.typescript import type_edits

__all__ = ["TypeCheck"]

#: Characters of a cell that is checked. Larger ones hold data for the most part.
_CHARS: Final = 65_536
#: Seconds for the reading of a cell.
_SECONDS: Final = 0.25
#: Cells that passed, which are remembered with the types of their variables.
_PASSED: Final = 64
#: Variables and added members that are remembered.
_VARIABLES: Final = 500
_ADDED: Final = 500
_WORD: Final = re.compile(r"[A-Za-z_$]")
#: Words for what a value is.
_KINDS: Final = {
    "array": "an array",
    "boolean": "true or false",
    "number": "a number",
    "object": "an object",
    "promise": "a Promise; put await before the call",
    "string": "a string",
}
#: Words for what a value is that is used as another.
_USED: Final = {
    "Array": "an array",
    "boolean": "a boolean",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}
#: Values of a kind: what a function takes in place of another kind, it takes of one of them.
_SAMPLES: Final[Mapping[str, Sequence[Any]]] = {
    "array": ([], ["x"], [1], [{}]),
    "boolean": (True, False),
    "number": (0, 1, 7.5, -1, 1_700_000_000),
    "object": ({}, {"x": 1}),
    "promise": ({},),
    "string": (
        *("x", "", "0", "1", "3.5", "true", "null", "[]", "{}", "2024-01-31", "12:30:00"),
        *("2024-01-31T12:30:00Z", "P1D", "/a", "a@b.example", "https://a.example/"),
        "00000000-0000-4000-8000-000000000000",
    ),
}
_Members = Callable[[Sequence[str]], Sequence[str]]


@attrs.frozen(eq=False, repr=False)
class _CellTypes:
    """What a cell that passed tells later checks.

    Attributes:
        variables: Types of its variables by name.
        added: Names of members that it, or an earlier cell, added to values.
    """

    variables: Mapping[str, str]
    added: Sequence[str]


class TypeCheck(CellCheck):
    """Finds what the compiler of TypeScript knows to be wrong, and what `CallCheck` finds.

    Args:
        bridges: The functions on offer.

    Raises:
        EngineUnavailable: There is no Node that could check.
    """

    def __init__(self, bridges: BridgeSet) -> None:
        checker_node()
        self._bridges = bridges
        self._calls = CallCheck(bridges)
        self._variables: dict[str, str] = {}
        self._added: tuple[str, ...] = ()
        self._last: tuple[Cell, _CellTypes] | None = None

    @cached_property
    def _declared(self) -> str:
        return declarations(self._bridges)

    @cached_property
    def _yielding(self) -> frozenset[str]:
        return frozenset(one.name.partition(".")[0] for one in self._bridges if one.yields)

    def looks_at(self, cell: Cell) -> bool:
        self._last = None
        return _WORD.search(cell.source) is not None

    def refusal(self, cell: Cell, members: _Members) -> GuestError | None:
        faults = [*self._calls.faults(cell, members)] if self._calls.looks_at(cell) else []
        unchecked: CellUnchecked | None = None
        try:
            faults += self._typed(cell, members, {fault.offset for fault in faults})
        except CellUnchecked as error:
            unchecked = error
        if faults:
            return refused(cell, faults)
        if unchecked is not None:
            raise unchecked
        return None

    def ended(self, cell: Cell, *, ok: bool) -> None:
        last, self._last = self._last, None
        if last is None or last[0] is not cell:
            if _WORD.search(cell.source) is not None:
                self.forget()
            return
        checked = last[1]
        self._added = tuple(checked.added)[:_ADDED]
        for name, kind in checked.variables.items():
            self._variables.pop(name, None)
            self._variables[name] = kind if ok else "any"
        while len(self._variables) > _VARIABLES:
            del self._variables[next(iter(self._variables))]

    def forget(self) -> None:
        self._variables.clear()
        self._added = ()
        self._last = None

    def follow(self, before: CellCheck) -> None:
        if isinstance(before, TypeCheck):
            self._variables, self._added = before._variables, before._added  # noqa: SLF001

    # -- the types of a cell ---------------------------------------------------------------------

    def _typed(self, cell: Cell, members: _Members, known: set[int]) -> list[EarlyFault]:
        if len(cell.source) > _CHARS:
            raise _unchecked(f"it has more than {_CHARS:,} characters")
        plain = _plain(cell.source, cell.language)
        if plain is None:  # the run says why
            return []
        text, added_at = plain
        declared = self._declared
        hiding = {
            root
            for root in self._yielding
            if root in cell.source and is_hidden(root, cell.source, self._bridges, members)
        }
        if hiding:
            declared = declarations(self._bridges, hiding)
        request = {
            "declarations": declared,
            "variables": self._variables,
            "cell": text,
            "added": list(self._added),
        }
        try:
            answer = checker().ask(request)
            found, checked = _read(answer)
        except CheckerSilent as error:
            raise _unchecked(str(error)) from None
        self._last = cell, checked
        faults: list[EarlyFault] = []
        for one in found:
            unit = int(one["at"])
            offset = index_of(cell.source, unit if unit < added_at else max(unit - 2, added_at))
            if offset in known or index_of(cell.source, max(int(one.get("from", 0)), 0)) in known:
                continue
            text = _MESSAGES[one["kind"]](self, one, members)
            if text:
                name = "ReferenceError" if one["kind"] == "name" else "TypeError"
                faults.append(EarlyFault(offset, GuestError(name, text)))
        return faults

    def _member(self, fault: Mapping[str, Any], members: _Members) -> str:
        name, holder, space = fault["name"], fault["holder"], fault["space"]
        if any(name in _members(members, path) for path in fault["ask"]):
            return ""
        if space:
            return missing_function([*space.split("."), name], self._bridges)
        held = cut(holder) or "the value"
        if fault["type"] == "object":
            return lacking(held, name, fault["keys"])
        there = [one for path in fault["ask"] for one in _members(members, path)]
        if len(fault["ask"][0]) == 1:  # a global, such as Math
            return lacking(held, name, there, lists=False)
        if fault["type"] == "Promise":
            step = f"; write (await {held}).{cut(name)}" if holder else ""
            return lacking(f"{held} is {_promise(fault)}; it", name, (), lists=False) + step
        near = [one for one in there if one != "constructor"]
        return lacking(f"{held} is {_kind(fault)}; it", name, near, lists=False)

    def _name(self, fault: Mapping[str, Any], members: _Members) -> str:
        name = fault["name"]
        there = _members(members, ())
        if name in there or name in _members(members, ("globalThis",)) or not there:
            return ""
        hint = hint_for_name(name, self._bridges, there)
        return f"{name} is not defined{f'; {hint}' if hint else ''}"

    def _call(self, fault: Mapping[str, Any], members: _Members) -> str:
        return f"{cut(fault['name'])} is {_kind(fault)}, not a function"

    def _iterate(self, fault: Mapping[str, Any], members: _Members) -> str:
        name = cut(fault["name"])
        if fault["type"] == "Promise":
            return f"{name} is {_promise(fault)}, which has no elements; write await {name}"
        return f"{name} is {_kind(fault)}, which has no elements"

    def _promise(self, fault: Mapping[str, Any], members: _Members) -> str:
        name = cut(fault["name"])
        return f"{name} is {_promise(fault)}, not its value; write await {name}"

    def _input(self, fault: Mapping[str, Any], members: _Members) -> str:
        bridge = self._bridges.get(fault["name"])
        if bridge is None or bridge.hidden or not bridge.awaited or bridge.positional:
            return ""
        kinds: list[Mapping[str, str]] = []
        error = bridge.fault(_value(fault["value"], kinds), self._bridges.language)
        if error is not None:
            return error.message
        if not kinds:
            return ""
        for number in range(max(len(_SAMPLES[one["kind"]]) for one in kinds)):
            value = _value(fault["value"], [], number)
            if bridge.fault(value, self._bridges.language) is None:
                return ""
        first = kinds[0]
        takes = _taken(first["takes"])
        what = f": field {first['path']!r}" if first["path"] else ""
        return f"{bridge.name}{what} takes {takes}; got {_KINDS[first['kind']]}"


_MESSAGES: Final[Mapping[str, Callable[[TypeCheck, Mapping[str, Any], _Members], str]]] = {
    "call": TypeCheck._call,  # noqa: SLF001
    "input": TypeCheck._input,  # noqa: SLF001
    "iterate": TypeCheck._iterate,  # noqa: SLF001
    "member": TypeCheck._member,  # noqa: SLF001
    "name": TypeCheck._name,  # noqa: SLF001
    "promise": TypeCheck._promise,  # noqa: SLF001
}


def _unchecked(why: str) -> CellUnchecked:
    return CellUnchecked(f"The types of this cell were not checked: {why}.")


@lru_cache(maxsize=_PASSED)
def _plain(source: str, language: str | None) -> tuple[str, int] | None:
    """The units of a cell as JavaScript at the same places; `None` if it cannot be read.

    Beside them, the place from which all is two units further.
    """
    if escape(source) != source:
        return None
    clock = ThreadClock(_SECONDS, lambda: False)
    try:
        reading = read(source, language, clock)
        units = units_of(source)
        edits = []
        if reading.is_typescript:
            edits = type_edits(reading.program, units, pause=clock.pause)
    except (SourceError, TypeScriptError, CellTimeout):
        return None
    text = _blanked(units, edits)
    final = reading.final
    if text is None or final is None:
        return None if text is None else (text, len(units) + 1)
    start, end = final["start"], final["end"]
    return f"{text[:start]};({text[start:end]}){text[end:]}", start


def _blanked(units: str, edits: Sequence[tuple[int, int, str]]) -> str | None:
    """The units of a source with types blanked; `None` if code would stand in their place."""
    parts, at = [], 0
    for start, end, text in edits:
        if len(text) > end - start:
            return None
        parts += [units[at:start], text, " " * (end - start - len(text))]
        at = end
    parts.append(units[at:])
    return "".join(parts)


def _members(members: _Members, path: Sequence[str]) -> Sequence[str]:
    try:
        return members(path)
    except EngineFailure:
        return ()


def _kind(fault: Mapping[str, Any]) -> str:
    return _USED.get(fault["type"], f"a {fault['type']}")


def _promise(fault: Mapping[str, Any]) -> str:
    return f"a Promise of {fault['call']}" if fault["call"] else "a Promise"


def _taken(kind: str) -> str:
    words = {"string": "a string", "number": "a number", "boolean": "true or false"}
    if kind.endswith("[]"):
        return "an array"
    return words.get(kind, "an object" if kind.startswith("{") else cut(kind))


def _value(given: Any, kinds: list[Mapping[str, str]], number: int | None = None) -> Any:
    """An input as functions are asked about it; kinds are unknown, or the samples of a number."""
    if not isinstance(given, dict):
        return UNKNOWN
    if "lit" in given:
        return given["lit"]
    if "kind" in given:
        kinds.append(given)
        samples = _SAMPLES[given["kind"]]
        return UNKNOWN if number is None else samples[min(number, len(samples) - 1)]
    if "list" in given:
        return [_value(one, kinds, number) for one in given["list"]]
    if "each" in given:
        return [_value(given["each"], kinds, number)]
    fields = {key: _value(one, kinds, number) for key, one in given["fields"].items()}
    return OpenFields(fields) if given["open"] else fields


def _read(answer: Mapping[str, Any]) -> tuple[Sequence[Mapping[str, Any]], _CellTypes]:
    """The faults and the rest of an answer."""
    faults = [one for one in answer["faults"] if one["kind"] in _MESSAGES]
    variables = {str(k): str(v) for k, v in answer["variables"].items()}
    return faults, _CellTypes(variables, tuple(map(str, answer["added"])))
