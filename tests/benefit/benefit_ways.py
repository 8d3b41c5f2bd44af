"""What the oracle sends to the model's tools: single calls, calls together, or cells of code.

The oracle knows all calls of a task from its ground truth. `must_read` says before which of them a
model would have to read: where an argument stands neither in the words of the user or of the tool,
nor in what the model has read, nor in a field that code could pass on.
"""

from __future__ import annotations

import calendar
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final

import attrs
from benefit_tasks import Call, Task, leaves
from langchain_core.messages import AIMessage

from interpstack_javascript import JAVASCRIPT
from interpstack_ptc.api import guest_name

__all__ = ["WAYS", "Origin", "Step", "Traced", "Way", "origins", "programs", "traced"]

Path = tuple[str | int, ...]
#: Whole numbers below this are counts and flags that anybody might choose.
_SMALL: Final = 10
_DATE: Final = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(\d\d)(?![\d])")
_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)


class Origin(Enum):
    """Where a value in the arguments of a call comes from."""

    KNOWN = "in the words of the user or of the tool's description, a flag or a small number"
    FIELD = "a field of an earlier result"
    TEXT = "a part of the text of an earlier result"
    WRITTEN = "in none of these: the model writes it, perhaps from what it has read"


@attrs.frozen
class _Leaf:
    """One value of an argument: its origin, and for `FIELD` and `TEXT` the result and the path."""

    path: Path
    origin: Origin
    result: int = -1
    source: Path = ()


@attrs.frozen
class Traced:
    """A call of a task with its result.

    Attributes:
        number: The call's place among all calls of the task.
        call: The call.
        result: What it returned, as JSON data.
        leaves: The origin of each value in its arguments.
    """

    number: int
    call: Call
    result: Any
    leaves: Sequence[_Leaf]


@attrs.frozen
class Step:
    """What the oracle sends in one model turn, and the calls that it makes.

    Attributes:
        message: The model's message.
        calls: The calls of tools that the message leads to, in order.
        shown: Those of them whose results the model reads.
    """

    message: AIMessage
    calls: Sequence[Traced]
    shown: Sequence[Traced]


def traced(task: Task) -> list[list[Traced]]:
    """Make the calls of the ground truth in a fresh world, by turns of the user."""
    world, questions, found = task.new_world(), "", list[list[Traced]]()
    schemas = {form.name: json.dumps(attrs.asdict(form)) for form in task.tools}
    earlier: list[Traced] = []
    for turn in task.turns:
        questions += f"\n{turn.question}"
        found.append([])
        for call in turn.calls:
            known = _plain(f"{questions}\n{schemas[call.tool]}")
            origin = [
                _origin(path, value, known, earlier) for path, value in leaves(call.arguments)
            ]
            result = world.call(call.tool, call.arguments)
            found[-1].append(Traced(len(earlier), call, result, origin))
            earlier.append(found[-1][-1])
    return found


