"""Sources of modules that the host has handed over, and how names in them resolve.

QuickJS asks for modules in the middle of running code, so everything here is a look-up: the
host has fetched a module's files before the guest is told that it may import it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from interpstack.guests.javascript import KERNEL_NAME
from interpstack_quickjs.typescript import TypeScriptError, strip_types

__all__ = ["ModuleTable"]

_TYPESCRIPT = (".ts", ".mts", ".cts", ".tsx")


class ModuleTable:
    """The modules of one realm."""

    def __init__(self) -> None:
        self._sources: dict[str, str] = {}

    def add(self, sources: Mapping[str, str]) -> None:
        """Make modules importable; names that are there already keep their source."""
        for name, source in sources.items():
            self._sources.setdefault(name, source)

    def resolve(self, base: str, specifier: str) -> str | None:
        """The name of a module as `base` imports it; `None` refuses.

        The kernel imports by name. Modules import each other by relative paths only, which
        lead nowhere but to names in this table.
        """
        if base == KERNEL_NAME:
            return specifier if specifier in self._sources else None
        if not specifier.startswith(("./", "../")):
            return None
        name = posixpath.normpath(posixpath.join(posixpath.dirname(base), specifier))
        stem, ending = posixpath.splitext(name)
        # TypeScript imports its own files by the name they will have once compiled.
        for found in (name, f"{stem}.{ending.removeprefix('.').replace('js', 'ts')}"):
            if found in self._sources:
                return found
        return None

    def load(self, name: str) -> str | None:
        """The JavaScript of a module; `None` if it is not there or no TypeScript."""
        source = self._sources.get(name)
        if source is None or not name.endswith(_TYPESCRIPT):
            return source
        try:
            return strip_types(source, name)
        except TypeScriptError as error:
            return f"throw new SyntaxError({f'{name}: {error}'!r})"
