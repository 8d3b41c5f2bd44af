"""Modules of a realm, resolved and loaded for an isolate while it runs, in its thread."""

from __future__ import annotations

import re
from typing import Final

import attrs

from interpstack import GuestError
from interpstack.guests import place_at
from interpstack_javascript import KERNEL_NAME
from interpstack_javascript.modules import ModuleTable
from interpstack_javascript.positions import offset_of
from interpstack_v8.context import kernel_module, module_name, module_url

__all__ = ["GuestModules", "module_fault"]

#: The top of a stack trace where a module does not parse; see `errors.js`.
_FAULT: Final = re.compile(
    r"\s*at (?:module:)?(?P<name>[^\n]{1,500}?):(?P<line>\d{1,9}):(?P<column>\d{1,9})(?=\n|\Z)"
)


class GuestModules:
    """Resolves and loads the modules of one realm; the kernel only while a context is set up.

    Args:
        table: Sources that the guest may import.
    """

    def __init__(self, table: ModuleTable) -> None:
        self._table = table
        self._sets_up = False

    def begin_set_up(self) -> None:
        """Note that the kernel may be imported from now on."""
        self._sets_up = True

    def end_set_up(self) -> None:
        """Note that the guest's own code runs from now on."""
        self._sets_up = False

    def resolve(self, specifier: str, importer: str) -> str:
        """The URL of a module as another one imports it.

        Raises:
            ImportError: There is none.
        """
        if self._sets_up and module_name(specifier) == KERNEL_NAME:
            return specifier
        base = module_name(importer)
        name = self._table.resolve(base, specifier)
        if name is None:
            raise ImportError(f"Error resolving module '{specifier}' from '{base}'")
        return module_url(name)

    def load(self, url: str) -> str:
        """The JavaScript of a module that was resolved.

        Raises:
            ImportError: There is none.
        """
        name = module_name(url)
        source = kernel_module() if name == KERNEL_NAME else self._table.load(name)
        if source is None:
            raise ImportError(f"Error loading module '{name}'")
        return source


def module_fault(error: GuestError, table: ModuleTable) -> GuestError:
    """The error with its place, if it says that an imported module does not parse.

    Args:
        error: The error that the guest reports.
        table: The modules of the guest's realm.
    """
    found = _FAULT.match(error.stack) if error.name == "SyntaxError" else None
    source = None if found is None else table.source(found["name"])
    if found is None or source is None:
        return error
    offset = offset_of(source, int(found["line"]), int(found["column"]))
    if offset is None:
        return error
    place = place_at(source, offset)
    stack = f"    at {found['name']}:{place.line}:{place.column}{error.stack[found.end() :]}"
    return attrs.evolve(error, stack=stack, place=place)
