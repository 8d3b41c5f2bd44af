"""Errors of code that names something that is not there: what is missing, and what is near.

A library of a language reads in the tree of the cell what the code names at the place of the error;
its guest tells what is there, by `Looked`. Here both are compared with each other and with the
functions on offer. Nothing is read from the words of an engine: they differ, and change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import attrs

from interpstack.checks import Value, listed
from interpstack.contracts.bridges import BridgeSet
from interpstack.similar_names import similar_names

__all__ = [
    "Looked",
    "cut",
    "function_named",
    "lacking",
    "meant_name",
    "members",
    "missing_function",
    "shown_functions",
]

#: A step of a path: a name, an index, or `None` for any element of a list.
Step = str | int | None

#: Names that an error lists.
_LISTED: Final = 8
#: Characters of a name that are shown.
_CHARS: Final = 60
#: Characters of a name that others are like.
_SHORTEST: Final = 3
#: How alike two names are where one may be meant by the other, from 0 to 1.
_ALIKE: Final = 0.65


@attrs.frozen(eq=False, repr=False)
class Looked(Value):
    """What a guest has along a path.

    Attributes:
        found: `value`, `undefined` or `null` (in Python, `None`) for what is at the end of `at`;
            `missing` if what is in front of the last step lacks it; `unknown`.
        at: The steps as far as they were followed, with an index in place of `None`.
        every: Of a path with `None`: each element that was looked at ends so early.
        kind: The guest's word for the kind of the value; of what lacks the last step.
        count: Its length; -1 for none. Of all variables, how many of `keys` are the guest's own.
        keys: Names of its members, or of all variables.
        more: How many more it has.
        head: The first character, if it is text.
    """

    found: str
    at: tuple[str | int, ...]
    every: bool
    kind: str
    count: int
    keys: tuple[str, ...]
    more: int
    head: str

    @classmethod
    def read(cls, answers: Any, count: int) -> Sequence[Looked]:
        """Answers of a guest that nobody trusts; none where they have another form.

        Args:
            answers: A list of objects with these fields.
            count: How many there have to be.
        """
        if not isinstance(answers, list) or len(answers) != count:
            return ()
        made = []
        for one in answers:
            if not isinstance(one, dict) or not all(map(one.__contains__, _FIELDS)):
                return ()
            given = {name: one[name] for name in _FIELDS}
            if any(type(given[name]) is not kind for name, kind in _FIELDS.items()):
                return ()
            at, keys = tuple(given.pop("at")), tuple(given.pop("keys"))
            if not at or any(type(step) not in (str, int) for step in at):
                return ()
            if any(type(key) is not str for key in keys):
                return ()
            made.append(cls(at=at, keys=keys, **given))
        return made


_FIELDS: Final = {
    "found": str,
    "at": list,
    "every": bool,
    "kind": str,
    "count": int,
    "keys": list,
    "more": int,
    "head": str,
}


def missing_function(path: Sequence[Step], bridges: BridgeSet | None) -> str:
    """Say that a namespace of bridges lacks what a path names, and what it has.

    Args:
        path: What the code names, as in `["tools", "sarch"]`.
        bridges: The functions on offer.

    Returns:
        As in `tools has no 'sarch'; did you mean tools.search?`; empty if nothing is missing.
    """
    if bridges is None or not all(isinstance(step, str) for step in path):
        return ""
    names = [bridge.name for bridge in bridges if not bridge.hidden]
    space, missing = _missing([str(step) for step in path], names)
    if not space:
        return ""
    start = len(space) + 1
    inside = [name for name in _listed_names(bridges) if name.startswith(f"{space}.")]
    spelt = {name[start:]: name for name in inside}
    rest = ".".join(str(step) for step in path)[start:]
    parts = {one.partition(".")[0]: one for one in reversed(spelt)}
    near = _nearest(rest, spelt) or _nearest(missing, spelt) or parts.get(_nearest(missing, parts))
    hint = f"; did you mean {spelt[near]}?" if near else ""
    if not near and inside:
        hint = f"; it has {listed(inside, _LISTED)}"
    return f"{space} has no {cut(missing)!r}{hint}"


def function_named(name: str, bridges: BridgeSet | None) -> str:
    """The function on offer of this name, whatever its case and underscores; empty if none has it.

    Args:
        name: A bare name, such as `sql_query` for `tools.sqlQuery`.
        bridges: The functions on offer.
    """
    functions = _by_last_name(bridges)
    return next((one for last, one in functions.items() if _bare(last) == _bare(name)), "")


def meant_name(name: str, bridges: BridgeSet | None, names: Iterable[str] = ()) -> str:
    """The function or the variable that a name is meant for; empty if none is near.

    Args:
        name: A bare name that is not there, such as `sql_query` for `tools.sqlQuery`.
        bridges: The functions on offer.
        names: Names of what is there.
    """
    same = function_named(name, bridges)
    if same:
        return same
    spelt = {**_by_last_name(bridges), **{one: one for one in names}}
    near = _nearest(name, spelt)
    return spelt[near] if near else ""


def shown_functions(bridges: BridgeSet | None) -> str:
    """The first functions on offer, for messages; empty if there are none."""
    return listed(_listed_names(bridges), _LISTED)


def lacking(
    holder: str, name: str, keys: Sequence[str], more: int = 0, *, lists: bool = True
) -> str:
    """Say that a value has no member of a name, and what it has.

    Args:
        holder: What the value is called, perhaps with its kind, as in `hits[0]`.
        name: The missing name.
        keys: Names that it has.
        more: How many more it has.
        lists: Whether the names are listed where none of them is near.
    """
    text = f"{holder} has no {cut(name)!r}"
    if lists and 0 < len(keys) + more <= _LISTED:
        return f"{text}; it has {members(keys, more)}"
    near = _nearest(name, keys)
    if near:
        return f"{text}; did you mean {cut(near)}?"
    return f"{text}; it has {members(keys, more)}" if lists and keys else text


def members(keys: Sequence[str], more: int = 0) -> str:
    """The first of some names, and how many more there are."""
    shown = ", ".join(map(cut, keys[:_LISTED]))
    rest = len(keys) + more - len(keys[:_LISTED])
    return f"{shown} and {rest} more" if rest > 0 else shown


def cut(text: str, chars: int = _CHARS) -> str:
    """A text in one line of at most so many characters."""
    text = " ".join(text[: 4 * chars].split()) if not text.isidentifier() else text
    return text if len(text) <= chars else f"{text[: chars - 1]}…"


def _by_last_name(bridges: BridgeSet | None) -> dict[str, str]:
    return {one.rpartition(".")[2]: one for one in reversed(_listed_names(bridges))}


def _listed_names(bridges: BridgeSet | None) -> list[str]:
    return [one.name for one in bridges or () if one.listed and not one.hidden]


def _missing(parts: list[str], names: list[str]) -> tuple[str, str]:
    """The namespace and its missing member; two empty texts if nothing on the path is missing."""
    for count in range(1, len(parts) + 1):
        known = ".".join(parts[:count])
        if known in names:
            return "", ""
        if not any(name.startswith(f"{known}.") for name in names):
            return ".".join(parts[: count - 1]), parts[count - 1]
    return "", ""


def _nearest(name: str, names: Iterable[str]) -> str:
    """The one of some names that is most like a name; empty if none is alike."""
    bare = _bare(name)
    if len(bare) < _SHORTEST:
        return ""  # it is a part of too many
    long = (one for one in names if len(one) >= _SHORTEST or bare.startswith(_bare(one)))
    return "".join(similar_names(name, long, alike=_ALIKE))


def _bare(name: str) -> str:
    return name.replace("_", "").casefold()
