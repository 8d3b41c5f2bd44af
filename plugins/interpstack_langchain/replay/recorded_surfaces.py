"""Surfaces of interpreters, as readers of records see them: the plain one, and those of packages.

A reader has recorded calls of tools, and no agent that could say what these tools are. So each
package with a surface of its own says how the calls of that surface are read.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Final, Self

import attrs

from interpstack import ConfigurationError

__all__ = ["GROUP", "RecordedCode", "RecordedSurface", "recorded_surfaces", "usual_tools"]

#: Packages add classes derived from `RecordedSurface` in this group.
GROUP: Final = "interpstack.recorded_surfaces"


@attrs.frozen
class RecordedCode:
    """The code of one call.

    Attributes:
        code: The code, as the model wrote it.
        source: The code that ran.
        fault: The reason why nothing ran; empty if the code ran.
    """

    code: str
    source: str
    fault: str = ""


@attrs.frozen
class RecordedSurface:
    """The surface of one interpreter in a record: which calls hold code, and how it runs again.

    This class reads the calls of `CodeInterpreterMiddleware`. A package with another surface
    derives a class, and registers it in the entry-point group `interpstack.recorded_surfaces`. For
    the calls of one tool, readers ask those classes in the order of their names, and this one last.

    Attributes:
        tool: Name of the tool that takes the code.
        plugin: The plugin that gives the code its helpers when it runs again; `None` if it has
            none. Evals whose plugins are equal run in one stack.
    """

    #: The name of the tool if the agent gives it no other.
    usual_tool: ClassVar[str] = "eval"
    #: Name of the engine that runs the code again, if no stored state and no option names one.
    usual_engine: ClassVar[str] = "quickjs"

    tool: str
    plugin: Hashable | None = None

    @classmethod
    def of(
        cls,
        tool: str,
        calls: Sequence[Mapping[str, Any]],
        journals: Sequence[Sequence[Mapping[str, Any]]],
    ) -> Self | None:
        """The surface of a tool; `None` if its calls are those of another surface.

        Args:
            tool: Name of the tool.
            calls: The arguments of its calls that hold code, in the order of the thread.
            journals: The journal of each of these calls; empty if the call has none. The first
                entry of a journal has what `EvalCall.describe` recorded.
        """
        return cls(tool)

    @classmethod
    def takes_code(cls, args: Mapping[str, Any]) -> bool:
        """Whether the arguments of a call hold code."""
        return "code" in args

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the interpreter's own tools, whose calls in one message run in order."""
        return (self.tool,)

    def code(self, args: Mapping[str, Any]) -> RecordedCode:
        """The code of a call whose arguments hold code."""
        code = str(args["code"])
        return RecordedCode(code, code)


@cache
def recorded_surfaces() -> tuple[type[RecordedSurface], ...]:
    """The surfaces of all installed packages, in the order in which readers ask them.

    Raises:
        ConfigurationError: One cannot be imported, or breaks the contract.
    """
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return (*map(_loaded, points), RecordedSurface)


def usual_tools() -> tuple[str, ...]:
    """The names that interpreters give to their tools for code, that of the plain one first.

    Raises:
        ConfigurationError: See `recorded_surfaces`.
    """
    *others, plain = (surface.usual_tool for surface in recorded_surfaces())
    return tuple(dict.fromkeys([plain, *others]))


def _loaded(point: EntryPoint) -> type[RecordedSurface]:
    try:
        surface = point.load()
    except ImportError as error:
        raise ConfigurationError(
            f"calls of {point.name!r} cannot be read, since {point.value} cannot be imported: "
            f"{error}"
        ) from error
    if not (isinstance(surface, type) and issubclass(surface, RecordedSurface)):
        raise ConfigurationError(
            f"{point.value} is {surface!r:.80}, which is not derived from RecordedSurface"
        )
    return surface
