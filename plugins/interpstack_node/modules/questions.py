"""Answers to a kernel's questions about modules; it is told no more than it asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from interpstack_node.modules.finding import ModuleFinder, Refused
from interpstack_node.modules.graph import ModuleGraphs

__all__ = ["ModuleQuestions"]


class ModuleQuestions:
    """Answers the questions of kernels.

    Args:
        finder: Finds and reads modules.
    """

    def __init__(self, finder: ModuleFinder) -> None:
        self._finder = finder
        self._graphs = ModuleGraphs(finder)

    @property
    def about(self) -> Mapping[str, Any]:
        """The working folder, and whether there is a network; kernels learn both at their start."""
        working = self._finder.working
        cwd = None if working is None else str(working)
        return {"cwd": cwd, "network": self._finder.network}

    def answers(self, question: Sequence[str]) -> Iterator[Any]:
        """The answer to one question, after `None` wherever others may go on meanwhile.

        Args:
            question: `graph`, nothing and the address of a package's module; or as `answer` takes
                it.
        """
        kind, _, name = question
        if kind != "graph":
            yield self.answer(question)
            return
        try:
            yield from self._graphs.answers(name)
        except Refused as error:
            yield {"code": error.code, "message": str(error)}

    def answer(self, question: Sequence[str]) -> Any:
        """The answer to one question, as a plain JSON value.

        Args:
            question: One of `has`, `import`, `require` and `source`; the address of the importing
                file, empty for a cell; the specifier, or the address of a module.
        """
        kind, base, name = question
        try:
            if kind == "has":
                return self._finder.has(name)
            if kind == "source":
                return {"source": self._finder.source(name)}
            found = self._finder.find(base, name, require=kind == "require")
        except Refused as error:
            return {"code": error.code, "message": str(error)}
        return {"name": found.name, "kind": found.kind, "local": found.local}
