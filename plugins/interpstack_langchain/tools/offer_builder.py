"""What code may call: the agent's tools of now, subagents and skills, as the stack takes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.tools import BaseTool

from interpstack import HostTool, InterpreterStack, Turn
from interpstack_langchain.options import Options
from interpstack_langchain.tools.backend_skills import BackendSkills
from interpstack_langchain.tools.subagents import dispatcher
from interpstack_langchain.tools.tool_calls import PASSES, host_tool, running_eval

__all__ = ["Offers"]

#: Turns that are remembered; an agent has few sets of tools that alternate.
_KNOWN_TURNS = 16


class Offers:
    """Makes the turn for a set of tools, and the same one for the same tools.

    Args:
        stack: Of the middleware.
        options: Of the middleware; `ptc` is the allowlist.
        scope: How long variables live.
        skills: Where skills come from, if the middleware was given a backend.

    Raises:
        BridgeError: No code could use a name of the allowlist.
    """

    def __init__(
        self, stack: InterpreterStack, options: Options, scope: str, skills: BackendSkills | None
    ) -> None:
        self._options = options
        self._fixed: dict[str, Any] = {
            "langchain": options,
            "scope": scope,
            "ledger_store": _ledger_store,
            "tool_name": options.tool_name,
        }
        if skills is not None:
            self._fixed["skills"] = skills
        #: Turns with the tools they were made of, which nobody else may take the place of.
        self._turns: dict[tuple[int, ...], tuple[Turn, Sequence[BaseTool]]] = {}
        _check_names(stack, options)

    def turn(self, tools: Iterable[BaseTool]) -> Turn:
        """What code may call, given the tools the agent has now."""
        named = {tool.name: tool for tool in tools}
        chosen = self._choose(named)
        task = named.get("task") if self._options.subagents else None
        used = (*chosen, *([] if task is None else [task]))
        key = tuple(id(tool) for tool in used)
        known = self._turns.get(key)
        if known is None:
            known = self._make(chosen, task), used
            self._turns = {**dict(list(self._turns.items())[1 - _KNOWN_TURNS :]), key: known}
        return known[0]

    def _make(self, chosen: Sequence[BaseTool], task: BaseTool | None) -> Turn:
        options = dict(self._fixed)
        if task is not None:
            options["dispatch"] = dispatcher(task)
            options["dispatch_passes"] = PASSES
            options["max_subagent_concurrency"] = self._options.max_subagent_concurrency
        return Turn(tools=[self._host_tool(tool) for tool in chosen], options=options)

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
        """The tool as plugins know it, from a turn that has it already if there is one."""
        for turn, used in self._turns.values():
            for one, converted in zip(used, turn.tools, strict=False):
                if one is tool:
                    return converted
        return host_tool(tool)


def _check_names(stack: InterpreterStack, options: Options) -> None:
    """Find names that no code could use now, not in the middle of a conversation."""

    async def never(given: dict[str, Any], context: Any) -> None:
        raise AssertionError("only the name is checked")

    names = [item if isinstance(item, str) else item.name for item in options.ptc]
    tools = [HostTool(name=name, call=never) for name in dict.fromkeys(names)]
    stack.bridge_set(Turn(tools=tools))


def _ledger_store() -> Any:
    """What keeps the ledger of the eval that is about to run."""
    running = running_eval.get(None)
    return None if running is None else running.store
