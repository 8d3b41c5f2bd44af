r"""Texts of stored forms: every text of a guest, a tool or a person comes back as it was.

JavaScript's texts may hold half of a surrogate pair, such as `"\ud800"`, for which UTF-8 has no
form. Many stores write UTF-8, and replace the half or fail. So a record is stored with such texts
in an escaped form, and a store needs no rule of its own. JSON with escapes, as `json.dumps` writes
it by default, is such a form already.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

__all__ = ["from_storable", "to_storable"]

#: Begins an escaped text: a code point that Unicode reserves for programs, and a word.
_MARK: Final = "\ufdd0text:"
_HALF: Final = re.compile("[\ud800-\udfff]")


def to_storable(tree: Any) -> Any:
    """A tree of plain data whose texts all have a UTF-8 form.

    Args:
        tree: Mappings, lists and tuples of any depth, with texts as keys and as items. Anything
            else in them stays as it is.

    Returns:
        The same tree if all of its texts have a UTF-8 form; else a copy with lists for tuples.
    """
    return _copied(tree, _escape) if _any_text(tree, _is_escaped) else tree


def from_storable(tree: Any) -> Any:
    """The tree that `to_storable` was given, with lists for tuples where it changed a text."""
    return _copied(tree, _read) if _any_text(tree, _is_marked) else tree


def _is_escaped(text: str) -> bool:
    return _is_marked(text) or _HALF.search(text) is not None


def _is_marked(text: str) -> bool:
    return text.startswith(_MARK)


def _escape(text: str) -> str:
    return f"{_MARK}{json.dumps(text)}" if _is_escaped(text) else text


def _read(text: str) -> str:
    if not _is_marked(text):
        return text
    found = json.loads(text[len(_MARK) :])
    if type(found) is not str:
        raise ValueError("an escaped text is malformed")
    return found


def _any_text(tree: Any, has: Callable[[str], bool]) -> bool:
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            if not one.isascii() and has(one):
                return True
        elif isinstance(one, dict):
            waiting.extend(one)
            waiting.extend(one.values())
        elif type(one) is list or type(one) is tuple:
            waiting.extend(one)
    return False


def _copied(tree: Any, changed: Callable[[str], str]) -> Any:
    """A copy with other texts; in a loop, since trees may be deeper than Python's stack."""
    whole: list[Any] = [tree]
    waiting: list[tuple[Any, Any]] = [(whole, 0)]
    while waiting:
        into, at = waiting.pop()
        one = into[at]
        if isinstance(one, str):
            into[at] = changed(one)
        elif isinstance(one, dict):
            copy: Any = {changed(k) if isinstance(k, str) else k: v for k, v in one.items()}
            into[at] = copy
            waiting.extend((copy, key) for key in copy)
        elif type(one) is list or type(one) is tuple:
            into[at] = copy = list(one)
            waiting.extend((copy, index) for index in range(len(copy)))
    return whole[0]
