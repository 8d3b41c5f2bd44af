"""Answers to questions of kernels about modules, which learn only what they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from interpstack import MODULE, Request, Settlement
from interpstack_node.modules.finding import ModuleFinder
from interpstack_node.modules.graph import ModuleGraphs
from interpstack_node.modules.specifiers import UnresolvedSpecifier

__all__ = ["HostImports", "ModuleQuestions"]


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

    def searched(self, specifier: str) -> str:
        """Words on the folders that have no such package; empty for a specifier of another kind."""
        return self._finder.searched(specifier)

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
        except UnresolvedSpecifier as error:
            yield {"code": error.code, "message": str(error)}

    def answer(self, question: Sequence[str]) -> Any:
        """The answer to one question, as a plain JSON value.

        Args:
            question: One of `has`, `import`, `require`, `source`, `file` and `folder`; the address
                of the importing file, empty for a cell; the specifier, the address of a module, or
                the path of a file or folder of a package.
        """
        kind, base, name = question
        try:
            if kind == "has":
                return self._finder.has(name)
            if kind == "file":
                return self._finder.own_file(name)
            if kind == "folder":
                return self._finder.own_folder(name)
            if kind == "source":
                return {"source": self._finder.source(name)}
            found = self._finder.find(base, name, require=kind == "require")
        except UnresolvedSpecifier as error:
            return {"code": error.code, "message": str(error)}
        return {"name": found.name, "kind": found.kind, "local": found.local}


class HostImports:
    """A cell's imports of modules that only the loaders of the host may have.

    Args:
        questions: Knows the folders of packages, none of which has such a module.
    """

    def __init__(self, questions: ModuleQuestions) -> None:
        self._questions = questions
        self._specifiers: dict[int, str] = {}

    def note(self, requests: Iterable[Request]) -> None:
        """Note the imports among the requests of a cell."""
        for request in requests:
            if request.bridge == MODULE and isinstance(request.wire, str):
                self._specifiers[request.id] = request.wire

    def explained(self, settlement: Settlement) -> Settlement:
        """The answer to a request; the error of a failed import also names the folders."""
        specifier = self._specifiers.pop(settlement.id, "")
        more = self._questions.searched(specifier) if specifier and settlement.error else ""
        if settlement.error is None or not more:
            return settlement
        message = f"{settlement.error.message}; {more}"
        return attrs.evolve(settlement, error=attrs.evolve(settlement.error, message=message))
