"""Two evals, or two conversations, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from interpstack_inspect.contract.records import (
    Conversation,
    EvalRecord,
    EvalSummary,
    InnerCall,
    PauseEvent,
    Turn,
)
from interpstack_inspect.shown.answers import answer_parts
from interpstack_inspect.shown.differences import Part, aligned, alone, parted

__all__ = ["Pair", "Section", "Side", "compared_conversations", "compared_evals"]

#: Entries around a difference that are shown; those farther off are counted.
_AROUND: Final = 3
#: Entries of a section that are shown.
_MOST_ROWS: Final = 1_000
_SAME, _CHANGED, _LEFT, _RIGHT = "same", "changed", "only left", "only right"


@attrs.frozen
class Side:
    """One side of a pair.

    Attributes:
        place: The line, the id of the call or the name of the variable.
        texts: Texts with their titles; a title may be empty.
        eval: The number of the eval, for a link; 0 for none.
    """

    place: str
    texts: Sequence[tuple[str, Part]]
    eval: int = 0


@attrs.frozen
class Pair:
    """One row of a comparison.

    Attributes:
        state: `same`, `changed`, `only left` or `only right`.
        left: The entry of the left side; `None` if it is missing there.
        right: The entry of the right side; `None` if it is missing there.
        equal: Number of equal rows that this row stands for, where it has no sides.
    """

    state: str
    left: Side | None = None
    right: Side | None = None
    equal: int = 0


@attrs.frozen
class Section:
    """One part of a comparison.

    Attributes:
        name: A name of its own in the page.
        title: Its title.
        place: The title of the column of places.
        rows: The rows.
        differences: How many rows differ.
        left_out: How many rows at the end are not shown.
    """

    name: str
    title: str
    place: str
    rows: Sequence[Pair]
    differences: int
    left_out: int = 0


@attrs.frozen
class _Entry:
    """Something to compare.

    Attributes:
        key: What it is; entries with the same key may be partners.
        place: See `Side`.
        texts: Texts by their titles, which differ or not.
        eval: See `Side`.
    """

    key: str
    place: str
    texts: Mapping[str, str]
    eval: int = 0


#: Keys by which entries are paired: equal ones first, then those of one kind.
_BY_KIND: Final = (lambda one: (one.key, *one.texts.items()), lambda one: one.key)
#: Then by their order.
_BY_PLACE: Final[Sequence[Callable[[_Entry], Any]]] = (*_BY_KIND, lambda one: None)


def compared_evals(left: EvalRecord, right: EvalRecord) -> list[Section]:
    """The differences of two evals: state, code, calls, answer and variables."""
    both = (left, right)
    parts = [_parts(one) for one in both]
    return [
        _section("state", "State", "Fact", [_facts(one) for one in both], _BY_KIND),
        _section("code", "Code", "Line", [_lines(one.summary.code.strip("\n")) for one in both]),
        _section("calls", "Calls in order", "Call", [_events(one) for one in both], _BY_KIND),
        *(
            _section(f"answer-{at}", title, "Line", [_lines(one.get(title, "")) for one in parts])
            for at, title in enumerate({**parts[0], **parts[1]})
        ),
        _section(
            "variables", "Variables afterwards", "Name", [_variables(one) for one in both], _BY_KIND
        ),
    ]


def compared_conversations(left: Conversation, right: Conversation) -> list[Section]:
    """The differences of two conversations: inputs of the turns, and evals in order."""
    both = (left, right)
    turns = [[_turn(turn) for turn in one.turns if turn.number] for one in both]
    evals = [[_eval(each) for turn in one.turns for each in turn.evals] for one in both]
    return [
        _section("inputs", "Inputs", "Turn", turns),
        _section("evals", "Evals in order", "Eval", evals),
    ]


def _section(
    name: str,
    title: str,
    place: str,
    sides: Sequence[Sequence[_Entry]],
    keys: Sequence[Callable[[_Entry], Any]] = _BY_PLACE,
) -> Section:
    left, right = sides
    rows = [_pair(*pair) for pair in aligned(left, right, *keys)]
    differences = sum(row.state != _SAME for row in rows)
    shown = list(_folded(rows))
    left_out = max(0, len(shown) - _MOST_ROWS)
    return Section(name, title, place, shown[:_MOST_ROWS], differences, left_out)


def _pair(left: _Entry | None, right: _Entry | None) -> Pair:
    if left is None or right is None:
        return Pair(_RIGHT if left is None else _LEFT, _side(left, {}), _side(right, {}))
    state = _SAME if (left.key, left.texts) == (right.key, right.texts) else _CHANGED
    return Pair(state, _side(left, right.texts), _side(right, left.texts))


def _side(entry: _Entry | None, other: Mapping[str, str]) -> Side | None:
    """An entry beside the texts of the other side."""
    if entry is None:
        return None
    texts = [
        (title, parted(text, other[title])[0] if title in other else alone(text))
        for title, text in entry.texts.items()
    ]
    return Side(entry.place, texts, entry.eval)


def _folded(rows: Sequence[Pair]) -> Iterator[Pair]:
    """Rows, without equal ones that are far from any difference."""
    near: set[int] = set()
    for at, row in enumerate(rows):
        if row.state != _SAME:
            near.update(range(at - _AROUND, at + _AROUND + 1))
    equal = 0
    for at, row in enumerate(rows):
        if at not in near:
            equal += 1
            continue
        if equal:
            yield Pair(_SAME, equal=equal)
        equal = 0
        yield row
    if equal:
        yield Pair(_SAME, equal=equal)


# -- entries ---------------------------------------------------------------------------------


def _facts(one: EvalRecord) -> list[_Entry]:
    summary = one.summary
    facts: dict[str, object] = {
        "state": summary.status,
        "calls": summary.calls,
        "language": one.language or None,
        "engine": one.engine or None,
        "tool": summary.tool,
        "graph": summary.graph or None,
        "variables": None if one.state_bytes is None else f"{one.state_bytes:,} bytes",
        **{f"drawn: {kind}": f"{amount:g}" for kind, amount in one.drawn.items()},
    }
    return [
        _Entry(title, title, {"": str(value)})
        for title, value in facts.items()
        if value is not None
    ]


def _lines(text: str) -> list[_Entry]:
    lines = text.split("\n") if text else []
    return [_Entry("", str(number), {"": line}) for number, line in enumerate(lines, 1)]


def _parts(one: EvalRecord) -> dict[str, str]:
    """The parts of an answer, by their titles; parts with one title are one."""
    found: dict[str, str] = {}
    for title, text in answer_parts(one.answer or ""):
        found[title] = f"{found[title]}\n{text}" if title in found else text
    return found


def _events(one: EvalRecord) -> list[_Entry]:
    return [_call(event) if isinstance(event, InnerCall) else _pause(event) for event in one.events]


def _call(call: InnerCall) -> _Entry:
    texts = {"input": call.input}
    if call.answer is not None:
        texts["error" if call.failed else "answer"] = call.answer
    if call.decisions:
        texts["decisions"] = "\n".join(call.decisions)
    return _Entry(call.bridge, f"{call.id} {call.bridge}", texts)


def _pause(pause: PauseEvent) -> _Entry:
    texts = {"waits for": ", ".join(pause.waits_for)}
    texts["resumed"] = "yes" if pause.resumed else "no"
    return _Entry("\npause", f"pause {pause.number}", texts)


def _variables(one: EvalRecord) -> list[_Entry]:
    return [
        _Entry(each.name, each.name, {"": each.after})
        for each in one.bindings or ()
        if each.after is not None
    ]


def _turn(turn: Turn) -> _Entry:
    return _Entry("", str(turn.number), {"": turn.text})


def _eval(one: EvalSummary) -> _Entry:
    texts = {"state": one.status, "calls": str(one.calls), "code": one.code.strip("\n")}
    return _Entry("", f"Eval {one.number}", texts, one.number)
