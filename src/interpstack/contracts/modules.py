"""Modules that guest code imports.

The host finds a module and hands over all files it may need at once; the engine resolves
relative imports among them by name alone, without asking again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import attrs

from interpstack.checks import Value

__all__ = ["ModuleBundle", "ModuleLoader"]


@attrs.frozen(eq=False, repr=False)
class ModuleBundle(Value):
    """A module and the files it may import.

    Attributes:
        entry: Name of the file to run first; one of `files`.
        files: Sources by name. Names are paths with `/`; relative imports join them. All modules of
            a session share their names: begin each with the specifier, as in `@/prices/index.js`.
            A bundle is refused if another specifier's bundle has a file of the same name with
            other text. If the file of the same specifier has changed, a module that the session
            has loaded stays the one of that name; new sessions load the changed one.
    """

    entry: str
    files: Mapping[str, str]


#: Finds the bundle of one specifier; the guest can catch its exceptions.
ModuleLoader = Callable[[], Awaitable[ModuleBundle]]