def _plain(text: str) -> str:
    """Write numbers in one form, without commas and trailing zeros, and letters in lower case."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return re.sub(r"\b(\d+)(?:\.0+|(\.\d*?[1-9])0+)\b", r"\1\2", text).casefold()


def _origin(path: Path, value: Any, known: str, earlier: Sequence[Traced]) -> _Leaf:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value in (None, True, False, "") or (is_number and value in range(_SMALL)):
        return _Leaf(path, Origin.KNOWN)
    word = _plain(f"{value:.15g}" if is_number else str(value))
    pattern = re.compile(
        rf"(?<![\w.]){re.escape(word)}(?![\w]|\.\d)" if is_number else re.escape(word)
    )
    if pattern.search(known) or _is_known_day(word, known):
        return _Leaf(path, Origin.KNOWN)
    for one in reversed(earlier):
        for source, found in leaves(one.result):
            if type(found) is type(value) and found == value:
                return _Leaf(path, Origin.FIELD, one.number, source)
    for one in reversed(earlier):
        if pattern.search(_plain(json.dumps(one.result, ensure_ascii=False))):
            return _Leaf(path, Origin.TEXT, one.number)
    return _Leaf(path, Origin.WRITTEN)


def _is_known_day(word: str, known: str) -> bool:
    """Tell whether a date, or a date with a time, stands there with the name of its month."""
    found = _DATE.match(word)
    if not found:
        return False
    month, day = int(found[1]), int(found[2])
    names = [name[month].casefold() for name in (calendar.month_name, calendar.month_abbr)]
    spoken = re.search(rf"\b{day}(st|nd|rd|th)?\b", known)
    return bool(spoken) and any(re.search(rf"\b{name}\b", known) for name in names)


def origins(calls: Sequence[Traced]) -> set[Origin]:
    """Return the origins of all values in the arguments of calls.

    A value that the model writes counts only after a call, when there is something to read.
    """
    return {
        leaf.origin
        for one in calls
        for leaf in one.leaves
        if leaf.origin is not Origin.WRITTEN or one.number
    }


def _must_read(call: Traced, unread: Sequence[Traced], *, by_code: bool) -> bool:
    """Tell whether a model that has not read these results would have to, before this call."""
    numbers = {one.number for one in unread}
    for leaf in call.leaves:
        if leaf.origin is Origin.WRITTEN and unread:
            return True
        if leaf.origin is Origin.TEXT and leaf.result in numbers:
            return True
        if leaf.origin is Origin.FIELD and leaf.result in numbers and not by_code:
            return True
    return False


def _all_in_one(calls: Sequence[Traced]) -> list[list[Traced]]:
    return [list(calls)] if calls else []


def _one_by_one(calls: Sequence[Traced]) -> list[list[Traced]]:
    return [[one] for one in calls]


def _reading(by_code: bool) -> Callable[[Sequence[Traced]], list[list[Traced]]]:
    def cut(calls: Sequence[Traced]) -> list[list[Traced]]:
        groups: list[list[Traced]] = []
        for one in calls:
            if not groups or _must_read(one, groups[-1], by_code=by_code):
                groups.append([])
            groups[-1].append(one)
        return groups

    return cut


@attrs.frozen(kw_only=True)
class Way:
    """One way of doing a task.

    Attributes:
        title: What tables call it.
        cut: Cuts the calls of a user's turn into those of each model turn.
        by_code: Whether each part is a cell of code, and not calls of the model.
        single_by_call: Whether the model makes a single call itself even if it has code.
        tools_only: Whether the model sees only the interpreter's tool.
        leaves_out: Whether a cell leaves out the results of which it passed a field on.
    """

    title: str
    cut: Callable[[Sequence[Traced]], list[list[Traced]]]
    by_code: bool = True
    single_by_call: bool = False
    tools_only: bool = False
    leaves_out: bool = False


WAYS: Final[Mapping[str, Way]] = {
    "calls": Way(title="one call a model turn", cut=_one_by_one, by_code=False),
    "calls_reading": Way(
        title="calls together, unless the model must read first", cut=_reading(False), by_code=False
    ),
    "calls_together": Way(title="all calls of a question together", cut=_all_in_one, by_code=False),
    "code_reading": Way(
        title="cells of code, unless the model must read first", cut=_reading(True)
    ),
    "code": Way(title="one cell of code a question", cut=_all_in_one),
    "code_less": Way(
        title="… without the results whose fields it passed on", cut=_all_in_one, leaves_out=True
    ),
    "code_mixed": Way(
        title="… but a single call without code", cut=_all_in_one, single_by_call=True
    ),
    "code_only": Way(title="… and the model sees no other tool", cut=_all_in_one, tools_only=True),
}


def programs(way: Way, calls: Sequence[Traced], *, unseen: Sequence[str] = ()) -> Iterator[Step]:
    """Give the steps that make the calls of one turn of the user.

    Args:
        way: How the calls are made.
        calls: The calls.
        unseen: Tools of these calls whose signatures the model has not seen; code asks for them
            first, as the prompt advises.
    """
    if unseen:
        names = ", ".join(json.dumps(guest_name(one, JAVASCRIPT)) for one in unseen)
        code = f"await Promise.all([{names}].map(name => tools.$describe(name)))"
        yield Step(_message([("eval", {"code": code})], calls, "signatures"), [], [])
    for part in way.cut(calls):
        if way.by_code and not (way.single_by_call and len(calls) == 1):
            shown = _not_passed_on(part) if way.leaves_out else part
            message = _message([("eval", {"code": _cell(part, shown)})], part, "cell")
            yield Step(message, part, shown)
        else:
            made = [(one.call.tool, one.call.arguments) for one in part]
            yield Step(_message(made, part, "call"), part, part)


def _message(
    made: Sequence[tuple[str, Mapping[str, Any]]], part: Sequence[Traced], kind: str
) -> AIMessage:
    first = part[0].number
    calls = [
        {
            "name": name,
            "args": dict(arguments),
            "id": f"{kind}-{first + index}",
            "type": "tool_call",
        }
        for index, (name, arguments) in enumerate(made)
    ]
    return AIMessage("", tool_calls=calls)


def _not_passed_on(part: Sequence[Traced]) -> list[Traced]:
    """Return the calls without those that a later call of the cell takes a field from."""
    used = {leaf.result for one in part for leaf in one.leaves if leaf.origin is Origin.FIELD}
    return [one for one in part if one.number not in used]


def _cell(part: Sequence[Traced], shown: Sequence[Traced]) -> str:
    """Write the cell that makes these calls in order and returns the results to be shown."""
    inside = {one.number: f"r{index}" for index, one in enumerate(part)}
    awaits = [f"await {_source(one, inside)}" for one in part]
    passes = any(
        leaf.origin is Origin.FIELD and leaf.result in inside for one in part for leaf in one.leaves
    )
    if len(part) == 1:
        return awaits[0]
    if not passes:
        return "[\n" + ",\n".join(awaits) + "\n]"
    lines = [f"const {name} = {one};" for name, one in zip(inside.values(), awaits, strict=True)]
    return "\n".join([*lines, f"[{', '.join(inside[one.number] for one in shown)}]"])


def _source(one: Traced, inside: Mapping[int, str]) -> str:
    """Write one call, with fields of earlier results of the cell in place of their values."""
    fields = {
        leaf.path: inside[leaf.result] + "".join(map(_member, leaf.source))
        for leaf in one.leaves
        if leaf.origin is Origin.FIELD and leaf.result in inside
    }
    arguments = _literal(one.call.arguments, (), fields) if one.call.arguments else ""
    return f"tools.{guest_name(one.call.tool, JAVASCRIPT)}({arguments})"


def _member(key: str | int) -> str:
    return f".{key}" if isinstance(key, str) and _NAME.fullmatch(key) else f"[{json.dumps(key)}]"


def _literal(value: Any, path: Path, fields: Mapping[Path, str]) -> str:
    if path in fields:
        return fields[path]
    if isinstance(value, Mapping):
        pairs = [
            f"{_key(key)}: {_literal(one, (*path, key), fields)}" for key, one in value.items()
        ]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(_literal(one, (*path, n), fields) for n, one in enumerate(value))}]"
    return json.dumps(value, ensure_ascii=False)


def _key(key: str) -> str:
    return key if _NAME.fullmatch(key) else json.dumps(key)
