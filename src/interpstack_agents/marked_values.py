"""Plain data in which values that a store or a person would read wrongly are marked.

A marked value is an object whose only key is `$` and the name of the mark, as in
`{"$bigint": "1180591620717411303424"}`. An object whose only key is already such a key, with any
number of `$`, gets one more of them, so that no two trees have the same form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import attrs

__all__ = ["Mark"]


@attrs.frozen(eq=False, slots=False)
class Mark:
    """One kind of marked values.

    Attributes:
        name: Its name, without `$`.
        text_of: Returns the text that stands for a value without parts; `None` to leave the value.
        value_of: Returns the value that a text stands for; `None` for a text that stands for none.
    """

    name: str
    text_of: Callable[[Any], str | None]
    value_of: Callable[[str], Any]

    @property
    def _key(self) -> str:
        return f"${self.name}"

    @cached_property
    def _keys(self) -> re.Pattern[str]:
        """The keys of objects that could be read as marked, or as escaped."""
        return re.compile(rf"\$+{self.name}")

    def marked(self, tree: Any) -> Any:
        """Return a tree with its values marked, and objects that look so escaped.

        Args:
            tree: Mappings and lists of any depth. Keys stay as they are.
        """
        if isinstance(tree, Mapping):
            items = {key: self.marked(item) for key, item in tree.items()}
            escapes = self._looks_marked(items)
            return {f"${key}": item for key, item in items.items()} if escapes else items
        if isinstance(tree, list | tuple):
            return [self.marked(item) for item in tree]
        text = self.text_of(tree)
        return tree if text is None else {self._key: text}

    def read(self, tree: Any) -> Any:
        """Return the tree that `marked` was given; a malformed mark stays as it is."""
        if isinstance(tree, list | tuple):
            return [self.read(item) for item in tree]
        if not isinstance(tree, Mapping):
            return tree
        if {*tree} == {self._key} and isinstance(text := tree[self._key], str):
            value = self.value_of(text)
            return tree if value is None else value
        items = {key: self.read(item) for key, item in tree.items()}
        if self._looks_marked(items) and self._key not in items:
            return {key[1:]: item for key, item in items.items()}
        return items

    def _looks_marked(self, items: Mapping[Any, Any]) -> bool:
        """Whether an object has one key, and that of a mark or of an escaped object."""
        (key, *others) = [*items] or [None]
        return not others and isinstance(key, str) and self._keys.fullmatch(key) is not None
