"""The front matter of a skill's `SKILL.md`.

Anybody may have written the file, so reading takes a time that grows with its length alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import yaml

__all__ = ["read_front_matter"]

#: Blanks stop at line breaks: in a file of blank lines, others would be tried in each line anew.
_FRONT_MATTER: Final = re.compile(r"\A\ufeff?---[^\S\n]*+\n(.*?)\n---[^\S\n]*+(?:\n|\Z)", re.DOTALL)
#: Characters of front matter that are parsed; there is no reason to have more.
_MAX_CHARS: Final = 20_000
#: Levels of lists and mappings in each other.
_MAX_DEPTH: Final = 50


def read_front_matter(text: str) -> Mapping[str, Any]:
    """The fields of a text's front matter; empty if the text has none.

    Raises:
        ValueError: The front matter is too long, or cannot be read.
    """
    found = _FRONT_MATTER.match(text)
    if found is None:
        return {}
    if len(found[1]) > _MAX_CHARS:
        raise ValueError(f"is longer than {_MAX_CHARS} characters")
    try:
        data = yaml.load(found[1], _Loader)  # noqa: S506 - it is a SafeLoader
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"cannot be read: {' '.join(str(error).split())[:300]}") from error
    return data if isinstance(data, dict) else {}


class _Loader(yaml.SafeLoader):
    """A loader of plain data that refuses what takes more than linear time."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node, unless it lies too deep."""
        self._depth += 1
        try:
            if self._depth > _MAX_DEPTH:
                raise yaml.YAMLError(f"it nests deeper than {_MAX_DEPTH} levels")
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def flatten_mapping(self, node: Any) -> None:
        """Refuse merges: a mapping that merges another twice doubles it, line after line."""
        if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
            raise yaml.YAMLError("merges with << are not supported; write the fields out")
        super().flatten_mapping(node)
