"""Offers of an agent: its tools of the moment, subagents and skills, as a stack takes them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from langchain_core.tools import BaseTool, StructuredTool

from interpstack import HostOffer, HostTool, InterpreterStack
from interpstack_agents import OfferBuilder
from interpstack_durable.api import InFlightCalls, InFlightRegistry, Journals, TimeSlice
from interpstack_files.api import Files
from interpstack_langchain.backend_skills import BackendSkills
from interpstack_langchain.error_names import ERROR_NAMES
from interpstack_langchain.evals.eval_call import PASSES, EvalCall
from interpstack_langchain.langgraph_internals.file_tools import file_tools
from interpstack_langchain.options import Options
from interpstack_langchain.tools.agent_files import AgentFiles
from interpstack_langchain.tools.subagents import dispatcher
from interpstack_langchain.tools.tool_calls import host_tool
from interpstack_skills.api import Skills
from interpstack_subagents.api import Subagents

__all__ = ["AgentOffers", "OfferedTools"]

#: Conversations whose tools are remembered.
_MAX_CONVERSATIONS: Final = 4096


class AgentOffers:
    """Makes the offer for the tools that an agent has, and the same offer for the same tools.

    Args:
        stack: Stack of the middleware.
        options: Options of the middleware; `ptc` is the allowlist.
        part: Part of each offer of which the interpreter's prompt section is made.
        own: Names of the interpreter's own tools, which its code cannot call.
        skills: Source of skills, if the middleware has a backend for them.
        more: More parts of each offer.
        unstored: The part in place of `part` for the prompt of an agent without a checkpointer.

    Raises:
        BridgeError: No code could use a name of the allowlist.
    """

    def __init__(
        self,
        stack: InterpreterStack,
        options: Options,
        part: object,
        own: Collection[str],
        skills: BackendSkills | None,
        more: Sequence[object] = (),
        unstored: object | None = None,
    ) -> None:
        self._stack = stack
        self._options = options
        self._own = own
        journals = Journals(_store_for, _in_flight_for, _time_slice_for, _late_recorder_for)
        parts: list[object] = [journals, *more]
        if skills is not None:
            parts.append(Skills(skills))
        if isinstance(options.files, Files):
            parts.append(options.files)

        types = options.learn_types

        def converted(tool: BaseTool) -> HostTool:
            made = host_tool(tool)
            return made if types is None else types.tool(made)

        def builder(first: object) -> OfferBuilder[BaseTool]:
            return OfferBuilder(
                convert=converted,
                parts=[first, *parts],
                code_tool=options.tool_name,
                error_names=ERROR_NAMES,
            )

        self._builder = builder(part)
        self._unstored = self._builder if unstored is None else builder(unstored)
        _check_names(stack, options)

    def offer(self, tools: Iterable[BaseTool]) -> HostOffer:
        """The offer to code, made of the tools that the agent has now."""
        return self._offer(self._builder, tools)

    def _offer(self, builder: OfferBuilder[BaseTool], tools: Iterable[BaseTool]) -> HostOffer:
        named = {tool.name: tool for tool in tools}
        chosen = self._choose(named)
        task = named.get("task") if self._options.subagents else None
        files = file_tools(named.values()) if self._options.files_mode else {}
        extra = [task, *files.values()]
        return builder.offer(chosen, extra, lambda: [*self._subagents(task), *self._files(files)])

    def prompt(self, tools: Iterable[BaseTool], *, stored: bool = True) -> str:
        """The prompt sections for these tools.

        Args:
            tools: The tools that the agent has now.
            stored: Whether the agent has a checkpointer, which stores variables.
        """
        builder = self._builder if stored else self._unstored
        return builder.prompt(self._stack, self._offer(builder, tools))

    def _subagents(self, task: BaseTool | None) -> list[Subagents]:
        dispatch = None if task is None else dispatcher(task)
        if dispatch is None:
            return []
        most = self._options.max_subagent_concurrency
        return [Subagents(dispatch, concurrency=most, passes=PASSES)]

    def _files(self, tools: Mapping[str, StructuredTool]) -> list[Files]:
        mode = self._options.files_mode
        return [Files(AgentFiles(tools), mode=mode)] if tools and mode else []

    def _choose(self, tools: dict[str, BaseTool]) -> list[BaseTool]:
        """Tools of the allowlist: objects first, then names the agent has, each once.

        Without an allowlist, all of the agent's tools.
        """
        chosen: dict[str, BaseTool] = {}
        for item in self._options.ptc:
            if isinstance(item, BaseTool):
                chosen.setdefault(item.name, item)
        for item in self._options.ptc:
            if isinstance(item, str) and item in tools:
                chosen.setdefault(item, tools[item])
        if self._options.every_tool:
            chosen = {name: tool for name, tool in tools.items() if name != "task"}
        return [tool for name, tool in chosen.items() if name not in self._own]


class OfferedTools:
    """Tools that the model of each conversation was offered last."""

    def __init__(self) -> None:
        self._tools: OrderedDict[str, list[BaseTool]] = OrderedDict()

    def note(self, owner: str, tools: list[BaseTool]) -> None:
        """Note the tools that the model of a conversation was just offered."""
        self._tools[owner] = tools
        self._tools.move_to_end(owner)
        while len(self._tools) > _MAX_CONVERSATIONS:
            self._tools.popitem(last=False)

    def of(self, owner: str) -> list[BaseTool] | None:
        """The tools of the model's last call; `None` if another process made that call."""
        return self._tools.get(owner)


def _check_names(stack: InterpreterStack, options: Options) -> None:
    """Find names that code cannot use, before the conversation begins."""

    async def never(given: dict[str, Any], context: Any) -> None:
        raise AssertionError("only the name is checked")

    names = [item if isinstance(item, str) else item.name for item in options.ptc]
    tools = [HostTool(name=name, call=never) for name in dict.fromkeys(names)]
    stack.bridge_set(HostOffer(tools=tools))


def _store_for(host: EvalCall | None) -> Any:
    """Return the store for the record of the eval that is about to run."""
    return None if host is None else host.store


def _in_flight_for(host: EvalCall | None) -> InFlightRegistry | None:
    """Return the calls that outlast a pause, of all agents on the eval's database."""
    return None if host is None or host.store is None else host.store.in_flight


def _time_slice_for(host: EvalCall | None) -> TimeSlice | None:
    """Return the time slice in which an eval runs, if it may be suspended."""
    return None if host is None else host.time_slice


def _late_recorder_for(host: EvalCall | None) -> Callable[[InFlightCalls], Awaitable[None]] | None:
    """Return the function that records late results of calls that a pause leaves running."""
    return None if host is None or host.store is None else host.store.record_late_results
