"""Advice for a cell that failed.

What decides is the class of the error, its lines, the tree of the cell there, and what the guest
has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

import attrs

from interpstack.contracts.bridges import BridgeSet
from interpstack.contracts.protocol import Cell, GuestError
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
from interpstack_python.advice.absent_names import (
    BUILTINS,
    FILES,
    filled,
    instead_of,
    instead_of_module,
)
from interpstack_python.advice.named_paths import (
    Lines,
    Path,
    Read,
    imported,
    names_in,
    suspects,
    tree_of,
)

__all__ = ["Look", "advised"]

#: Asks the guest what it has along these paths; none where it cannot be asked.
Look = Callable[[Sequence[Path]], Sequence[Looked]]

_SHOWN: Final = 12
_OPENING: Final = frozenset({"Path", "open", "os", "pathlib"})
#: Types whose methods a missing attribute may be meant for.
_TYPES: Final = {"dict": dict, "list": list, "str": str, "tuple": tuple}
#: What JavaScript calls on a list or a text.
_OTHERWISE: Final = {
    "length": "len({owner})",
    "push": "{owner}.append(value)",
    "map": "[f(one) for one in {owner}]",
    "filter": "[one for one in {owner} if f(one)]",
    "forEach": "for one in {owner}: …",
    "includes": "value in {owner}",
    "slice": "{owner}[start:end]",
    "toUpperCase": "{owner}.upper()",
    "toLowerCase": "{owner}.lower()",
    "trim": "{owner}.strip()",
    "concat": "{owner} + other",
    "join": "separator.join({owner})",
    "indexOf": "{owner}.index(value)",
    "startsWith": "{owner}.startswith(text)",
    "endsWith": "{owner}.endswith(text)",
}


def advised(
    error: GuestError,
    cell: Cell,
    lines: Lines,
    bridges: BridgeSet | None,
    look: Look,
    modules: Collection[str] = (),
) -> GuestError:
    """The error of a cell with what is missing, and what is there instead, if that can be found.

    Args:
        error: One of `interpstack_python.advice.ADVISED`.
        cell: The cell, as the user wrote it.
        lines: Where it failed.
        bridges: The functions on offer.
        look: Asks the guest.
        modules: Modules that can be imported.
    """
    tree = tree_of(cell.source)
    if tree is None:
        return error
    functions = shown_functions(bridges)
    advice = ""
    if error.name == "NameError":
        advice = _about_names(names_in(tree, lines), bridges, look, modules)
    elif error.name in ("ImportError", "ModuleNotFoundError"):
        missing = [one for one in imported(tree, lines) if one.partition(".")[0] not in modules]
        if missing:
            advice = f"; {instead_of_module(missing[0], functions, modules)}"
    elif error.name == "PermissionError":
        if _OPENING.intersection(names_in(tree, lines)):
            advice = f"; {filled(FILES, functions)}"
    else:
        found = suspects(tree, cell.source, lines)
        if error.name == "KeyError":  # its message is the key
            wanted = f"[{error.message}"
            found = [one for one in found if one.name in (wanted, None)]
        advice = _about_values(error, found, bridges, look)
    return attrs.evolve(error, message=error.message + advice) if advice else error


def _about_names(
    names: Sequence[str], bridges: BridgeSet | None, look: Look, modules: Collection[str]
) -> str:
    found = list(dict.fromkeys(names))[:_SHOWN]
    answers = look([(name,) for name in found]) if found else ()
    for name, answer in zip(found, answers, strict=False):
        if answer.found != "missing" or name in BUILTINS:
            continue
        meant = function_named(name, bridges)
        if meant:
            return f"; did you mean {meant}?"
        hint = instead_of(name, shown_functions(bridges), modules)
        if hint:
            return f"; {hint}"
        meant = meant_name(name, bridges, [*BUILTINS, *answer.keys])
        if meant:
            return f"; did you mean {meant}?"
        roots = {one.name.partition(".")[0] for one in bridges or ()}
        own = [key for key in answer.keys if key not in roots]
        if 0 < len(own) <= _SHOWN:
            return f"; the variables are {', '.join(map(cut, own))}"
    return ""


def _about_values(
    error: GuestError, found: Sequence[Read], bridges: BridgeSet | None, look: Look
) -> str:
    paths = list(dict.fromkeys(one.path for one in found if len(one.path) > 1))
    answers = dict(zip(paths, look(paths), strict=False)) if paths else {}
    for one in found:
        bridge = None if bridges is None else bridges.get(one.called)
        if bridge is not None and bridge.awaited:
            return f": {one.called}(…) was not awaited; write (await {one.called}(…))"
        said = missing_function(_dotted(one.path), bridges)
        if not said and one.path in answers:
            said = _failing(answers[one.path], one.path)
        if said:
            return f": {said}"
    if error.name == "KeyError" and len(found) == 1 and found[0].path not in answers:
        return f": {found[0].owner} has no {cut(error.message)!r}"
    return ""


def _dotted(path: Path) -> Path:
    """The path as the name of a function; empty if it is none."""
    if not path:
        return ()
    names = [path[0], *(s[1:] for s in path[1:] if isinstance(s, str) and s[0] == ".")]
    return tuple(names) if len(names) == len(path) else ()


def _failing(answer: Looked, path: Path) -> str:
    """What a part of a cell fails with, as the guest is now; empty if it does not fail."""
    if answer.found == "null" and len(answer.at) < len(path):
        return f"{_shown(answer.at)} is None"
    if answer.found != "missing" or len(answer.at) < 2:
        return ""
    holder, step = _shown(answer.at[:-1]), answer.at[-1]
    if isinstance(step, int):
        return f"{holder} is {_kind(answer)}; it has no [{step}]"
    name, own = step[1:], _TYPES.get(answer.kind, object)
    if step[0] == "." and hasattr(own, name):
        return ""  # a method
    methods = [one for one in dir(own) if one[0] != "_"] if step[0] == "." else []
    if answer.kind == "dict":
        return _of_dict(holder, step, answer, methods)
    if answer.kind == "coroutine":
        return f"{holder} is a call that was not awaited; write (await {holder})"
    if step[0] == "." and name in _OTHERWISE:
        return f"{holder} is {_kind(answer)}; write {_OTHERWISE[name].format(owner=holder)}"
    text = lacking(f"{holder} is {_kind(answer)}; it", name, methods, lists=False)
    if answer.kind == "str" and answer.head in ("{", "["):
        return f"{text}; json.loads({holder}) reads it"
    return text


def _of_dict(holder: str, step: str, answer: Looked, methods: Sequence[str]) -> str:
    name = step[1:]
    if step[0] == "." and name in answer.keys:
        return f"{holder} is a dict; write {holder}[{cut(name)!r}]"
    if not answer.keys:
        return f"{holder} has no {cut(name)!r}; it is an empty dict"
    if step[0] == ".":
        method = lacking("", name, methods, lists=False)
        if method.endswith("?"):
            return f"{holder} is a dict{method.partition(repr(cut(name)))[2]}"
        has = members(answer.keys, answer.more)
        return f"{holder} is a dict; write {holder}['key']; it has {has}"
    return lacking(holder, name, answer.keys, answer.more)


def _kind(answer: Looked) -> str:
    article = "an" if answer.kind[:1] in "aeiou" else "a"
    text = f"{article} {cut(answer.kind)}"
    return f"{text} of {answer.count}" if answer.kind in ("list", "tuple") else text


def _shown(path: Sequence[str | int]) -> str:
    """A path as code writes it."""
    parts = [str(path[0])]
    for step in path[1:_SHOWN]:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            parts.append(f".{cut(step[1:])}" if step[0] == "." else f"[{cut(step[1:])!r}]")
    return "".join(parts) + ("…" if len(path) > _SHOWN else "")
