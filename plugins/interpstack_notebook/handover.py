"""Values that code hands over to its notebook, and the notebook's functions that code may call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from interpstack import Bridge, BridgeError, GuestLanguage, bridge

__all__ = ["Handover", "tool_bridge"]

#: The function that hands over a value; no list of names shows it.
_TAKE: Final = "notebook.take"


@attrs.define(eq=False)
class Handover:
    """Part of a `HostOffer` for the notebook's own use.

    Attributes:
        tools: Bridges of functions of the notebook, by the names under which code calls them.
    """

    tools: Mapping[str, Bridge] = attrs.field(factory=dict)
    _taken: dict[str, Any] = attrs.field(factory=dict, init=False)

    def bridges(self) -> Iterator[Bridge]:
        """The bridges to offer."""
        yield Bridge(
            name=_TAKE,
            handler=self._take,
            owner="interpstack_notebook",
            raw=True,
            listed=False,
            counted=False,
        )
        yield from self.tools.values()

    async def _take(self, value: Any) -> None:
        if not isinstance(value, dict) or not isinstance(value.get("name"), str):
            raise TypeError(f"{_TAKE} takes a name and a value")
        self._taken.clear()  # code may call it without end; the notebook asks for one at a time
        self._taken[value["name"]] = value.get("value")

    def taken(self, name: str) -> Any:
        """A value that code has handed over; it is not kept.

        Raises:
            KeyError: Code has not handed it over.
        """
        return self._taken.pop(name)

    @staticmethod
    def source(name: str, language: GuestLanguage) -> str:
        """Code that hands over a variable.

        Args:
            name: The name of the variable.
            language: The language of the code.
        """
        fields = {"name": language.literal(name), "value": name}
        return language.words.waiting.format(call=language.call(_TAKE, fields))


def tool_bridge(name: str, function: Any, language: GuestLanguage) -> Bridge:
    """The bridge of a function of the notebook: `tools.` and the name in the language's spelling.

    Raises:
        BridgeError: The object is not a function, or code cannot call it.
    """
    if isinstance(function, Bridge):
        return function
    if not callable(function):
        raise BridgeError(f"{name} is not a function; --tools takes names of functions")
    return bridge(f"tools.{language.identifier(name)}")(function)
