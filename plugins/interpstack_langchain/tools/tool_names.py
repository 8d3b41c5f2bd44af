"""Names of tools in the middleware's arguments, checked once the agent's tools are known.

A call whose name is misspelt in `interrupt_on` would run without an approval. Names that need an
approval are checked when the middleware is made, since `ptc` lists all tools that code may call.
Other names are checked once the agent is known, which is made later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
from langchain_core.tools import BaseTool

from interpstack import ConfigurationError
from interpstack.checks import listed, shown
from interpstack.similar_names import did_you_mean

__all__ = ["CallableTools", "ToolNames", "bare", "is_of_server"]

#: Names that an error lists at most.
_LISTED = 20


@attrs.frozen
class CallableTools:
    """The tools that code can call.

    Attributes:
        names: Their names, as far as they are known before the agent.
        never: Names of tools that code cannot call.
        every: Whether code can call all other tools of the agent as well.
        servers: MCP servers whose tools code can call, as `mcp.<server>.<tool>`. Names of tools are
            known once they are connected, and checked then.
        files: The file tools of a deep agent that code calls by `files`, if the agent has them.
    """

    names: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    every: bool = False
    servers: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()

    def __contains__(self, name: str) -> bool:
        if is_of_server(name, self.servers):
            return True
        if name in self.files:
            return True
        return name in self.names or (self.every and name not in self.never)

    def among(self, names: Iterable[str]) -> set[str]:
        """The names of tools that code can call."""
        return {name for name in names if name in self}


@attrs.define(eq=False, repr=False)
class ToolNames:
    """The names of one middleware.

    A tool of any agent in any turn counts as known, because some turns may lack tools.

    Attributes:
        called: Names in `ptc`; only tools that the host runs will do.
        given: Names of the tools that `ptc` holds themselves.
        approved: Names in `interrupt_on`.
        late: Names that no tool may have yet.
        every: Whether code may call every tool of the agent.
        servers: MCP servers whose tools code may call.
    """

    called: frozenset[str]
    given: frozenset[str]
    approved: frozenset[str]
    late: frozenset[str]
    every: bool = False
    servers: frozenset[str] = frozenset()
    _tools: set[str] = attrs.field(factory=set, init=False)
    _others: set[str] = attrs.field(factory=lambda: {"task"}, init=False)

    @classmethod
    def of(
        cls,
        ptc: Iterable[str | BaseTool],
        interrupt_on: Mapping[str, Any] | None,
        late: Any,
        *,
        every: bool = False,
        servers: frozenset[str] = frozenset(),
    ) -> ToolNames:
        """The names in the middleware's arguments.

        Raises:
            ConfigurationError: `late` is not a list of names, or has one that is nowhere else.
        """
        if isinstance(late, str) or not isinstance(late, Iterable):
            raise ConfigurationError(f"late_tools takes a list of tool names; got {late!r:.60}")
        late = tuple(late)
        for name in late:
            if not isinstance(name, str):
                raise ConfigurationError(
                    f"late_tools takes a list of tool names; got {name!r:.60} in it"
                )
        items = tuple(ptc)
        given = {item.name for item in items if isinstance(item, BaseTool)}
        made = cls(
            frozenset(item for item in items if isinstance(item, str)) - given,
            frozenset(given),
            frozenset(interrupt_on or ()),
            frozenset(late),
            every,
            servers,
        )
        if idle := sorted(made.late - made.called - made.approved):
            near = sorted(made.called | made.approved)
            hint = did_you_mean(idle[0], near, most=3, alike=0.5) or "; leave it out"
            raise ConfigurationError(
                f"late_tools names {shown(idle[0])}, which has no effect: neither ptc nor "
                f"interrupt_on names that tool{hint}"
            )
        made._others |= given
        made._others |= {name for name in made.approved if is_of_server(name, servers)}
        return made

    def callable_(
        self, own: Iterable[str], *, subagents: bool, files: Iterable[str] = ()
    ) -> CallableTools:
        """The tools that code can call.

        Args:
            own: Names of the interpreter's own tools, which code cannot call.
            subagents: Whether code has `task()`.
            files: Names of the file tools that code calls by `files`.
        """
        never = frozenset(own)
        names, by_files = (self.called | self.given) - never, frozenset(files)
        if subagents:
            return CallableTools(names | {"task"}, never, self.every, self.servers, by_files)
        return CallableTools(names, never | {"task"}, self.every, self.servers, by_files)

    def check_approvals(
        self, interrupt_on: Mapping[str, Any] | None, callable_: CallableTools
    ) -> None:
        """Refuse rules about tools that code cannot call.

        Args:
            interrupt_on: The middleware's argument; `False` asks for nothing.
            callable_: The tools that code can call.

        Raises:
            ConfigurationError: Code cannot call a tool that needs an approval.
        """
        for name, wanted in (interrupt_on or {}).items():
            if wanted is False or name in callable_:
                continue
            hint = did_you_mean(name, sorted(callable_.names), most=3, alike=0.5) or "."
            covered = listed(sorted(callable_.names), _LISTED, repr) or "nothing"
            takes = f"tools in ptc, and task: {covered}"
            if callable_.every:
                takes = f"the agent's own tools{', and task' * ('task' in callable_.names)}"
            raise ConfigurationError(
                f"interrupt_on names {name!r}, which code cannot call{hint} It takes {takes}. For "
                "tools that only the model calls, add LangChain's HumanInTheLoopMiddleware"
            )

    def see(self, tools: Iterable[BaseTool | Mapping[str, Any]]) -> None:
        """Note the tools of a model's call. This turn may lack some tools.

        Raises:
            ConfigurationError: A name is one of theirs but for its spelling.
        """
        for tool in tools:
            if isinstance(tool, BaseTool):
                self._tools.add(tool.name)
            else:
                self._others.add(str(tool.get("name")))
        if not (unknown := self._unknown()):
            return  # as nearly always; agents may have hundreds of tools
        spelt = {bare(name) for name in self._tools}
        for argument, name in unknown:
            if bare(name) in spelt:
                raise self._error(argument, name)

    def check(self, tools: Iterable[BaseTool]) -> None:
        """See all tools that an agent has.

        Raises:
            ConfigurationError: No tool has one of the names.
        """
        self.see(tools)
        for argument, name in self._unknown():
            raise self._error(argument, name)

    def _unknown(self) -> list[tuple[str, str]]:
        called = self.called - self._tools - self.late
        approved = self.approved - self._tools - self._others - self.late
        return [
            *(("ptc", name) for name in sorted(called)),
            *(("interrupt_on", name) for name in sorted(approved)),
        ]

    def _error(self, argument: str, name: str) -> ConfigurationError:
        known = sorted(self._tools)
        meant = did_you_mean(name, sorted(self._tools | self.given), most=3, alike=0.5)
        hint = meant or f"; it has: {listed(known, _LISTED)}."
        return ConfigurationError(
            f"{argument} names {name!r}, but the agent has no tool of that name{hint} "
            "If it gets the tool in a later turn, list the name in late_tools, too"
        )


def is_of_server(name: str, servers: Iterable[str]) -> bool:
    """Whether a name is of a tool of an MCP server, as far as the name tells."""
    return any(name.startswith(f"mcp.{server}.") for server in servers)


def bare(name: str) -> str:
    """A name without its spelling: `Read-Price`, `readPrice` and `read_price` are one."""
    return "".join(filter(str.isalnum, name)).casefold()
