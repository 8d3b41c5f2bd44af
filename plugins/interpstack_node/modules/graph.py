"""The static imports of a package's module, found all at once.

A kernel that imports a package of hundreds of files would otherwise ask for each file and for each
import in it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from interpstack_node.modules.finding import ModuleFinder
from interpstack_node.modules.package_files import FoundModule
from interpstack_node.modules.specifiers import UnresolvedSpecifier

__all__ = ["ModuleGraphs"]

#: `import … from "x"`, `export … from "x"` and `import "x"`. A text that only looks like one costs
#: a look-up; one that is missed, a question of the kernel.
_STATIC: Final = re.compile(
    r"""\b(?:import|export)\b(?:[^'"`;()]{0,4000}?\bfrom)?\s*["']([^"'\\\n]{1,500})["']"""
)
#: Modules and characters of one answer; the kernel asks for what is beyond.
_MOST_MODULES: Final = 2_000
_MOST_CHARS: Final = 8 * 2**20
#: Modules to look at before others go on.
_AT_ONCE: Final = 8
#: Graphs to keep for other kernels.
_KEPT: Final = 8

#: A file's place, its time of change, its size.
_Stamp = tuple[str, int, int]


@attrs.frozen
class _Graph:
    """The modules that an entry imports.

    Attributes:
        modules: By address: the source, and by specifier, the name and the kind of each import.
        stamps: Of their files.
    """

    modules: Mapping[str, Any]
    stamps: tuple[_Stamp, ...]


class ModuleGraphs:
    """Graphs of static imports, kept as long as their files do not change.

    Args:
        finder: Finds and reads modules.
    """

    def __init__(self, finder: ModuleFinder) -> None:
        self._finder = finder
        self._kept: dict[str, _Graph] = {}

    def answers(self, entry: str) -> Iterator[Any]:
        """The graph of an entry as a plain JSON value, after `None` wherever others may go on.

        Args:
            entry: Address of a package's file that is written as a module.

        Raises:
            UnresolvedSpecifier: The entry cannot be read.
        """
        graph = self._kept.get(entry)
        if graph is None or any(self._finder.stamp(one[0]) != one for one in graph.stamps):
            building = _Building(self._finder)
            yield from building.run(entry)
            graph = _Graph(building.modules, tuple(building.stamps))
            self._kept.pop(entry, None)
            while len(self._kept) >= _KEPT:
                self._kept.pop(next(iter(self._kept)), None)
            self._kept[entry] = graph
        yield {"modules": graph.modules}


class _Building:
    """A graph that is being built.

    Args:
        finder: Finds and reads modules.
    """

    def __init__(self, finder: ModuleFinder) -> None:
        self.modules: dict[str, Any] = {}
        self.stamps: list[_Stamp] = []
        self._finder = finder
        # What a specifier means depends on the importer's folder alone.
        self._known: dict[tuple[str, str], FoundModule | None] = {}
        self._chars = 0

    def run(self, entry: str) -> Iterator[None]:
        """Add the entry and the modules that it imports.

        Raises:
            UnresolvedSpecifier: The entry cannot be read.
        """
        waiting = deque([entry])
        self._add(entry, waiting)
        while waiting and len(self.modules) < _MOST_MODULES and self._chars < _MOST_CHARS:
            name = waiting.popleft()
            if name in self.modules:
                continue
            try:
                self._add(name, waiting)
            except UnresolvedSpecifier:
                continue  # the kernel asks for it, and gets the reason
            if len(self.modules) % _AT_ONCE == 0:
                yield

    def _add(self, name: str, waiting: deque[str]) -> None:
        stamp = self._finder.stamp(name)  # first: a change while it is read must not be missed
        source = self._finder.source(name)
        imports: dict[str, Any] = {}
        for specifier in dict.fromkeys(_STATIC.findall(source)):
            found = self._meant(name, specifier)
            if found is None:
                continue
            imports[specifier] = [found.name, found.kind]
            if found.kind == "module":
                waiting.append(found.name)
        self.modules[name] = [source, imports]
        self.stamps.append(stamp)
        self._chars += len(source)

    def _meant(self, importer: str, specifier: str) -> FoundModule | None:
        """The module of a package, or of Node, that a specifier means; `None` for any other."""
        key = importer.rpartition("/")[0], specifier
        if key not in self._known:
            try:
                found = self._finder.find(importer, specifier, require=False)
            except UnresolvedSpecifier:
                self._known[key] = None
            else:
                self._known[key] = None if found.local else found
        return self._known[key]
