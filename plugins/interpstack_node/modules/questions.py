"""Answers to questions of kernels about modules, which learn only what they ask for."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from interpstack import MODULE, Request, Settlement
from interpstack_node.kernels.waiting import KernelWait
from interpstack_node.modules.places import Places
from interpstack_node.modules.resolvers import Resolvers

__all__ = ["HostImports", "ModuleQuestions"]

#: What may be the name of a package, or of a module of the host's loaders.
_NAME: Final = re.compile(r"#?(?:@[^/\s]*/)?[^./\\:%\s][^\\:%\s]*")


class ModuleQuestions:
    """Answers the questions of kernels.

    Args:
        places: The folders.
        network: Whether modules of the network are granted.
        resolvers: Find and read modules in these folders.
    """

    def __init__(self, places: Places, *, network: bool, resolvers: Resolvers) -> None:
        self._places = places
        self._network = network
        self._resolvers = resolvers

    @property
    def about(self) -> Mapping[str, Any]:
        """The working folder, and whether there is a network; kernels learn both at their start."""
        working = self._places.working
        return {"cwd": None if working is None else str(working), "network": self._network}

    def searched(self, specifier: str) -> str:
        """Words on the folders that have no such package; empty for a specifier of another kind."""
        if specifier.startswith(("@/", "#")) or not _NAME.fullmatch(specifier):
            return ""
        folders = " or ".join(map(str, self._places.packages))
        if not folders:
            return (
                "no folder of packages is searched: the engine's option module_dirs names folders"
            )
        return f"no such package is in {folders} (the engine's option module_dirs names folders)"

    def answer(self, question: Sequence[str]) -> Generator[KernelWait | None, None, str]:
        """The answer to one question as JSON; yields what to wait for, `None` for a moment.

        Args:
            question: One of `has`, `import`, `require`, `source`, `graph`, `file` and `folder`; the
                address of the importing file, empty for a cell; the specifier, the address of a
                module, or the path of a file or folder of a package.
        """
        kind, _, name = question
        if kind == "has" and not self._places.packages and _NAME.fullmatch(name):
            return "false"
        return (yield from self._resolvers.ask(question))


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
