"""Names of tools in the middleware's arguments, checked once the agent's tools are known.

The middleware is made before its agent, so a slip in a name shows only there. It must show: a
call whose name is misspelt in `interrupt_on` would run without an approval.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
from langchain_core.tools import BaseTool

from interpstack import ConfigurationError

__all__ = ["ToolNames"]

#: Names that an error lists at most.
_LISTED = 20


@attrs.define(eq=False)
class ToolNames:
    """The names of one middleware.

    A tool of any agent in any turn counts as known, because some turns may lack tools.

    Attributes:
        called: Names in `ptc`; only tools that the host runs will do.
        approved: Names in `interrupt_on`.
        late: Names that no tool may have yet.
    """

    called: frozenset[str]
    approved: frozenset[str]
    late: frozenset[str]
    _tools: set[str] = attrs.field(factory=set, init=False)
    _others: set[str] = attrs.field(factory=lambda: {"task"}, init=False)

    @classmethod
    def of(
        cls, ptc: Iterable[str | BaseTool], interrupt_on: Mapping[str, Any] | None, late: Any
    ) -> ToolNames:
        """The names in the middleware's arguments.

        Raises:
            ConfigurationError: `late` is no list of names.
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
            frozenset(interrupt_on or ()),
            frozenset(late),
        )
        made._others |= given
        return made

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
        spelt = {_bare(name): name for name in self._tools}
        for argument, name in self._unknown():
            if _bare(name) in spelt:
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
        spelt = {_bare(one): one for one in known}
        near = difflib.get_close_matches(_bare(name), spelt, n=3, cutoff=0.5)
        meant = " or ".join(repr(spelt[one]) for one in near)
        hint = f"did you mean {meant}?" if meant else f"it has: {', '.join(known[:_LISTED])}."
        return ConfigurationError(
            f"{argument} names {name!r}, but the agent has no tool of that name; {hint} "
            "Tools that it gets in a later turn go into late_tools, too"
        )


def _bare(name: str) -> str:
    """A name without its spelling: `Read-Price`, `readPrice` and `read_price` are one."""
    return "".join(filter(str.isalnum, name)).casefold()
