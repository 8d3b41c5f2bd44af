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

from interpstack_agents.marked_values import Mark

__all__ = ["escaped_text", "has_half", "read_texts", "shown_texts"]

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
    return _TEXTS.marked(tree)


def read_texts(tree: Any) -> Any:
    """The tree that `shown_texts` was given."""
    return _TEXTS.read(tree)


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


def _escape(found: re.Match[str]) -> str:
    return "\\\\" if found[0] == "\\" else f"\\u{ord(found[0]):04x}"


def _text_of(value: Any) -> str | None:
    return escaped_text(value) if isinstance(value, str) and has_half(value) else None


def _value_of(text: str) -> str | None:
    if _ESCAPED.fullmatch(text) is None:
        return None
    return _ESCAPE.sub(lambda one: chr(int(one[1], 16)) if one[1] else "\\", text)


_TEXTS: Final = Mark("escaped", _text_of, _value_of)
