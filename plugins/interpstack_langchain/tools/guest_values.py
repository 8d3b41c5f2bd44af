"""Answers of LangChain's tools, in the forms that code gets of them.

Only what LangChain itself has is converted here: messages, documents and content blocks. Everything
else is left to `interpstack.simplified`, which all doors share.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import partial
from typing import Any

from langchain_core.messages import ToolMessage

from interpstack import UnsupportedValue, plain_key, simplified
from interpstack_agents import json_object
from interpstack_display.api import to_block

__all__ = ["to_guest"]

_DEPTH = 100
#: Types whose values need no conversion.
_PLAIN = frozenset({bool, bytes, float, int, str, type(None)})


def to_guest(value: Any) -> Any:
    """Convert a tool's return value to types that cross to the guest.

    The message of a tool becomes its content. A content block with the data of an image, a file, a
    sound or a film becomes `{"type", "mimeType", "data"}` and its other fields. Sets become lists
    and keys text, as in the JSON Schema by which code knows the tool. The encoder refuses what is
    neither plain then nor a list.

    Raises:
        UnsupportedValue: The value contains itself, is nested too deep, or has no faithful form.
    """
    return value if type(value) in _PLAIN else _Conversion().of(value, 0)


class _Conversion:
    """A converter for one value; a part that occurs more than once is converted once and shared.

    Lists that hold each other twice double with each level otherwise.
    """

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Any]] = {}

    def of(self, value: Any, depth: int) -> Any:
        if type(value) in _PLAIN:
            return value
        if depth > _DEPTH:
            raise UnsupportedValue("the answer contains itself or is nested too deep")
        if id(value) not in self._made:
            self._made[id(value)] = (value, self._other(value, depth + 1))  # keeps the id its own
        return self._made[id(value)][1]

    def _other(self, value: Any, depth: int) -> Any:
        if isinstance(value, Mapping):
            return self._object(value, depth)
        if isinstance(value, (list, tuple, Set)):
            # The event loop waits for this, so lists of millions of numbers are not walked.
            plain = _PLAIN.issuperset(map(type, value))
            return list(value) if plain else [self.of(item, depth) for item in value]
        if isinstance(value, ToolMessage):
            return self.of(value.content, depth)
        simpler = simplified(value)
        if simpler is value or isinstance(simpler, str):
            return simpler
        return self.of(simpler, depth)

    def _object(self, value: Mapping[Any, Any], depth: int) -> Any:
        made = json_object(value, plain_key, partial(self.of, depth=depth))
        return (to_block(made) or made) if "type" in made else made
