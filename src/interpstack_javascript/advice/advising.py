"""Advice for a cell that failed, or that ended with `undefined`.

What decides is the class of the error, its place, the tree of the cell there, and what the guest
has; a stack may name any place, so what the tree names there is always looked at in the guest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from interpstack.contracts.bridges import BridgeSet
from interpstack.contracts.protocol import Cell, Completion, GuestError
from interpstack.guests import (
    Looked,
    cut,
    function_named,
    lacking,
    meant_name,
    members,
    missing_function,
    shown_functions,
)
from interpstack_javascript.advice.absent_globals import instead_of, instead_of_module
from interpstack_javascript.advice.named_paths import (
    PASSING,
    FaultPlace,
    Path,
    Suspect,
    last_path,
    last_value,
    suspects,
)
from interpstack_javascript.edits import LINE_BREAK
from interpstack_javascript.parser.parsing import FUNCTIONS, Node, children, parse, units_of
from interpstack_javascript.readings import other_reading
from interpstack_javascript.scripts import ENDLESS

__all__ = ["Look", "advised", "hint_for_name", "noticed"]

#: Asks the guest what it has along these paths; none where it cannot be asked.
Look = Callable[[Sequence[Path]], Sequence[Looked]]

#: Characters of a cell that is read again, and seconds for that.
_CHARS: Final = 100_000
_SECONDS: Final = 0.25
#: Steps of a path that are shown.
_SHOWN: Final = 12
#: The guest's words for kinds of values, as they are shown.
_KINDS: Final = {
    "array": "an array",
    "bigint": "a bigint",
    "boolean": "a boolean",
    "function": "a function",
    "Map": "a Map",
    "number": "a number",
    "object": "an object",
    "Promise": "a promise",
    "Set": "a Set",
    "string": "a string",
    "symbol": "a symbol",
}
_ITERABLE: Final = frozenset({"array", "Map", "Set", "string"})
#: Members of values that are no plain objects, which a missing name may be meant for.
_MEMBERS: Final = {
    "array": (
        "at concat entries every fill filter find findIndex findLast findLastIndex flat flatMap "
        "forEach includes indexOf join keys lastIndexOf length map pop push reduce reduceRight "
        "reverse shift slice some sort splice toReversed toSorted toSpliced unshift values with"
    ),
    "string": (
        "at charAt charCodeAt codePointAt concat endsWith includes indexOf lastIndexOf length "
        "localeCompare match matchAll normalize padEnd padStart repeat replace replaceAll search "
        "slice split startsWith substring toLowerCase toUpperCase trim trimEnd trimStart"
    ),
    "Map": "clear delete entries forEach get has keys set size values",
    "Set": "add clear delete entries forEach has keys size values",
    "number": "toFixed toPrecision toString",
    "Promise": "then catch finally",
}
_OF_ARRAYS: Final = frozenset(_MEMBERS["array"].split()) - {"keys", "values", "entries"}
#: Messages of engines: where there is nothing to read or set a member of, where something has no
#: elements, is no function, and where `undefined` or `null` stands for an object.
_NOTHING: Final = (
    r"cannot (read|set) property '(?P<member>.*)' of (undefined|null)",
    r"Cannot (read|set) properties of (undefined|null) \((reading|setting) '(?P<member>.*)'\)",
)
_ITERATED: Final = re.compile(r"not iterable|Symbol\.iterator|^Spread syntax ")
_CALLED: Final = re.compile(r"(^| is )not a (function|constructor)")
_CONVERTED: Final = re.compile(r"^Cannot convert undefined or null to object|^Cannot destructure ")
#: All that QuickJS says.
_NO_FUNCTION: Final = "not a function"
_IDENTIFIER: Final = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")


def advised(error: GuestError, cell: Cell, bridges: BridgeSet | None, look: Look) -> GuestError:
    """The error of a cell with what is missing, and what is there instead, if that can be found.

    Args:
        error: A `TypeError`, a `ReferenceError`, or that of a missing module.
        cell: The cell, as the user wrote it.
        bridges: The functions on offer.
        look: Asks the guest.
    """
    units = units_of(cell.source) if len(cell.source) <= _CHARS else ""
    place = _place(error.stack, cell.name, units) if units else None
    program = None if place is None else _tree(cell)
    if place is None or program is None:
        return error
    if error.name not in ("ReferenceError", "TypeError"):
        advice = _about_module(program, place, bridges)
    else:
        found = suspects(program, units, place)
        if error.name == "ReferenceError":
            advice = _about_name(found, program, bridges, look)
        else:
            advice = _about_value(found, place, error.message, bridges, look)
    return attrs.evolve(error, message=error.message + advice) if advice else error


def noticed(cell: Cell, completion: Completion, bridges: BridgeSet | None, look: Look) -> str:
    """A notice for a cell whose value is not what its author meant; empty if it may be.

    It is `undefined` because a property is missing, or it is a function that was not called.
    """
    if len(cell.source) > _CHARS:
        return ""
    program = _tree(cell)
    if completion.handle:
        return "" if program is None else _uncalled(program, units_of(cell.source), bridges)
    path, is_list = ((), False) if program is None else last_path(program, units_of(cell.source))
    if not path or is_list is completion.undefined:
        return ""
    answers = look([path])
    if not answers or answers[0].found != "missing" or not answers[0].every:
        return ""
    return _missing(answers[0])


def _uncalled(program: Node, units: str, bridges: BridgeSet | None) -> str:
    node = last_value(program)
    if node is None or program["body"][-1]["type"] == "VariableDeclaration":
        return ""
    if node["type"] in FUNCTIONS:
        word = ("async ", "await ") if node.get("async") else ("", "")
        call = f"{word[1]}({word[0]}() => {{ … }})()"
        return f"The value is a function, and none of its code has run: call it, as in {call}."
    path, _ = last_path(program, units)
    name = ".".join(map(str, path))
    if bridges is None or not any(one.name == name and one.awaited for one in bridges):
        return ""
    return f"The value is the function {name}, which was not called: write await {name}(…)."


def _tree(cell: Cell) -> Node | None:
    tried = []
    for ending in ("js", "mjs", "ts", "mts"):
        if cell.language == "typescript" and ending in ("js", "mjs"):
            continue
        parsed = parse(cell.source, name=f"cell.{ending}", seconds=_SECONDS)
        if not parsed.faults:
            return parsed.program
        tried.append((ending, parsed))
    reading = other_reading(cell.source, tried, ENDLESS)  # one with `return`, or with an object
    return None if reading is None else reading.program


def _place(stack: str, name: str, units: str) -> FaultPlace | None:
    """The place that the first line of a stack names in the cell; `None` if it names none."""
    top = stack.partition("\n")[0]
    pattern = rf"\(?{re.escape(name)}(?::(\d{{1,9}}))?(?::(\d{{1,9}}))?\)?\s*"
    start = top.rfind(f"({name}") if f"({name}" in top else top.rfind(name)
    found = re.fullmatch(pattern, top[start:]) if start >= 0 else None
    if found is None or not top.lstrip().startswith("at "):
        return None
    if found[1] is None:
        return FaultPlace(0, len(units), None, has_line=False)
    ends = [0, *(each.end() for each in LINE_BREAK.finditer(units)), len(units) + 1]
    line = int(found[1])
    if not 0 < line < len(ends):
        return None
    start, end = ends[line - 1], ends[line] - 1
    at = None if found[2] is None else start + int(found[2]) - 1
    return FaultPlace(start, end, at if at is None or at <= end + 1 else None)


# -- a name that is not there --------------------------------------------------------------------


def _about_name(
    found: Sequence[Suspect], program: Node, bridges: BridgeSet | None, look: Look
) -> str:
    names = dict.fromkeys(str(one.path[0]) for one in found if one.use == "name")
    answers = look([(name,) for name in names]) if names else ()
    for name, answer in zip(names, answers, strict=False):
        if answer.found == "missing":
            member = next(
                (str(one.path[1]) for one in found if one.path[:1] == (name,) and one.path[1:]), ""
            )
            hint = _instead(name, member, program, bridges, answer)
            return f"; {hint}" if hint else ""
    return ""


def _instead(
    name: str, member: str, program: Node, bridges: BridgeSet | None, answer: Looked
) -> str:
    own = answer.keys[: max(answer.count, 0)]
    hint = ""
    if name == "require" and (specifier := _required(program)):
        hint = instead_of_module(specifier, shown_functions(bridges))
    hint = hint or hint_for_name(name, bridges, answer.keys, member)
    if hint:
        return hint
    if 0 < len(own) <= _SHOWN:
        return f"the variables are {', '.join(map(cut, own))}"
    return ""


def hint_for_name(
    name: str, bridges: BridgeSet | None, names: Sequence[str], member: str = ""
) -> str:
    """What is there instead of a name; empty if nothing is.

    Args:
        name: The missing name.
        bridges: The functions on offer.
        names: Names of the guest's variables.
        member: The member of it that the code names.
    """
    there = [key for key in names if not key.startswith("$") and key != "undefined"]
    meant = function_named(name, bridges)
    if meant:
        return f"did you mean {meant}?"
    hint = instead_of(name, shown_functions(bridges), there)
    if hint:
        return hint
    # As in `functions.search`, or else a name that is near.
    meant = (member and function_named(member, bridges)) or meant_name(name, bridges, there)
    return f"did you mean {meant}?" if meant else ""


def _required(program: Node) -> str:
    """The first text that `require` is called with."""
    for node in _nodes(program):
        if node["type"] == "CallExpression" and node["callee"].get("name") == "require":
            value = node["arguments"][0].get("value") if node["arguments"] else None
            return value if isinstance(value, str) else ""
    return ""


def _about_module(program: Node, place: FaultPlace, bridges: BridgeSet | None) -> str:
    for node in _nodes(program):
        if node["type"] not in ("ImportDeclaration", "ImportExpression"):
            continue
        if node["start"] <= place.end and node["end"] >= place.start:
            value = node["source"].get("value")
            if isinstance(value, str):
                hint = instead_of_module(value, shown_functions(bridges))
                if hint:
                    return f"; {hint}"
    return ""


def _nodes(program: Node) -> Sequence[Node]:
    found, waiting = list[Node](), [program]
    while waiting and len(found) < _CHARS // 4:
        node = waiting.pop()
        found.append(node)
        waiting += reversed(list(children(node)))
    return found


# -- a value that is not there -------------------------------------------------------------------


def _about_value(
    found: Sequence[Suspect],
    place: FaultPlace,
    message: str,
    bridges: BridgeSet | None,
    look: Look,
) -> str:
    found = [one for one in found if one.use != "name" and _may_say(message, one)]
    paths = list(dict.fromkeys(path for one in found for path in (one.path, one.source) if path))
    answers = dict(zip(paths, look(paths), strict=False)) if paths else {}
    for one in found:
        for path in (one.path, one.source):
            said = missing_function(path, bridges)
            if said:
                return f": {said}"
        said = _failing(one, answers)
        if said:
            return f": {said}"
        is_alone = place.at is None and place.has_line and len(found) == 1
        is_there = (place.at == one.mark or is_alone) and one.text and one.use == "read"
        if is_there and (not one.path or one.path not in answers):
            return _as_written(one, message)
        if is_there and answers[one.path].found == "unknown":
            return _as_written(one, message)
    return ""


def _may_say(message: str, one: Suspect) -> bool:
    """Whether an engine says this of a part of a cell that fails.

    The place alone does not tell: it may be in a function of an earlier cell, whose frames have the
    same name, and what a built-in or the code itself throws has a place in the cell, too.
    """
    nothing = next(filter(None, (re.fullmatch(each, message) for each in _NOTHING)), None)
    if _ITERATED.search(message):
        return one.use == "iterate" or (one.use == "read" and not one.is_member)
    if nothing is not None:
        return one.use == "read" and (not one.member or one.member == nothing["member"])
    if _CALLED.search(message):
        return one.use == "call" or one.is_called
    return _CONVERTED.search(message) is not None and one.use == "read" and not one.is_member


def _as_written(one: Suspect, message: str) -> str:
    """What a part fails with that the guest cannot be asked about.

    The engine's message decides: a function that is there, and throws, has the same place.
    """
    if one.text in ("null", "undefined"):
        return ""
    if not _CALLED.search(message):
        is_nothing = re.search(r"\b(undefined|null)\b", message)
        return f": {one.text} is undefined or null" if is_nothing else ""
    is_native = message == _NO_FUNCTION  # QuickJS says no more, also where a callback is none
    if not one.is_called or not one.member or (is_native and one.member in PASSING):
        return ""
    if not is_native and not message.endswith(f".{one.member} is {_NO_FUNCTION}"):
        return ""
    if one.member == "then":
        return f": {one.text} is no promise: await has its value; leave out .then"
    return f": {one.text} has no function {cut(one.member)!r}"


def _failing(one: Suspect, answers: dict[Path, Looked]) -> str:
    """What a part of a cell fails with, as the guest is now; empty if it does not fail."""
    answer = answers.get(one.path)
    if answer is None or answer.found == "unknown":
        return ""
    if answer.found == "value":
        if one.use == "call" and answer.kind != "function":
            return f"{_shown(answer.at)} is {_kind(answer)}, not a function"
        if one.use == "iterate" and answer.kind not in _ITERABLE and answer.kind != "object":
            return f"{_shown(answer.at)} is {_kind(answer)}, which has no elements"
        if one.use == "iterate" and answer.kind == "object" and answer.keys:
            has = members(answer.keys, answer.more)
            return f"{_shown(answer.at)} is an object, not an array; it has {has}"
        return ""
    if answer.found == "missing":
        if len(answer.at) == 1:
            return ""  # no variable: a `ReferenceError` says so
        return _missing(answer)
    said = f"{_shown(answer.at)} is {answer.found}"
    source = answers.get(one.source)
    if source is not None and len(answer.at) == 1 and source.found == "missing":
        return f"{said}: {_missing(source)}" if len(source.at) > 1 else said
    return said


def _missing(answer: Looked) -> str:
    """Say that something lacks the last step, and what it has."""
    holder, name = _shown(answer.at[:-1]), answer.at[-1]
    if answer.kind == "array" and isinstance(name, int):
        return f"{holder} is an array of {answer.count}; it has no [{name}]"
    if answer.kind == "object":
        if not answer.keys:
            return f"{holder} has no {cut(str(name))!r}; it is an empty object"
        is_method = name in _OF_ARRAYS and name not in answer.keys
        called = f"{holder} is an object, not an array; it" if is_method else holder
        return lacking(called, str(name), answer.keys, answer.more)
    if answer.kind == "Promise":
        return f"{holder} is a promise; await it, as in (await {holder}){_shown(('', name))}"
    known = _MEMBERS.get(answer.kind, "").split()
    text = lacking(f"{holder} is {_kind(answer)}; it", str(name), known, lists=False)
    if text.endswith("?"):
        return text
    if answer.kind == "Map":
        return f"{text}; {holder}.get(key) reads its entries"
    if answer.kind == "string" and answer.head in ("{", "["):
        return f"{text}; JSON.parse({holder}) reads it"
    if answer.kind == "function":
        return f"{text}; call it first"
    return text


def _kind(answer: Looked) -> str:
    text = _KINDS.get(answer.kind, f"of type {cut(answer.kind)}")
    return f"{text} of {answer.count}" if answer.kind in ("array", "Map", "Set") else text


def _shown(path: Sequence[str | int]) -> str:
    """A path as code writes it."""
    parts = []
    for index, step in enumerate(path[:_SHOWN]):
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif index == 0:
            parts.append(cut(step))
        elif _IDENTIFIER.fullmatch(step):
            parts.append(f".{cut(step)}")
        else:
            parts.append(f'["{cut(step)}"]')
    return "".join(parts) + ("…" if len(path) > _SHOWN else "")
