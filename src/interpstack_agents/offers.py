"""Offers that an adapter makes of the tools which its agent has at the moment."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final, Generic, TypeVar

import attrs

from interpstack import HostOffer, HostTool, InterpreterStack

__all__ = ["OfferBuilder"]

_T = TypeVar("_T")
#: Offers that are remembered; an agent has few sets of tools that alternate.
_REMEMBERED: Final = 16


@attrs.define(eq=False, repr=False)
class _Made(Generic[_T]):
    """An offer with its tools, referenced so that no other object can get their ids."""

    offer: HostOffer
    keys: tuple[Hashable, ...]
    tools: tuple[_T, ...]
    extra: object
    _prompt: str | None = attrs.field(default=None, init=False)

    def prompt(self, stack: InterpreterStack) -> str:
        """The prompt sections of the offer, rendered at the first call."""
        if self._prompt is None:
            self._prompt = stack.prompt(self.offer)
        return self._prompt


@attrs.define(eq=False, kw_only=True, repr=False)
class OfferBuilder(Generic[_T]):
    """A builder of offers, which returns the same offer for the same tools.

    With the same offer, plugins need not register anew, and prompt sections need not be rendered
    again. Only the offers used last are remembered: a tool that the agent has no more is let go.

    Attributes:
        convert: Turns a tool of the agent framework into a `HostTool`.
        parts: Parts of every offer, for single plugins.
        code_tool: Name of the tool to which the model passes code.
        error_names: See `HostOffer.error_names`.
        key: Equal for tools that are the same; by default, each object is a tool of its own. A
            framework that describes its tools anew for each step needs another function.
    """

    convert: Callable[[_T], HostTool]
    parts: Sequence[object] = ()
    code_tool: str = "eval"
    error_names: Mapping[str, str] = attrs.field(factory=dict)
    key: Callable[[_T], Hashable] = id
    _made: OrderedDict[tuple[Hashable, ...], _Made[_T]] = attrs.field(
        factory=OrderedDict, init=False
    )

    def offer(
        self,
        tools: Sequence[_T],
        extra: Sequence[object] = (),
        make_parts: Callable[[], Sequence[object]] = tuple,
    ) -> HostOffer:
        """The offer for these tools.

        Args:
            tools: Tools of the agent framework, in order.
            extra: Objects beside the tools on which the offer depends.
            make_parts: Makes the parts of a new offer that belong to `extra`.
        """
        keys = tuple(map(self.key, tools))
        key = (*keys, None, *map(id, extra))
        made = self._made.copy()  # threads may build offers side by side
        known = made.pop(key, None)
        if known is None:
            offer = HostOffer(
                tools=[self._converted(*pair) for pair in zip(tools, keys, strict=True)],
                code_tool=self.code_tool,
                parts=[*self.parts, *make_parts()],
                error_names=self.error_names,
            )
            known = _Made(offer, keys, tuple(tools), tuple(extra))
        made[key] = known
        while len(made) > _REMEMBERED:
            made.popitem(last=False)
        self._made = made
        return known.offer

    def prompt(self, stack: InterpreterStack, offer: HostOffer) -> str:
        """The prompt sections of an offer, rendered once while the offer is remembered."""
        known = next((made for made in self._made.values() if made.offer is offer), None)
        return stack.prompt(offer) if known is None else known.prompt(stack)

    def _converted(self, tool: _T, key: Hashable) -> HostTool:
        """The tool as a `HostTool`, from a remembered offer if one has it."""
        for made in self._made.values():
            for one, converted in zip(made.keys, made.offer.tools, strict=True):
                if one == key:
                    return converted
        return self.convert(tool)
