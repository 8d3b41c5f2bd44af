r"""Texts of calls as people are shown them, with a visible form for half of a surrogate pair.

JavaScript's texts may hold such a half, as `"\ud83d"`. UTF-8 has no form for it, so stores and
terminals show a `?` in its place, and a person would approve another text than the tool gets. Such
a text is shown as `{"$escaped": "\\ud83d"}`, with its backslashes doubled: it differs from every
text that has the characters `\ud83d` itself. In the arguments of a changed call, the same form
stands for the text. An object whose only key is `$escaped`, with any number of `$`, is shown with
one more of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["escaped_text", "has_half", "read_texts", "shown_texts"]

_MARK: Final = "$escaped"
#: The only key of an object that could be read as a text, or as an escaped object.
_MARKED: Final = re.compile(r"\$+escaped")
_HALF: Final = re.compile("[\ud800-\udfff]")
_HIDDEN: Final = re.compile(r"[\\" + "\ud800-\udfff]")
#: The characters of an escaped text, and its escapes.
_ESCAPED: Final = re.compile(r"(?:[^\\]|\\\\|\\u[0-9a-fA-F]{4})*", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:\\|u(....))")


def shown_texts(tree: Any) -> Any:
    """A tree of plain data whose values can be shown; no two trees have the same form.

    Args:
        tree: Mappings and lists of any depth. Keys stay as they are.
    """
    if isinstance(tree, str):
        return {_MARK: escaped_text(tree)} if has_half(tree) else tree
    if isinstance(tree, Mapping):
        items = {key: shown_texts(item) for key, item in tree.items()}
        return {f"${key}": item for key, item in items.items()} if _looks_marked(items) else items
    if isinstance(tree, list | tuple):
        return [shown_texts(item) for item in tree]
    return tree


def read_texts(tree: Any) -> Any:
    """The tree that `shown_texts` was given."""
    if isinstance(tree, list | tuple):
        return [read_texts(item) for item in tree]
    if not isinstance(tree, Mapping):
        return tree
    if {*tree} == {_MARK} and isinstance(text := tree[_MARK], str) and _ESCAPED.fullmatch(text):
        return _ESCAPE.sub(lambda one: chr(int(one[1], 16)) if one[1] else "\\", text)
    items = {key: read_texts(item) for key, item in tree.items()}
    if _looks_marked(items) and _MARK not in items:
        return {key[1:]: item for key, item in items.items()}
    return items


def escaped_text(text: str) -> str:
    r"""A text for people: if it has half of a surrogate pair, its halves and backslashes escaped.

    Backslashes of a text without such a half stay as they are.
    """
    return _HIDDEN.sub(_escape, text) if has_half(text) else text


def has_half(tree: Any) -> bool:
    """Whether a text, or one in a tree of plain data, has half of a surrogate pair."""
    if isinstance(tree, str):
        return not tree.isascii() and _HALF.search(tree) is not None
    if isinstance(tree, Mapping):
        return any(has_half(key) or has_half(item) for key, item in tree.items())
    return isinstance(tree, list | tuple) and any(map(has_half, tree))


def _looks_marked(items: Mapping[Any, Any]) -> bool:
    (key, *others) = [*items] or [None]
    return not others and isinstance(key, str) and _MARKED.fullmatch(key) is not None


def _escape(found: re.Match[str]) -> str:
    return "\\\\" if found[0] == "\\" else f"\\u{ord(found[0]):04x}"
