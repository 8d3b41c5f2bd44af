"""Offers of an agent: its tools of the moment, subagents and skills, as a stack takes them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from langchain_core.tools import BaseTool

from interpstack import HostOffer, HostTool, InterpreterStack
from interpstack_durable.api import Journals
from interpstack_langchain.options import Options
from interpstack_langchain.prompt import InterpreterShown
from interpstack_langchain.tools.backend_skills import BackendSkills
from interpstack_langchain.tools.subagents import dispatcher
from interpstack_langchain.tools.tool_calls import PASSES, EvalCall, host_tool
from interpstack_skills.api import Skills
from interpstack_subagents.api import Subagents

__all__ = ["OfferBuilder"]

#: Offers that are remembered; an agent has few sets of tools that alternate.
_REMEMBERED: Final = 16


class OfferBuilder:
    """Makes the offer for a set of tools, and the same offer for the same tools.

    Only the offers used last are remembered, with the tools they were made of: a tool that the
    agent has no more is let go.

    Args:
        stack: Stack of the middleware.
        options: Options of the middleware; `ptc` is the allowlist.
        scope: How long variables live.
        skills: Source of skills, if the middleware has a backend for them.

    Raises:
        BridgeError: No code could use a name of the allowlist.
    """

    def __init__(
        self, stack: InterpreterStack, options: Options, scope: str, skills: BackendSkills | None
    ) -> None:
        self._options = options
        self._fixed: list[object] = [InterpreterShown(options, scope), Journals(_store_for)]
        if skills is not None:
            self._fixed.append(Skills(skills))
        #: Offers with the tools they were made of, whose ids nobody else may take meanwhile.
        self._offers: OrderedDict[tuple[int, ...], tuple[HostOffer, Sequence[BaseTool]]] = (
            OrderedDict()
        )
        _check_names(stack, options)

    def offer(self, tools: Iterable[BaseTool]) -> HostOffer:
        """The offer to code, made of the tools that the agent has now."""
        named = {tool.name: tool for tool in tools}
        chosen = self._choose(named)
        task = named.get("task") if self._options.subagents else None
        used = (*chosen, *([] if task is None else [task]))
        key = tuple(id(tool) for tool in used)
        offers = self._offers.copy()  # threads may build offers side by side
        known = offers.pop(key, None) or (self._make(chosen, task), used)
        offers[key] = known
        while len(offers) > _REMEMBERED:
            offers.popitem(last=False)
        self._offers = offers
        return known[0]

    def _make(self, chosen: Sequence[BaseTool], task: BaseTool | None) -> HostOffer:
        parts = list(self._fixed)
        dispatch = None if task is None else dispatcher(task)
        if dispatch is not None:
            most = self._options.max_subagent_concurrency
            parts.append(Subagents(dispatch, concurrency=most, passes=PASSES))
        return HostOffer(
            tools=[self._host_tool(tool) for tool in chosen],
            code_tool=self._options.tool_name,
            parts=parts,
        )

    def _choose(self, tools: dict[str, BaseTool]) -> list[BaseTool]:
        """Tools of the allowlist: objects first, then names the agent has, each once."""
        chosen: dict[str, BaseTool] = {}
        for item in self._options.ptc:
            if isinstance(item, BaseTool):
                chosen.setdefault(item.name, item)
        for item in self._options.ptc:
            if isinstance(item, str) and item in tools:
                chosen.setdefault(item, tools[item])
        chosen.pop(self._options.tool_name, None)
        return list(chosen.values())

    def _host_tool(self, tool: BaseTool) -> HostTool:
        """The tool as plugins know it, taken from a remembered offer that has it already."""
        for offer, used in self._offers.values():
            for one, converted in zip(used, offer.tools, strict=False):
                if one is tool:
                    return converted
        return host_tool(tool)


def _check_names(stack: InterpreterStack, options: Options) -> None:
    """Find names that no code could use now, not in the middle of a conversation."""

    async def never(given: dict[str, Any], context: Any) -> None:
        raise AssertionError("only the name is checked")

    names = [item if isinstance(item, str) else item.name for item in options.ptc]
    tools = [HostTool(name=name, call=never) for name in dict.fromkeys(names)]
    stack.bridge_set(HostOffer(tools=tools))


def _store_for(host: EvalCall | None) -> Any:
    """The store for the record of the eval that is about to run."""
    return None if host is None else host.store
